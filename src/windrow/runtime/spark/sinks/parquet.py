"""Changes as Parquet files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from windrow.runtime.spark.sinks.folder import Writer


@dataclass(frozen=True, slots=True)
class Parquet:
    """One Parquet file a part, compressed with zstd."""

    ending: str = "parquet"

    def open(self, file: Any, schema: pa.Schema) -> Writer:
        """Begin a file; each batch becomes a row group."""
        writer: Writer = pq.ParquetWriter(file, schema, compression="zstd")
        return writer

    def read(self, system: fs.FileSystem, paths: list[str], schema: pa.Schema) -> pa.Table:
        """Return the rows of some files."""
        return pq.ParquetDataset(paths, filesystem=system, schema=schema).read()

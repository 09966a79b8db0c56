"""Changes as Parquet files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs


@dataclass(frozen=True, slots=True)
class Parquet:
    """One Parquet file a part, compressed with zstd."""

    ending: str = "parquet"

    def write(self, file: Any, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        """Write the batches as row groups."""
        with pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_batch(batch)

    def read(self, system: fs.FileSystem, paths: list[str], schema: pa.Schema) -> pa.Table:
        """Return the rows of some files."""
        return pq.ParquetDataset(paths, filesystem=system, schema=schema).read()

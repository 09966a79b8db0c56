"""The folder of a demo: its script, its data, its checkpoint and its results.

DIR/traffic.cql       the shipped script, with the paths of this folder
DIR/data/<stream>/    the generated links
DIR/checkpoint/       Spark's log and the shards' state
DIR/results/<query>/  the answers' changes, as Parquet
DIR/.windrow-demo     says that a demo made the folder, so that the next may make it anew
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from windrow.core.errors import InputError

EXAMPLE = "traffic_spark"
MARK = ".windrow-demo"


@dataclass(frozen=True, slots=True)
class DemoFolder:
    """Where everything of one demo is."""

    path: Path

    @property
    def script(self) -> Path:
        """The script that is run."""
        return self.path / "traffic.cql"

    @property
    def data(self) -> Path:
        """One folder a stream."""
        return self.path / "data"

    @property
    def checkpoint(self) -> Path:
        """What a restart goes on from."""
        return self.path / "checkpoint"

    @property
    def results(self) -> Path:
        """One folder a query."""
        return self.path / "results"

    def prepare(self) -> str:
        """Make the folder anew and return the script in it; a folder of others is refused."""
        if self.path.exists() and not (self.path / MARK).exists() and any(self.path.iterdir()):
            raise InputError(
                f'"{self.path}" is not empty',
                detail="No demo made it, so it is left alone.",
                hint="Give another folder: windrow demo --folder DIR.",
            )
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.mkdir(parents=True)
        (self.path / MARK).touch()
        text = placed(read_example(EXAMPLE), self.data)
        self.script.write_text(text, encoding="utf-8")
        return text


def read_example(name: str) -> str:
    """Return the text of a shipped script."""
    return (files("windrow") / "examples" / f"{name}.cql").read_text(encoding="utf-8")


def placed(script: str, data: Path) -> str:
    """Return a script that reads its streams from another folder than ``data``.

    >>> placed("OPTIONS (path 'data/link1')", Path("it's/data"))
    "OPTIONS (path 'it''s/data/link1')"
    """
    where = str(data).replace("'", "''")
    return re.sub(r"(?<=path ')data(?=/)", lambda _: where, script)

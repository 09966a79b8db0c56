"""Changes to a function of the user's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from windrow.runtime.spark.sinks.target import Target


@dataclass(frozen=True, slots=True)
class FunctionSink:
    """Calls ``function(changes, batch)`` in the driver. At least once.

    A batch that fails or is cut off is given again, with the same number and the same changes;
    numbers grow. A function that keeps the last number it has seen can make it exactly once.
    """

    target: Target
    function: Callable[[pa.Table, int], object]

    @property
    def guarantee(self) -> str:
        """What the function may rely on."""
        return "at least once"

    def open(self, run: str, reached: int) -> None:
        """Nothing to open."""

    def write(self, version: int, changes: pa.Table) -> None:
        """Hand over the changes of a batch, also if there are none."""
        self.function(changes, version)

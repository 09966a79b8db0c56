"""When rows of a pool are to leave."""

from __future__ import annotations

import numpy as np

from windrow.operators.vector import I64


class CalendarQueue:
    """Rows by expiry time."""

    def __init__(self) -> None:
        self.exp: I64 = np.empty(0, np.int64)
        self.rows: I64 = np.empty(0, np.int64)

    def push(self, exp: I64, rows: I64) -> None:
        """Add rows."""
        self.exp, self.rows = np.concatenate([self.exp, exp]), np.concatenate([self.rows, rows])

    def pop(self, clock: int) -> I64:
        """Return the rows that leave at or before `clock`."""
        due = self.exp <= clock
        rows = self.rows[due]
        self.exp, self.rows = self.exp[~due], self.rows[~due]
        return rows

    @property
    def nbytes(self) -> int:
        """Exact size of the arrays."""
        return self.exp.nbytes + self.rows.nbytes

"""Bytewax: which workloads its operators can say. They are in `drivers/run_bytewax.py`."""

from __future__ import annotations

from windrow_lab.peers.forms import Cannot

JOINS = Cannot("joins only inside one window, not of tuples less than a window apart")
CANNOT = {
    "W1": JOINS,
    "W3": Cannot("windows move by a fixed step, not with each tuple"),
    "W5": JOINS,
    "W6": JOINS,
    "W7": JOINS,
}

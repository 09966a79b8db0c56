"""Pathway: which workloads its dataflows can say. They are in `drivers/run_pathway.py`."""

from __future__ import annotations

from windrow_lab.peers.forms import Cannot

CANNOT = {
    "W3": Cannot("per tuple only by joining the stream with itself, over a thousand pairs a tuple"),
}

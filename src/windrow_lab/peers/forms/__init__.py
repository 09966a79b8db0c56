"""The workloads in the words of each peer, one file a peer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cannot:
    """What a peer has no words for, and why."""

    reason: str

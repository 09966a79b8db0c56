"""Aggregation joins [AGGJOIN 7]: their streams, and placements of early aggregation by turns."""

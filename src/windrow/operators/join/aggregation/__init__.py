"""Joins whose results are only aggregated: aggregation sets, and groups over them [AGGJOIN]."""

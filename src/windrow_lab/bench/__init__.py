"""Benchmarks of windrow: ratios inside one run, every answer checked before its clock counts."""

"""Joins of streams within windows of each other: the figures of WJOIN."""

"""Streams that only the laboratory needs, from a seed."""

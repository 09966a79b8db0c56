"""Operators: how plans are carried out, from single expressions to windowed state."""

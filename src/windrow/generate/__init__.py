"""Data of our own making, from a seed: what the demo shows and tests replay."""

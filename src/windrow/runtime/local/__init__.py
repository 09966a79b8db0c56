"""The engine in one process: streams in memory, answers at once."""

"""Time, types, schemas, errors, processors: the words of all folders. Imports nothing of ours."""

"""Time, types, schemas and errors: the words every other folder uses. Imports nothing of ours."""

"""Where changes go: one file a sink."""

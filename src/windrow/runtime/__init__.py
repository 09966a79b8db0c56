"""Where plans run: in this process, or on Spark."""

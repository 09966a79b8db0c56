"""The contest library: contestants by turns, clocks, answers compared, bars reported."""

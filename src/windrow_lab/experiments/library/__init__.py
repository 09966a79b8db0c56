"""What every experiment has: a question, factors, clocks that are checked, files, a verdict."""

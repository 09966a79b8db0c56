"""Continuous queries over sliding windows: answers that stay true as tuples come and expire."""

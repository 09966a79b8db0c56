"""Claims, the papers' and our own, as programs that can fail: `windrow experiment`."""

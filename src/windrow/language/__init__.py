"""CQL: text to syntax trees with spans, and back to text."""

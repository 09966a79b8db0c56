"""Results of negations that wait before they are emitted [THESIS 9.2]."""

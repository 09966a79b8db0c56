"""Results of negations that wait before they are told [THESIS 9.2]."""

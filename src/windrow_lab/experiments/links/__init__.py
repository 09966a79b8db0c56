"""The thesis' four queries over links of a network, by strategy and window [THESIS 3.6]."""

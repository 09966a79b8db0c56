"""Plans rewritten into cheaper ones with the same answers. One file a rule, listed in `rules`."""

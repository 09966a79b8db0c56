"""The state of operators: flat arrays that grow, with numbered invariants and `check()`."""

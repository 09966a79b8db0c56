"""What operators remember: flat arrays that grow, with numbered invariants and `check()`."""

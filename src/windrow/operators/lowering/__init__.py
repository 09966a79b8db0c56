"""How each kind of plan node becomes tasks."""

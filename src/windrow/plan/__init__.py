"""Logical plans: nodes, windows, update patterns, binding, and how they are explained."""

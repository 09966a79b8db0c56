"""Lowering: which operator, state structure and edge each node of a logical plan gets."""

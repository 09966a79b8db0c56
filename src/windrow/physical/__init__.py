"""The physical plan as data: operators with their parameters, edges, state layouts, identity."""

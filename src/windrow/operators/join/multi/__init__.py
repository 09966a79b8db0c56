"""Joins of many inputs in one operator, without intermediate results [MULTI; THESIS 5]."""

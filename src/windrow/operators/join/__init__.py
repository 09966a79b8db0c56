"""Joins: of tuples that say when they leave, of Z-sets, with NRRs; and EXISTS, IN and their NOTs."""

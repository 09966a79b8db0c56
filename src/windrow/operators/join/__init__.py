"""Joins: of rows that say when they leave, of Z-sets, with NRRs; EXISTS, IN and their NOTs."""

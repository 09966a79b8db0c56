"""How expiries reach operators: delays and overheads of NEG's approaches."""

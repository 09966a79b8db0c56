"""Nexmark: people, auctions and bids, each event a pure function of the seed and its number."""

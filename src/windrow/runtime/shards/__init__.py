"""Queries on shards: what runs where, one shard's work, its versions on disk, its process."""

"""Queries on Spark's micro-batches. The only folder that imports pyspark."""

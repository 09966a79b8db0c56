"""windrow's laboratory: benchmarks, peers, Nexmark, the papers' experiments, their generators.

It comes with windrow's sources and is no part of the product: windrow never imports it.
"""

"""`windrow bench nexmark`: the queries of Nexmark, checked, then timed."""

"""The papers' oracle: the definitions of the papers in plain Python, one function each.

It imports nothing of windrow and sees no plan. It evaluates a query description of its own
(`description`) over a small world (`worlds`), instant by instant, and writes the same description
as SQL text (`rendering`). Result tuples are individuals with a set of instants at which they are
alive (`results`), so that "produced" and "expired" [THESIS 3.2.1] can be read off.
"""

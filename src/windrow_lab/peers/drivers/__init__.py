"""One script an engine, each run by the engine's own Python.

Those of engines with an environment of their own (Flink, Pathway, Bytewax) import nothing of
windrow, which is not installed there; nor does DuckDB's. Those of Spark and Polars take windrow's
sessions, files and forms, and so import it, as windrow's own two do.

A script gets the path of a request, a JSON file, and answers in JSON lines on its standard
output (`windrow_lab.peers.process` reads them):

    {"event": "ready", "seconds": ...}                    imports are done, the engine is up
    {"event": "run", "name": ..., "seconds": ..., ...}    a run of the request has ended
    {"event": "cannot", "reason": ...}                    the engine cannot do what is asked
"""

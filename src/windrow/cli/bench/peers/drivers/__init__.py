"""One script an engine. Each is run by the engine's own Python and imports nothing of windrow.

A script gets the path of a request, a JSON file, and answers in JSON lines on its standard
output (`windrow.cli.bench.peers.process` reads them):

    {"event": "ready", "seconds": ...}                    imports are done, the engine is up
    {"event": "run", "name": ..., "seconds": ..., ...}    a run of the request has ended
    {"event": "cannot", "reason": ...}                    the engine cannot do what is asked
"""

"""`python -m windrow` is the command `windrow`."""

from windrow.cli.main import main

main()

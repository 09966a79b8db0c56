"""The commands of the laboratory: module `windrow_lab.cli.<name>` holds `command`."""

"""The repository: what is recorded, by whom, and for how long."""

"""The demo: `python -m demo`."""

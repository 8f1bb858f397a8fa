"""Commands: parse, call the facade, render. No logic."""

import sys

from bayou._version import __version__


def main() -> None:
    """`bayou`, as the shell starts it."""
    if sys.argv[1:] == ["--version"]:
        print(f"bayou {__version__}")
        return
    from bayou.cli.start import heed_signals, run  # noqa: PLC0415 - the version is told without any of it

    heed_signals()
    sys.exit(run(sys.argv[1:]))

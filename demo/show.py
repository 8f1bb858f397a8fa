"""How the demo speaks."""

import sys

from bayou.errors import BayouError


def title(text: str) -> None:
    bold = sys.stdout.isatty()
    print(f"\n\033[1m{text}\033[0m" if bold else f"\n{text}\n{'-' * len(text)}", flush=True)


def say(text: str) -> None:
    print(f"  {text}", flush=True)


def refusal(what: str, error: BayouError) -> None:
    say(f"{what}: {type(error).__name__} ({error.kind})")
    say(f"    {error.message}")
    say(f"    -> {error.remedy}")

"""`bayou data …`: write, read and ask."""

import click

from bayou.cli import dataread, datatidy, datawrite


@click.group()
def data() -> None:
    """Artifacts: write, read, ask, tidy up."""


for command in (*datawrite.COMMANDS, *dataread.COMMANDS, *datatidy.COMMANDS):
    data.add_command(command)

"""`bayou doctor`: is all well, and what to do if not."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from bayou.cli import options
from bayou.cli.session import confirmed
from bayou.cli.terminal import Terminal
from bayou.config import Arguments, Settings
from bayou.datastore.opening import load
from bayou.errors import BayouError
from bayou.health import Level, Patient, Report, examine, policy
from bayou.health.findings import Finding, trouble

UNHEALTHY = 4
_MARKS = {Level.OK: "ok", Level.NOTICE: "--", Level.PROBLEM: "!!"}


@click.command()
@click.option("--repair", is_flag=True, help="Repair what can be repaired, once you have seen what that is.")
@click.option("--policy", "rights", is_flag=True, help="Show which rights the datastore needs, and nothing else.")
@options.dry_run
@options.yes
@options.common
def doctor(*, repair: bool, rights: bool, dry_run: bool, yes: bool, repo_dir: Path | None, as_json: bool) -> int:
    """Look whether all is well with the datastore; exit code 4 if not.

    Example: bayou doctor --repair
    """
    terminal = Terminal(as_json)
    try:
        settings = load(Arguments(repo_dir=repo_dir))
    except BayouError as error:
        return _told(terminal, Report((_of_configuration(error),)), {})
    if rights:
        terminal.document(policy(settings.location))
        return 0
    return _examined(settings, terminal, repair=repair, dry_run=dry_run, yes=yes)


def _examined(settings: Settings, terminal: Terminal, *, repair: bool, dry_run: bool, yes: bool) -> int:
    with Patient(settings) as patient:
        report = examine(patient)
        if not (repair and report.repairs):
            return _told(terminal, report, {})
        planned = [one.what for one in report.repairs]
        if dry_run:
            return _told(terminal, report, {"wouldRepair": planned})
        if not terminal.json:
            _show(terminal, report)
            for what in planned:
                terminal.say(f"to repair: {what}")
        if not confirmed(f"Make {len(planned)} repairs?", yes=yes, terminal=terminal):
            return _told(terminal, report, {"repaired": []})
        failed = {}
        for one in report.repairs:
            try:
                one.carry_out()
            except BayouError as error:
                failed[one.what] = str(error)
    # With everything opened anew, as the next command will find it.
    with Patient(settings) as patient:
        done = [what for what in planned if what not in failed]
        failures = [{"repair": what, "error": why} for what, why in failed.items()]
        return _told(terminal, examine(patient), {"repaired": done, "failed": failures})


def _of_configuration(error: BayouError) -> Finding:
    finding = trouble(error)
    return Finding(finding.level, finding.message, finding.remedy, finding.details, check="configuration")


def _told(terminal: Terminal, report: Report, repairs: Mapping[str, Sequence[object]]) -> int:
    if terminal.json:
        terminal.document({**report.to_dict(), **repairs})
    else:
        _show(terminal, report)
        for outcome, whats in repairs.items():
            for what in whats:
                terminal.say(f"{outcome}: {what}")
    return 0 if report.is_healthy else UNHEALTHY


def _show(terminal: Terminal, report: Report) -> None:
    for finding in report.findings:
        terminal.line(f"{_MARKS[finding.level]}  {finding.check}: {finding.message}")
        if finding.remedy and finding.level is not Level.OK:
            terminal.line(f"      -> {finding.remedy}")
        if finding.repair:
            terminal.line(f"      -> `bayou doctor --repair` can {finding.repair.what}")

"""`bayou pipeline …`: what is about all of a datastore, on Spark."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayou import config
from bayou.cli import options
from bayou.cli.session import pairs
from bayou.cli.terminal import Terminal
from bayou.config import Arguments, urls
from bayou.errors import UsageError

if TYPE_CHECKING:
    from bayou.pipelines.jobs.context import Context
    from bayou.pipelines.reach import Reach
    from bayou.pipelines.report import Report

DAMAGED = 4
"""The exit code of a job that leaves damage behind."""

_SHOWN = 20


@click.group()
def pipeline() -> None:
    """Work on all of a datastore, with Spark: on this machine, or on a cluster."""


@pipeline.command(name="list")
@options.as_json
def listing(*, as_json: bool) -> None:
    """Say which jobs there are.

    Example: bayou pipeline list
    """
    terminal = Terminal(as_json)
    jobs = {name: (command.help or "").partition("\n")[0] for name, command in run.commands.items()}
    if as_json:
        terminal.document([{"job": name, "does": does} for name, does in jobs.items()])
        return
    terminal.table(("job", "does"), list(jobs.items()))


@pipeline.command()
@options.as_json
def warm(*, as_json: bool) -> None:
    """Prepare Spark's classes once, so that sessions start sooner. It takes a while.

    Example: bayou pipeline warm
    """
    from bayou.pipelines import archive, sessions  # noqa: PLC0415 - with Spark

    terminal = Terminal(as_json)
    target = sessions.archive_path()
    if not target.is_file():
        terminal.say("preparing the classes of Spark …")
        archive.make(target)
    if as_json:
        terminal.document({"path": str(target), "bytes": target.stat().st_size})
    else:
        terminal.say(f"{target}: {target.stat().st_size >> 20} MiB")


@pipeline.group()
def run() -> None:
    """Run a job. All can be interrupted, and run again."""


def _job(function: Callable[..., Any]) -> Callable[..., Any]:
    """What every job about one datastore has."""
    named = options.text("--url", "URL", "The datastore; else that of the repo.")
    return named(_spark(function))  # type: ignore[no-any-return] # click's own


def _spark(function: Callable[..., Any]) -> Callable[..., Any]:
    """What every job has."""
    for option in (
        click.option("--report", metavar="FILE", type=click.Path(path_type=Path), help="Write the report as HTML."),
        options.dry_run,
        options.text("--conf", "K=V", "A setting of Spark; may be given several times.", multiple=True),
        options.text("--remote", "URL", "A Spark Connect server: sc://host:15002."),
        options.text("--master", "M", "A Spark master; else $BAYOU_SPARK_MASTER, else all of this machine."),
        options.text("--namespaces", "A,B", "These, or * for all; else the one of the repo."),
        options.common,
    ):
        function = option(function)
    return function


@run.command()
@_job
def stats(**told: Any) -> None:  # noqa: ANN401 - the options of a job
    """Show what there is and how it grows: by day, model, type and namespace; what is largest, and what is there twice.

    Example: bayou pipeline run stats --report stats.html
    """
    from bayou.pipelines.jobs import stats as job  # noqa: PLC0415 - with Spark

    _run(job.run, **told)


@run.command()
@click.option("--from", "replica", metavar="URL", help="A replica to repair from.")
@click.option("--quarantine", is_flag=True, help="Copy what is corrupt aside.")
@_job
def scrub(*, replica: str | None, quarantine: bool, **told: Any) -> int:  # noqa: ANN401 - the options of a job
    """Read every object and compare it with the index; say what is missing, corrupt or listed nowhere.

    Example: bayou pipeline run scrub --from s3://replica/prefix
    """
    from bayou.pipelines.jobs import scrub as job  # noqa: PLC0415 - with Spark
    from bayou.pipelines.reach import Reach, absolute  # noqa: PLC0415 - the same

    other = None if replica is None else Reach(absolute(replica))
    report = _run(lambda context: job.run(context, replica=other, quarantine=quarantine), **told)
    return DAMAGED if report.figures.get("damaged") else 0


@run.command()
@_job
def index(**told: Any) -> None:  # noqa: ANN401 - the options of a job
    """Make the index say what lies in the bucket, with the hash of everything.

    Example: bayou pipeline run index --url s3://bucket --dry-run
    """
    from bayou.pipelines.jobs import index as job  # noqa: PLC0415 - with Spark

    _run(job.run, **told)


@run.command()
@_job
def catalog(**told: Any) -> None:  # noqa: ANN401 - the options of a job
    """Bring the catalog in Parquet up to date that lies beside the data, reading only what changed.

    Example: bayou pipeline run catalog --namespaces '*'
    """
    from bayou.pipelines.jobs import catalog as job  # noqa: PLC0415 - with Spark

    _run(job.run, **told)


@run.command()
@_job
def gc(**told: Any) -> None:  # noqa: ANN401 - the options of a job
    """Let the versions go that their retention lets go, in all namespaces, by the rules of `bayou data gc`.

    Example: bayou pipeline run gc --namespaces '*' --dry-run
    """
    from bayou.pipelines.jobs import gc as job  # noqa: PLC0415 - with Spark

    _run(job.run, **told)


@run.command()
@_job
def compact(**told: Any) -> None:  # noqa: ANN401 - the options of a job
    """Copy small contents into packs, so that a machine that fetches many of them needs few requests.

    Example: bayou pipeline run compact --namespaces '*'
    """
    from bayou.pipelines.jobs import compact as job  # noqa: PLC0415 - with Spark

    _run(job.run, **told)


@run.command()
@click.option("--from", "source", metavar="URL", help="The datastore; else that of the repo.")
@click.option(
    "--to", "target", metavar="URL", required=True, help="Where it goes: an empty place, or one begun before."
)
@click.option("--content", is_flag=True, help="Read back what was carried.")
@_spark
def migrate(*, source: str | None, target: str, content: bool, **told: Any) -> int:  # noqa: ANN401 - as above
    """Bring a datastore to another place, verified; run it again for what is new.

    Example: bayou pipeline run migrate --from s3://old/prefix --to gs://new/prefix --dry-run
    """
    from bayou.pipelines.jobs import migrate as job  # noqa: PLC0415 - with Spark
    from bayou.pipelines.reach import Reach, absolute  # noqa: PLC0415 - the same

    place = Reach(absolute(target))
    report = _run(lambda context: job.run(context, place, content=content), url=source, **told)
    return DAMAGED if any(report.figures.get(name) for name in ("damaged", "differing", "left")) else 0


def _run(
    job: "Callable[[Context], Report]",
    *,
    url: str | None,
    namespaces: str | None,
    master: str | None,
    remote: str | None,
    conf: tuple[str, ...],
    dry_run: bool,
    report: Path | None,
    repo_dir: Path | None,
    as_json: bool,
) -> "Report":
    from bayou.pipelines.jobs.context import Context  # noqa: PLC0415 - with Spark
    from bayou.pipelines.report import html  # noqa: PLC0415 - the same
    from bayou.pipelines.sessions import log_path, session  # noqa: PLC0415 - the same

    terminal = Terminal(as_json)
    if report is not None and not report.parent.is_dir():
        raise UsageError(f"there is no folder {str(report.parent)!r} for the report")  # known before hours of work
    reach = _reach(url, namespaces, repo_dir)
    terminal.say("starting Spark …")
    spark = session(master, remote=remote, log=log_path(), settings=pairs(conf, "setting"))
    try:
        done = job(Context(spark, reach, dry_run, terminal.say))
    finally:
        spark.stop()
    if report is not None:
        report.write_text(html(done))
        terminal.say(f"{report}: the report")
    if as_json:
        terminal.document(done.to_dict())
    else:
        _show(terminal, done)
    return done


def _reach(url: str | None, namespaces: str | None, repo: Path | None) -> "Reach":
    """The datastore that is named, or that of the repo, with what was said about namespaces."""
    from bayou.pipelines.reach import reach_of  # noqa: PLC0415 - it opens stores

    if url is not None:
        return reach_of({"url": url, "namespaces": namespaces or ""})
    settings = config.load(Path.cwd(), os.environ, Arguments(repo_dir=repo), home=Path.home())
    told = settings.namespace if namespaces is None else namespaces
    return reach_of({"url": urls.render(settings.location), "namespaces": told})


def _show(terminal: Terminal, report: "Report") -> None:
    terminal.table((report.job, ""), [*report.figures.items()])
    for one in report.listings:
        if one.rows:
            terminal.line("")
            terminal.line(one.title)
            terminal.table(one.columns, one.rows[:_SHOWN])

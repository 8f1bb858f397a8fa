"""Record what three models' runs produced, and find it again: no configuration, no network, no server."""

import shlex
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import bayou
from bayou.config import newrepo
from demo.show import say

_HOSTS = {"web-01": "ok", "web-02": "failed", "db-01": "ok"}


def tour(folder: Path) -> None:
    newrepo.create(folder)
    with bayou.open(folder) as ds:
        _record(ds)
        _ask(ds)
    _in_a_shell(folder)


def _record(ds: bayou.Datastore) -> None:
    with ds.model("aws/ec2/vpc", "prod-vpc").run("create", inputs={"cidr": "10.0.0.0/16"}) as run:
        run.write("state", {"VpcId": "vpc-1", "cidr": "10.0.0.0/16"}, tags={"env": "prod"})
        run.write("plan", "2 to add, 0 to change")
    for host, status in _HOSTS.items():
        with ds.model("acme/host", host).run("collect") as run:
            run.write("health", {"status": status, "load": 0.7}, tags={"env": "prod"}, keep=3)
    with suppress(RuntimeError), ds.model("acme/dns", "example.org").run("update", rollback=True) as run:
        run.write("zone", {"serial": 2})
        raise RuntimeError("the name server refused it")
    for found in reversed(ds.runs.methods().records):
        output = found.output
        kept = ", ".join(f"{made.name} v{made.version}" for made in output.artifacts.data_artifacts)
        why = f": {output.error.message}" if output.error else ""
        say(f"{found.model_type:12} {output.method_name:8} {output.status}{why or f', wrote {kept}'}")


def _ask(ds: bayou.Datastore) -> None:
    state = ds.latest("prod-vpc", "state")
    say(f"latest state of prod-vpc: version {state.version}, VpcId {state.attributes['VpcId']}")
    for predicate in (
        'tags.env == "prod" && attributes.status == "failed"',
        'modelType == "acme/host" && attributes.load > 0.5 && has(attributes.status)',
        'name == "zone" && version > 0',
    ):
        found = ", ".join(f"{record.model_name}/{record.name}" for record in ds.query(predicate))
        say(f"{predicate}  ->  {found or 'nothing'}")
    try:
        ds.query('attributs.status == "failed"')
    except bayou.UsageError as error:
        say(f"a typo: {error.message.splitlines()[0]}")


def _in_a_shell(folder: Path) -> None:
    report = "echo '{\"packages\": 3}'"
    _bayou(folder, "exec", "--type", "acme/host", "--model", "web-01", "--method", "upgrade", "--", "sh", "-c", report)
    _bayou(folder, "data", "query", 'tags.modelName.startsWith("web")', "--order-by", "createdAt desc")
    _bayou(folder, "data", "get", "web-01", "result")
    _bayou(folder, "data", "gc", "--dry-run")


def _bayou(folder: Path, *arguments: str) -> None:
    say(f"$ bayou {shlex.join(arguments)}")
    command = [str(Path(sys.executable).with_name("bayou")), *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)  # noqa: S603 - our own command
    for line in (*done.stdout.splitlines(), *done.stderr.splitlines()):
        say(f"    {line}")

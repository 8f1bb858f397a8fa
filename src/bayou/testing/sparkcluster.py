"""A standalone Spark cluster on this machine: a master and workers in processes of their own, to be killed at will."""

import os
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bayou.pipelines.archive import cache_folder
from bayou.pipelines.java import find_java
from bayou.testing.servers.process import HOST, answers, claimed_ports, running

_DEPLOY = "org.apache.spark.deploy"


@dataclass
class Cluster:
    master: str
    """`spark://…`"""
    workers: list[ExitStack] = field(repr=False)

    def kill_worker(self) -> None:
        """One of them, with its executors, at once and without a word."""
        self.workers.pop().close()


@contextmanager
def spark_cluster(workers: int = 2, environment: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """`environment` is what executors find, such as credentials. Each worker has one core."""
    java = find_java(cache_folder())
    program = str(Path(sysconfig.get_path("purelib"), "pyspark", "bin", "spark-class"))
    surroundings = {
        "JAVA_HOME": str(java.home),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_DAEMON_MEMORY": "512m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "PATH": os.environ.get("PATH", os.defpath),
        **(environment or {}),
    }
    with claimed_ports(2 + 2 * workers) as ports, ExitStack() as cluster:
        port, ui, *others = map(str, ports)
        command = [program, f"{_DEPLOY}.master.Master", "--host", HOST, "--port", port, "--webui-port", ui]
        cluster.enter_context(running(command, env=surroundings, ready=lambda: answers(f"http://{HOST}:{ui}")))
        master = f"spark://{HOST}:{port}"
        started = []
        for own, own_ui in zip(others[::2], others[1::2], strict=True):
            where = ["--host", HOST, "--port", own, "--webui-port", own_ui]
            worker = cluster.enter_context(ExitStack())
            worker.enter_context(
                running(
                    [program, f"{_DEPLOY}.worker.Worker", "--cores", "1", "--memory", "1g", *where, master],
                    env=surroundings,
                    ready=partial(answers, f"http://{HOST}:{own_ui}"),
                )
            )
            started.append(worker)
        yield Cluster(master, started)

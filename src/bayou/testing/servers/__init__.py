"""Real servers for tests: context managers that start one on this machine, give a `Server`, and leave nothing behind.

    with SERVERS["ministack"]() as server:
        store = S3Store(server.new_bucket(), client_options={"allow_http": True}, **server.settings)

They listen on 127.0.0.1 only, at free ports, in a temporary folder, and are killed when the block ends or the test
process does, however it does. They are development dependencies (the group `servers`, and azurite from package.json);
one that is not installed is an error that says what to install.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType

from bayou.testing.servers.azurite import azurite
from bayou.testing.servers.fake_gcs import fake_gcs
from bayou.testing.servers.ministack import ministack
from bayou.testing.servers.moto import moto
from bayou.testing.servers.rclone import rclone
from bayou.testing.servers.seaweedfs import seaweedfs
from bayou.testing.servers.server import Kind, Server

__all__ = ["SERVERS", "Kind", "Server", "azurite", "fake_gcs", "ministack", "moto", "rclone", "seaweedfs"]

SERVERS: Mapping[str, Callable[[], AbstractContextManager[Server]]] = MappingProxyType(
    {
        "azurite": azurite,
        "fake_gcs": fake_gcs,
        "ministack": ministack,
        "moto": moto,
        "rclone": rclone,
        "seaweedfs": seaweedfs,
    }
)

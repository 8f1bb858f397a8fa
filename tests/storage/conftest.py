"""Stores on real servers, opened the way a user's are; and async tests."""

from collections.abc import Callable

import pytest

from bayou.config.locations import GCS, S3, Azure, Location
from bayou.storage import Store, open_bare
from bayou.testing.servers import Server

OpenBucket = Callable[[Server], Store]


def location_on(server: Server, bucket: str) -> Location:
    match server.kind:
        case "s3":
            return S3(bucket, region=server.settings["region"], endpoint=server.endpoint, path_style=True)
        case "gcs":
            return GCS(bucket, endpoint=server.endpoint)
        case "azure":
            return Azure(bucket, account=server.settings["account_name"], endpoint=server.settings["endpoint"])


@pytest.fixture
def new_location(monkeypatch: pytest.MonkeyPatch) -> Callable[[Server], Location]:
    """Give the location of a new bucket on a server, with its credentials in the environment, where a user has them."""

    def create(server: Server) -> Location:
        match server.kind:
            case "s3":
                monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.settings["access_key_id"])
                monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.settings["secret_access_key"])
            case "azure":
                monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", server.settings["account_key"])
            case "gcs":
                pass
        return location_on(server, server.new_bucket())

    return create


@pytest.fixture
def new_bucket(new_location: Callable[[Server], Location]) -> OpenBucket:
    return lambda server: open_bare(new_location(server))

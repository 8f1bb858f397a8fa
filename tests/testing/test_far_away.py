"""A relay changes when bytes arrive, and nothing else."""

import os
import time

import obstore
import pytest
from obstore.store import S3Store

from bayou.testing.servers import ministack
from bayou.testing.servers.faraway import far_away

pytestmark = pytest.mark.server

SECONDS = 0.05


def test_what_goes_through_is_the_same_and_comes_later() -> None:
    content = os.urandom(3 << 20)
    with ministack() as near, far_away(near, SECONDS * 1000) as far:
        store = S3Store(far.new_bucket(), client_options={"allow_http": True}, **far.settings)  # type: ignore[arg-type]
        obstore.put(store, "large", content)
        began = time.monotonic()
        assert obstore.head(store, "large")["size"] == len(content)
        assert time.monotonic() - began >= SECONDS
        assert bytes(obstore.get(store, "large").bytes()) == content

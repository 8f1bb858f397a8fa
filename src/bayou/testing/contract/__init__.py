"""The contract of a store as checks that any store passes or fails.

A check is an async function that takes an empty store and raises AssertionError (or whatever the store raised) where
the contract is broken. Run them with any test runner:

    @pytest.mark.parametrize("check", contract.ALL, ids=lambda check: check.__name__)
    def test_contract(check, make_store):
        asyncio.run(check(make_store()))

A store without honest conditional writes fails `CONDITIONAL`, one without range reads fails `RANGES`, one that lists
folder by folder fails `ORDER`. docs/stores.md says what Bayou can still do on each.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from bayou.storage.port import Store
from bayou.testing.contract.conditional import CONDITIONAL
from bayou.testing.contract.content import CONTENT, RANGES
from bayou.testing.contract.listing import LISTING, ORDER
from bayou.testing.contract.naming import NAMING

Check = Callable[[Store], Coroutine[Any, Any, None]]

ALL: tuple[Check, ...] = (*CONTENT, *RANGES, *NAMING, *LISTING, *ORDER, *CONDITIONAL)

__all__ = ["ALL", "CONDITIONAL", "CONTENT", "LISTING", "NAMING", "ORDER", "RANGES", "Check"]

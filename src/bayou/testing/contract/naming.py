"""Keys are taken as they are: nothing is normalised, nothing leads elsewhere."""

from bayou.errors import NotFound, UsageError
from bayou.storage.port import Store, Version
from bayou.testing.contract.expect import list_keys, read, refused

UNUSUAL = (
    ".hidden",
    "@org/tool",
    "a b",
    " leading and trailing ",
    "a+b%20c%2Fd",
    "files/report (final) v1+2 ü.txt",
    "e\u0301 decomposed",
    "\u00e9 composed",
    "Case",
    "case",
    "quote'\"<>&",
    "question?mark#hash",
    "*{}|^`~$;=,!",
    "...",
    "a..b/..c/d..",
    "\U0001f600/emoji",
    "\ufeff bom",
    "long/" + "x" * 200,
    "deep/" + "/".join("abcdefghijklmnopqrstuvwxyz"),
)

MISLEADING = (
    "logs/status code: 503",
    "a/Wanted range",
    "a/incorrectly configured region",
    "<Code>AccessDenied</Code>",
    "x (code: 501)",
    "The specified container does not exist",
    "External AWS credential provider: b",
    '{"code": "SlowDown"}',
    "InternalError",
)
"""What errors of stores say. An adapter that reads such texts must not read them out of a key."""

HOSTILE = (
    "",
    "/",
    "/absolute",
    "trailing/",
    "double//slash",
    ".",
    "..",
    "a/../b",
    "../outside",
    "a/./b",
    "nul\0",
    "new\nline",
    "tab\t",
    "delete\x7f",
    "back\\slash",
    "x" * 1025,
    "\ud800",
)


async def unusual_keys_are_kept(store: Store) -> None:
    for number, key in enumerate(UNUSUAL):
        await store.put(key, str(number).encode())
    for number, key in enumerate(UNUSUAL):
        assert await read(store, key) == str(number).encode(), key
    assert set(await list_keys(store)) == set(UNUSUAL)
    for key in UNUSUAL:
        await store.delete(key)
    assert await list_keys(store) == []


async def the_text_of_a_key_does_not_change_the_kind_of_a_failure(store: Store) -> None:
    for key in MISLEADING:
        with refused(NotFound):
            await store.get(key)
        with refused(NotFound):
            await store.head(key)
        await store.delete(key)
        await store.put(key, b"")
        assert await read(store, key) == b""
        await store.delete(key)


async def hostile_keys_are_refused(store: Store) -> None:
    for key in HOSTILE:
        with refused(UsageError):
            await store.get(key)
        with refused(UsageError):
            await store.get_if_changed(key, Version("x y"))
        with refused(UsageError):
            await store.put(key, b"")
        with refused(UsageError):
            await store.head(key)
        with refused(UsageError):
            await store.delete(key)
        with refused(UsageError):
            await store.copy(key, "a")
        with refused(UsageError):
            await store.copy("a", key)
        if key:
            with refused(UsageError):
                await list_keys(store, key)
        with refused(UsageError):
            await list_keys(store, after=key)
    assert await list_keys(store) == []


NAMING = (
    unusual_keys_are_kept,
    the_text_of_a_key_does_not_change_the_kind_of_a_failure,
    hostile_keys_are_refused,
)

"""Small helpers of the checks."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bayou.errors import BayouError
from bayou.storage.port import Store


@contextmanager
def refused(category: type[BayouError]) -> Iterator[None]:
    """Expect exactly this category: the four kinds of failure are never mixed up."""
    try:
        yield
    except category:
        return
    except BayouError as error:
        message = f"expected {category.__name__}, got {type(error).__name__}: {error}"
        raise AssertionError(message) from error
    message = f"expected {category.__name__}, but it succeeded"
    raise AssertionError(message)


async def read(store: Store, key: str) -> bytes:
    return await (await store.get(key)).bytes()


async def list_keys(store: Store, prefix: str = "", after: str | None = None) -> list[str]:
    return [meta.key async for page in store.list(prefix, after=after) for meta in page]


@contextmanager
def file_of(content: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "body"
        path.write_bytes(content)
        yield path

"""The facade: what one repo, or one datastore, can do. Everything that users call goes through here."""

from bayou.datastore.datastore import Datastore
from bayou.datastore.modelhandle import ModelHandle
from bayou.datastore.opening import open  # noqa: A004 - `bayou.open` is what it is called

__all__ = ["Datastore", "ModelHandle", "open"]

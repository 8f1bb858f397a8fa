"""From where a datastore is to the cells in which its locks are."""

from bayou.config.locations import Folder, Location, Mongo
from bayou.errors import ErrorKind, Unsupported
from bayou.locks.bodies import DEFAULT_TTL
from bayou.locks.cells import Cells, SingleWriterCells, StoreCells
from bayou.locks.files import FileCells
from bayou.storage.connecting import connect
from bayou.storage.probing import Ability
from bayou.storage.record import Tally
from bayou.storage.retry import Patience

_CONCURRENCY = 32


def open_cells(
    location: Location,
    *,
    several_writers: Ability = Ability.YES,
    ttl: float = DEFAULT_TTL,
    tally: Tally | None = None,
) -> Cells:
    """Open the place of the locks. `several_writers` is what a probe of the store found (`bayou.storage.probing`).

    No request takes longer than from one renewal to the next, so that one which hangs costs no lock.
    """
    match location:
        case Folder(path):
            return FileCells(path)
        case Mongo():
            message = "locks in MongoDB are not built yet"
            raise Unsupported(message, kind=ErrorKind.STORE_CANNOT)
        case _:
            patience = Patience(attempts=5, first_pause=0.1, longest_pause=2.0, deadline=ttl / 2)
            store = connect(location, concurrency=_CONCURRENCY, request_seconds=ttl / 3, patience=patience, tally=tally)
            return SingleWriterCells(store) if several_writers is Ability.NO else StoreCells(store)

"""Locks: leases that several machines, and existing clients, keep each other out with.

design/009 has the protocol. `Locks` is the front; `open_cells` says where locks are kept.
"""

from bayou.locks.cells import Cells, Seen, SingleWriterCells, StoreCells
from bayou.locks.errors import LockBusy, LockLost, SecondWriter
from bayou.locks.files import FileCells
from bayou.locks.front import Locks
from bayou.locks.hold import Hold
from bayou.locks.inspection import Fate, Info, Scope
from bayou.locks.lease import Lease
from bayou.locks.opening import open_cells
from bayou.locks.patience import Waiting

__all__ = [
    "Cells",
    "Fate",
    "FileCells",
    "Hold",
    "Info",
    "Lease",
    "LockBusy",
    "LockLost",
    "Locks",
    "Scope",
    "SecondWriter",
    "Seen",
    "SingleWriterCells",
    "StoreCells",
    "Waiting",
    "open_cells",
]

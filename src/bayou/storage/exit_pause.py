"""A clean end for processes that used obstore.

obstore's worker threads set the result of a call and then drop their last Python references, for which they need the
interpreter's lock. Until Python 3.13 a thread that asks for the lock while the interpreter shuts down is unwound
through Rust, which aborts the process (exit code 134): seen in one run of four that ended right after its last call.
Sleeping once, with the lock released, lets those threads finish first.
"""

import atexit
import time
from functools import cache

_ENOUGH = 0.05  # seconds; they need microseconds, unless the machine is very busy


@cache
def install() -> None:
    """Pause once at exit, in processes that made a bucket store."""
    atexit.register(time.sleep, _ENOUGH)

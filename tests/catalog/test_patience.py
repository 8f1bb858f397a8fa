"""Threads where looks wait for a server, and none where the processor has enough to do."""

import threading
import time

from bayou.catalog.patience import patiently


def test_work_that_waits_is_done_in_threads_and_in_order() -> None:
    seen = set[int]()

    def work(item: int) -> int:
        seen.add(threading.get_ident())
        time.sleep(0.002)
        return item * 2

    assert patiently(work, range(60)) == [item * 2 for item in range(60)]
    assert len(seen) > 2


def test_work_for_the_processor_is_done_here() -> None:
    seen = set[int]()

    def work(item: int) -> int:
        seen.add(threading.get_ident())
        return sum(range(20_000 + item))

    assert patiently(work, range(60)) == [sum(range(20_000 + item)) for item in range(60)]
    assert seen == {threading.get_ident()}


def test_nothing_to_do_is_nothing_done() -> None:
    assert patiently(lambda item: item, []) == []

"""A process that writes versions and says of each, once it is saved, which number it has and what is in it.

`write_many.py ROOT WHO COUNT`: until it is done, or killed.
"""

import os
import sys
import time
from pathlib import Path

from bayou.repository.deferred import Deferred
from bayou.repository.saving import save
from bayou.testing.bench import bench_in


def main(root: Path, who: str, count: int) -> None:
    with bench_in(root) as bench:
        bench.holdings.clock.now_ns = time.time_ns()  # type: ignore[attr-defined] # the clock of a bench
        for number in range(count):
            content = f"{who} {number} ".encode() * 50
            match number % 4:
                case 0 | 1:
                    artifact = save(bench.holdings, bench.key(), content, bench.draft())
                case 2:
                    artifact = save(bench.holdings, bench.key(), iter([content[:7], content[7:]]), bench.draft())
                case _:
                    with Deferred(bench.holdings) as deferred:
                        artifact = deferred.save(bench.key(), content, bench.draft())
            os.write(1, f"{artifact.version} {who} {number}\n".encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))

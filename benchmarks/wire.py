"""How long an index takes to decode and encode, against the standard library's `json` in the same run.

    python benchmarks/wire.py [--entries N] [--rounds N]

Each round takes the CPU time of both sides, one after the other; the spread over the rounds says
how far a ratio can be trusted. The standard library does less: it checks no field and no path.
"""

import argparse
import hashlib
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from bayou.domain.entries import Entry
from bayou.wire.index import Index, decode_monolith, encode_local_copy, encode_monolith

WHERE = ".datastore-index.json"


@dataclass(frozen=True)
class Race:
    name: str
    ours: Callable[[], object]
    theirs: Callable[[], object]


def index_of(count: int) -> Index:
    entries = {}
    for number in range(count):
        digest = hashlib.sha256(str(number).encode()).hexdigest()
        path = f"data/aws/ec2/vpc/{digest[:8]}-7a51-4c3e-9a55-1f4f0d6a1c01/state-{number % 20}/{number % 7 + 1}/raw"
        entries[path] = Entry(path, number, "2026-11-02T08:15:29.004Z", "2026-11-02T08:15:28.771Z", digest)
    return Index(entries, "2026-11-02T08:15:30.120Z")


def races(index: Index) -> list[Race]:
    data = encode_monolith(index)
    pretty = encode_local_copy(index)
    strange = data.replace(b'"size":0,', b'"size":0,"etag":"x",', 1)
    plain = json.loads(data)
    assert encode_monolith(decode_monolith(data, WHERE)) == data
    assert json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode() == data
    assert json.dumps(plain, ensure_ascii=False, indent=2).encode() == pretty
    assert decode_monolith(strange, WHERE).entry_extra
    return [
        Race("decode", lambda: decode_monolith(data, WHERE), lambda: json.loads(data)),
        Race("decode, pretty", lambda: decode_monolith(pretty, WHERE), lambda: json.loads(pretty)),
        Race("decode, one unknown field", lambda: decode_monolith(strange, WHERE), lambda: json.loads(strange)),
        Race(
            "encode",
            lambda: encode_monolith(index),
            lambda: json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode(),
        ),
        Race(
            "encode, pretty",
            lambda: encode_local_copy(index),
            lambda: json.dumps(plain, ensure_ascii=False, indent=2).encode(),
        ),
    ]


def milliseconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description="Decode and encode an index, against json.loads and json.dumps.")
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    index = index_of(arguments.entries)
    print(
        f"{arguments.entries} entries, {len(encode_monolith(index)) / 1e6:.1f} MB, {arguments.rounds} rounds; medians"
    )
    print(f"{'':28}{'bayou':>10}{'json':>10}{'json / bayou':>15}{'spread':>14}")
    for race in races(index):
        rounds = [(milliseconds(race.ours), milliseconds(race.theirs)) for _ in range(arguments.rounds)]
        ratios = [theirs / ours for ours, theirs in rounds]
        ours, theirs = (statistics.median(side) for side in zip(*rounds, strict=True))
        print(
            f"{race.name:28}{ours:>7.0f} ms{theirs:>7.0f} ms{statistics.median(ratios):>14.2f}x"
            f"{min(ratios):>7.2f}-{max(ratios):.2f}"
        )


if __name__ == "__main__":
    main()

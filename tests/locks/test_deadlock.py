"""The protocol as a small machine, looked at in every state it can reach: nobody meets whom he must not meet, and from
everywhere there is a way to the end. `test_protocol` does the same to the real code, by chance.

One step is one request, so that everything may happen between any two: also between the looks of a drain at one model's
lock and at the next. Any process may die anywhere; its locks end when their time is over.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

Lock = tuple[str, bool]  # whose, and whether he is still alive
FREE: Lock = ("", True)


@dataclass(frozen=True, slots=True)
class Process:
    name: str
    models: tuple[int, ...]  # of a run, sorted; a structural command has none
    at: str = "start"
    step: int = 0
    saw_busy: bool = False

    @property
    def is_run(self) -> bool:
        return bool(self.models)


@dataclass(frozen=True, slots=True)
class World:
    overall: Lock
    drain: str  # who says in the free global lock that he waits
    models: tuple[Lock, ...]
    processes: tuple[Process, ...]
    deaths: int  # that may still happen

    def moved(self, process: Process, **changes: object) -> "World":
        processes = tuple(process if other.name == process.name else other for other in self.processes)
        return replace(self, processes=processes, **changes)  # type: ignore[arg-type] # fields of ours

    def with_model(self, number: int, lock: Lock) -> tuple[Lock, ...]:
        return (*self.models[:number], lock, *self.models[number + 1 :])

    def given_back(self, name: str) -> tuple[Lock, ...]:
        return tuple(FREE if lock == (name, True) else lock for lock in self.models)


def steps(world: World, *, waits_inside: bool = False) -> Iterator[World]:
    for process in world.processes:
        if process.is_run:
            yield from run_steps(world, process)
        else:
            yield from structure_steps(world, process, waits_inside=waits_inside)
        if world.deaths and process.at not in ("done", "dead"):
            yield died(world, process)
    # The time of the dead is over: somebody who watched ends their hold. Nobody passes it by.
    if not world.overall[1]:
        yield replace(world, overall=FREE)
    for number, lock in enumerate(world.models):
        if not lock[1]:
            yield replace(world, models=world.with_model(number, FREE))
    if world.drain and any(p.name == world.drain and p.at == "dead" for p in world.processes):
        yield replace(world, drain="")


def run_steps(world: World, run: Process) -> Iterator[World]:  # noqa: C901, PLR0912 - one case for each state
    match run.at:
        case "start" | "taking":
            number = run.models[run.step]
            if world.models[number] == FREE:
                last = run.step + 1 == len(run.models)
                moved = replace(run, at="look" if last else "taking", step=run.step + 1)
                yield world.moved(moved, models=world.with_model(number, (run.name, True)))
            elif run.step:
                # Enough of waiting for one while it has others.
                yield world.moved(replace(run, at="gate", step=0), models=world.given_back(run.name))
        case "look":
            if world.overall == FREE and not world.drain:
                yield world.moved(replace(run, at="work"))
            else:
                yield world.moved(replace(run, at="back"))
        case "back":
            yield world.moved(replace(run, at="gate", step=0), models=world.given_back(run.name))
        case "gate":
            if world.overall == FREE and not world.drain:
                yield world.moved(replace(run, at="start"))
        case "work":
            if world.overall == FREE:  # whoever waits for runs to end lets them commit
                yield world.moved(replace(run, at="commit"), overall=(run.name, True))
        case "commit":
            yield world.moved(replace(run, at="ending"), overall=FREE)
        case "ending":
            yield world.moved(replace(run, at="done"), models=world.given_back(run.name))


def structure_steps(world: World, structure: Process, *, waits_inside: bool) -> Iterator[World]:
    match structure.at:
        case "start":
            if world.overall == FREE:
                drain = "" if world.drain == structure.name else world.drain
                moved = replace(structure, at="looking", step=0, saw_busy=False)
                yield world.moved(moved, overall=(structure.name, True), drain=drain)
        case "looking":
            is_busy = structure.saw_busy or world.models[structure.step] != FREE
            if structure.step + 1 < len(world.models):
                yield world.moved(replace(structure, step=structure.step + 1, saw_busy=is_busy))
            elif not is_busy:
                yield world.moved(replace(structure, at="work", step=0))
            elif waits_inside:
                yield world.moved(replace(structure, at="looking", step=0, saw_busy=False))
            else:
                yield world.moved(
                    replace(structure, at="waiting", step=0), overall=FREE, drain=world.drain or structure.name
                )
        case "waiting":
            yield world.moved(replace(structure, at="start"))
        case "work":
            yield world.moved(replace(structure, at="done"), overall=FREE)


def died(world: World, process: Process) -> World:
    """Its requests that are under way are lost; what it holds stays, until it is ended."""
    overall = (process.name, False) if world.overall == (process.name, True) else world.overall
    models = tuple((process.name, False) if lock == (process.name, True) else lock for lock in world.models)
    return world.moved(replace(process, at="dead"), overall=overall, models=models, deaths=world.deaths - 1)


def is_over(world: World) -> bool:
    return all(process.at in ("done", "dead") for process in world.processes)


def check(world: World) -> None:
    runs = [p for p in world.processes if p.is_run and p.at in ("work", "commit", "ending")]
    structures = [p for p in world.processes if not p.is_run and p.at == "work"]
    assert len(structures) <= 1
    assert not (structures and runs), (structures, runs)
    held = [number for run in runs for number in run.models]
    assert len(held) == len(set(held))
    # No circle: who waits for a model's lock never holds the global one.
    assert not any(p.at in ("start", "taking", "gate") and world.overall == (p.name, True) for p in world.processes)


def explore(world: World, *, waits_inside: bool = False) -> dict[World, list[World]]:
    """Every state that can be reached, with the states that lead to it."""
    before: dict[World, list[World]] = {world: []}
    queue = deque([world])
    while queue:
        here = queue.popleft()
        check(here)
        for there in steps(here, waits_inside=waits_inside):
            if there not in before:
                before[there] = []
                queue.append(there)
            before[there].append(here)
    return before


def hopeless(before: dict[World, list[World]]) -> set[World]:
    """The states from which nothing leads to an end."""
    queue = deque(world for world in before if is_over(world))
    hopeful = set(queue)
    while queue:
        for world in before[queue.popleft()]:
            if world not in hopeful:
                hopeful.add(world)
                queue.append(world)
    return before.keys() - hopeful


def world_of(runs: list[tuple[int, ...]], structures: int, deaths: int) -> World:
    processes = [Process(f"run {number}", models) for number, models in enumerate(runs)]
    processes += [Process(f"structure {number}", ()) for number in range(structures)]
    models = 1 + max(number for models in runs for number in models)
    return World(FREE, "", (FREE,) * models, tuple(processes), deaths)


@pytest.mark.parametrize(
    ("runs", "structures", "deaths"),
    [
        ([(0,), (1,)], 2, 1),
        ([(0,), (0, 1)], 1, 2),
        ([(0, 1), (0, 1)], 2, 0),
        # One that sorts in another order than the other, as an existing client might.
        ([(0, 1), (1, 0)], 1, 1),
        ([(0,), (0, 1), (1,)], 1, 0),
    ],
)
def test_no_state_is_wrong_and_none_is_without_a_way_out(
    runs: list[tuple[int, ...]], structures: int, deaths: int
) -> None:
    before = explore(world_of(runs, structures, deaths))
    assert len(before) > 300
    assert any(process.at == "work" for world in before for process in world.processes if not process.is_run)
    assert hopeless(before) == set()


def test_to_wait_for_a_run_while_holding_the_global_lock_would_be_a_deadlock() -> None:
    """What the model would say if the rule were broken: so it can tell."""
    assert hopeless(explore(world_of([(0,)], 1, 0), waits_inside=True))

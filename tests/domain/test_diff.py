"""The table of the diff, row by row, and what must hold for whatever three sides there are."""

import pytest
from hypothesis import example, given

from bayou.domain.content import Graves, State
from bayou.domain.diff import diff
from bayou.domain.evidence import Evidence, deletions
from bayou.domain.plan import Action, Ask, Plan, Question, Reason, Stop
from bayou.domain.sides import Base, Local, Remote, seed
from bayou.domain.units import Unit
from bayou.testing.sharedbucket import STORE, classify
from bayou.testing.strategies.replicas import Sides, sides

FILE = "files/f"
RECORD = "outputs/t/run/m-2026-01-01T00-00-00-000Z.yaml"
MARKER = "data/t/m/n/latest"
VERSION = "data/t/m/n/1"
STREAM = "data/t/m/log/1"
DELETING = {Action.DELETE_LOCAL, Action.DELETE_REMOTE, Action.BURY}


def state(unit: str, content: str | None) -> dict[str, str]:
    return {} if content is None else dict.fromkeys(classify_unit(unit), content)


def classify_unit(unit: str) -> tuple[str, ...]:
    return (f"{unit}/raw", f"{unit}/metadata.yaml") if unit in (VERSION, STREAM) else (unit,)


def plan_of(
    unit: str,
    sides: tuple[str | None, str | None, str | None],
    *,
    deleted: bool = False,
    buried: str | None = None,
    objects: str | None = "unasked",
    written: bool = False,
) -> Plan:
    base, local, remote = (state(unit, side) for side in sides)
    graves: Graves = {path: {content} for path, content in state(unit, buried).items()}
    looked = {} if objects == "unasked" else dict.fromkeys(classify_unit(unit), objects)
    return diff(
        Base(STORE, base),
        Local(local),
        Remote(STORE, remote, graves),
        Evidence(base if deleted else {}, frozenset(classify_unit(unit)) if written else frozenset(), looked),
        classify,
    )


def verdict(plan: Plan) -> tuple[Action, Reason] | Ask | None:
    asked = {question.ask for question in plan.questions}
    if asked:
        assert not plan.steps
        return asked.pop()
    if not plan.steps:
        return None
    (step,) = (step for step in plan.steps if step.unit.kind != "latest" or len(plan.steps) == 1)
    return step.action, step.reason


X, Y, Z = "x", "y", "z"
PUSH, PULL, MERGE, READD = Action.PUSH, Action.PULL, Action.MERGE, Action.READD


@pytest.mark.parametrize("unit", [FILE, RECORD, MARKER, VERSION, STREAM])
@pytest.mark.parametrize(
    ("sides", "facts", "expected"),
    [
        ((X, X, X), {}, None),
        ((None, X, X), {}, (Action.AGREE, Reason.SAME_CONTENT)),
        ((X, Y, Y), {}, (Action.AGREE, Reason.SAME_CONTENT)),
        ((X, None, X), {}, None),
        ((X, X, None), {}, Ask.OBJECT),
        ((X, X, None), {"objects": X}, (READD, Reason.ENTRY_LOST)),
        ((X, X, None), {"objects": None}, (Action.DELETE_LOCAL, Reason.OBJECT_GONE)),
        ((X, X, None), {"buried": X}, (Action.DELETE_LOCAL, Reason.DELETED_THERE)),
        ((X, X, None), {"buried": Y}, Ask.OBJECT),
        ((None, X, None), {"buried": X}, (Action.DELETE_LOCAL, Reason.DELETED_THERE)),
        ((X, None, X), {"deleted": True}, (Action.DELETE_REMOTE, Reason.DELETED_HERE)),
        ((X, None, None), {"deleted": True}, (Action.DELETE_REMOTE, Reason.DELETED_HERE)),
        ((X, None, None), {"deleted": True, "buried": X}, (Action.AGREE, Reason.DELETED_THERE)),
        ((X, X, X), {"deleted": True}, None),
    ],
)
def test_rows_that_hold_for_every_kind(unit, sides, facts, expected) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    assert verdict(plan_of(unit, sides, **facts)) == expected


@pytest.mark.parametrize(
    ("unit", "sides", "facts", "expected"),
    [
        # Mutable files: the newer value.
        (FILE, (None, X, None), {}, (PUSH, Reason.WRITTEN_HERE)),
        (FILE, (None, None, X), {}, (PULL, Reason.WRITTEN_THERE)),
        (FILE, (X, Y, X), {}, (PUSH, Reason.WRITTEN_HERE)),
        (FILE, (X, X, Y), {}, (PULL, Reason.WRITTEN_THERE)),
        (FILE, (X, Y, Z), {}, (MERGE, Reason.BOTH_CHANGED)),
        (FILE, (None, X, Y), {}, (MERGE, Reason.BOTH_CHANGED)),
        # An entry that was set back while the object was not, and one that is still on its way.
        (FILE, (X, X, Y), {"objects": X}, (READD, Reason.ENTRY_LOST)),
        (FILE, (X, X, Y), {"objects": Z}, None),
        (VERSION, (X, X, Y), {"objects": X}, (READD, Reason.ENTRY_LOST)),
        # A change survives a deletion that had not seen it.
        (FILE, (X, Y, None), {"buried": X}, (PUSH, Reason.CHANGE_OVER_DELETE)),
        (RECORD, (X, Y, None), {"buried": X}, (PUSH, Reason.CHANGE_OVER_DELETE)),
        (STREAM, (X, Y, None), {"buried": X}, (PUSH, Reason.CHANGE_OVER_DELETE)),
        (RECORD, (X, None, Y), {"deleted": True}, (PULL, Reason.CHANGE_OVER_DELETE)),
        (VERSION, (X, None, Y), {"deleted": True}, (PULL, Reason.CHANGE_OVER_DELETE)),
        # Finalized versions never change under their number.
        (VERSION, (X, X, Y), {}, Ask.OBJECT),
        (VERSION, (X, X, Y), {"objects": Y}, (MERGE, Reason.IMMUTABLE)),
        (VERSION, (X, X, Y), {"buried": X}, (PULL, Reason.DELETED_THERE)),
        (VERSION, (X, Y, X), {}, (MERGE, Reason.IMMUTABLE)),
        (VERSION, (X, Y, X), {"deleted": True}, (PUSH, Reason.REPLACED)),
        (VERSION, (None, X, Y), {}, (MERGE, Reason.BOTH_CHANGED)),
        (VERSION, (None, X, None), {"objects": Y}, (READD, Reason.ENTRY_LOST)),
        (RECORD, (None, X, None), {"objects": Y}, (READD, Reason.ENTRY_LOST)),
        (RECORD, (None, X, None), {"objects": X}, (PUSH, Reason.WRITTEN_HERE)),
        (RECORD, (None, X, None), {"objects": Y, "buried": Y}, (PUSH, Reason.WRITTEN_HERE)),
        # What lies in the place of a push, and is not what the push is to replace, is listed and never overwritten.
        (FILE, (X, Y, None), {"objects": Z}, (READD, Reason.ENTRY_LOST)),
        (RECORD, (X, Y, None), {"objects": Z}, (READD, Reason.ENTRY_LOST)),
        (STREAM, (X, Y, None), {"objects": Z}, (READD, Reason.ENTRY_LOST)),
        (VERSION, (X, Y, None), {"deleted": True, "objects": Z}, (READD, Reason.ENTRY_LOST)),
        (VERSION, (X, Y, None), {"objects": X}, (READD, Reason.ENTRY_LOST)),
        (VERSION, (X, Y, X), {"deleted": True, "objects": Z}, None),
        (FILE, (X, Y, None), {"objects": X}, (PUSH, Reason.ENTRY_LOST)),
        (VERSION, (X, Y, None), {"deleted": True, "objects": X}, (PUSH, Reason.ENTRY_LOST)),
        (VERSION, (X, Y, None), {"objects": Z, "buried": Z}, (PUSH, Reason.ENTRY_LOST)),
        (VERSION, (X, Y, None), {"objects": Y}, (PUSH, Reason.ENTRY_LOST)),
        (VERSION, (X, Y, None), {"objects": None}, (PUSH, Reason.ENTRY_LOST)),
        # Another id may be another thing.
        (RECORD, (X, X, Y), {}, (MERGE, Reason.WRITTEN_THERE)),
        (STREAM, (X, X, Y), {}, (MERGE, Reason.WRITTEN_THERE)),
        (STREAM, (X, Y, X), {}, (PUSH, Reason.WRITTEN_HERE)),
        # Resurrections are undone; what was written again is not one.
        (VERSION, (None, None, X), {"buried": X}, (Action.BURY, Reason.RESURRECTED)),
        (VERSION, (X, X, X), {"buried": X}, (Action.BURY, Reason.RESURRECTED)),
        (FILE, (Y, Y, X), {"buried": X, "objects": X}, (PUSH, Reason.ENTRY_LOST)),
        (FILE, (None, X, None), {"buried": X, "written": True}, (PUSH, Reason.WRITTEN_HERE)),
        (FILE, (None, X, X), {"buried": X, "written": True}, (PUSH, Reason.WRITTEN_HERE)),
        (VERSION, (None, X, None), {"buried": X, "written": True}, (Action.DELETE_LOCAL, Reason.DELETED_THERE)),
        # A marker is settled with its versions, whoever moved it.
        (MARKER, (X, Y, X), {}, (MERGE, Reason.WRITTEN_HERE)),
        (MARKER, (X, X, Y), {}, (MERGE, Reason.WRITTEN_THERE)),
        (MARKER, (X, None, Y), {"deleted": True}, (MERGE, Reason.CHANGE_OVER_DELETE)),
    ],
)
def test_rows_of_one_kind(unit, sides, facts, expected) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    assert verdict(plan_of(unit, sides, **facts)) == expected


def test_deletions_publish_tombstones_and_writing_again_takes_them_back() -> None:
    (deleted,) = plan_of(FILE, (X, None, X), deleted=True).steps
    (replaced,) = plan_of(VERSION, (X, Y, X), deleted=True).steps
    (again,) = plan_of(FILE, (None, X, None), buried=X, written=True).steps
    assert deleted.buries == {FILE: X}
    assert replaced.buries == state(VERSION, X)
    assert again.revokes == {FILE: X}


def test_deletion_of_half_a_version_is_none() -> None:
    files = state(VERSION, X)
    evidence = Evidence({f"{VERSION}/raw": X})
    left = Local({f"{VERSION}/metadata.yaml": X}, {f"{VERSION}/raw"})
    (step,) = diff(Base(STORE, files), left, Remote(STORE, files), evidence, classify).steps
    assert step.action is Action.RESTORE


def test_version_moves_as_one() -> None:
    there = {f"{VERSION}/raw": X, f"{VERSION}/metadata.yaml": Y}
    remote = Remote(STORE, there)
    (step,) = diff(Base(STORE), Local({}), remote, Evidence(), classify).steps
    assert (step.action, step.remote) == (PULL, there)


def test_equal_raw_of_a_deleted_version_does_not_delete_another_version() -> None:
    new: State = {f"{VERSION}/raw": X, f"{VERSION}/metadata.yaml": Y}
    remote = Remote(STORE, {}, {path: {X} for path in new})
    (step,) = diff(Base(STORE), Local(new), remote, Evidence(), classify).steps
    assert (step.action, step.revokes) == (PUSH, {})


RAW, METADATA = f"{VERSION}/raw", f"{VERSION}/metadata.yaml"


@pytest.mark.parametrize(
    ("base", "objects", "expected"),
    [
        # Ours, up to where an upload of ours broke off, or in place of what we published and deleted.
        ({}, {RAW: Y, METADATA: None}, (PUSH, Reason.WRITTEN_HERE)),
        (state(VERSION, X), {RAW: X, METADATA: None}, (PUSH, Reason.ENTRY_LOST)),
        # Of somebody else, who may be about to upload the rest.
        ({}, {RAW: Z, METADATA: None}, (MERGE, Reason.OCCUPIED)),
        ({}, {RAW: None, METADATA: Z}, (MERGE, Reason.OCCUPIED)),
        (state(VERSION, X), {RAW: Z, METADATA: None}, (MERGE, Reason.OCCUPIED)),
        # One look is not enough to say whether it is half or whole.
        ({}, {RAW: Z}, Ask.OBJECT),
    ],
)
def test_half_a_version_of_somebody_else_is_not_overwritten(base, objects, expected) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    evidence = Evidence(deleted=base, objects=objects)
    plan = diff(Base(STORE, base), Local(state(VERSION, Y)), Remote(STORE, {}), evidence, classify)
    assert verdict(plan) == expected


def test_half_a_version_in_place_of_ours_that_is_not_listed_any_more_does_not_go_either() -> None:
    ours = state(VERSION, X)
    evidence = Evidence(objects={RAW: Z, METADATA: None})
    plan = diff(Base(STORE, ours), Local(ours), Remote(STORE, {}), evidence, classify)
    assert verdict(plan) == (MERGE, Reason.OCCUPIED)


@pytest.mark.parametrize(
    ("base", "local", "objects", "expected"),
    [
        # Half of something else under an entry: nobody can have it from there, so it is unlisted, or ours moves.
        ({}, {}, {RAW: Z, METADATA: None}, (Action.BURY, Reason.OCCUPIED)),
        ({}, {}, {RAW: None, METADATA: Z}, (Action.BURY, Reason.OCCUPIED)),
        ({}, state(VERSION, Y), {RAW: Z, METADATA: None}, (MERGE, Reason.OCCUPIED)),
        ({}, state(VERSION, Y), {RAW: Y, METADATA: None}, (PUSH, Reason.WRITTEN_HERE)),
        # Half of the very same, all of something else, nothing at all: on its way, or for the doctor.
        ({}, {}, {RAW: X, METADATA: None}, None),
        ({}, {}, {RAW: Z, METADATA: Z}, None),
        ({}, {}, {RAW: Z, METADATA: X}, None),
        ({}, {}, {RAW: None, METADATA: None}, None),
        ({}, {}, {RAW: Z}, Ask.OBJECT),
    ],
)
def test_an_entry_over_half_of_something_else_is_dead(base, local, objects, expected) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    listed = Remote(STORE, state(VERSION, X))
    plan = diff(Base(STORE, base), Local(local), listed, Evidence(objects=objects), classify)
    assert verdict(plan) == expected
    assert not any(step.buries for step in plan.steps)


@pytest.mark.parametrize(
    ("sides", "facts", "expected"),
    [
        ((None, Y, None), {}, {}),
        ((X, Y, X), {"deleted": True}, state(VERSION, X)),
        ((X, Y, X), {"deleted": True, "objects": None}, {}),
        ((X, Y, None), {"deleted": True, "objects": X}, state(VERSION, X)),
    ],
)
def test_push_says_what_it_replaces(sides, facts, expected) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    (step,) = plan_of(VERSION, sides, **facts).steps
    assert (step.action, step.replaces) == (PUSH, expected)


@pytest.mark.parametrize("content", [X, None])
def test_half_a_version_is_not_pulled(content: str | None) -> None:
    listed = Remote(STORE, {RAW: content})
    assert diff(Base(STORE), Local({}), listed, Evidence(), classify) == Plan()


def test_half_a_version_is_not_pushed() -> None:
    assert not diff(Base(STORE), Local({f"{VERSION}/raw": X}), Remote(STORE, {}), Evidence(), classify).steps


def test_marker_is_settled_when_its_version_is_deleted() -> None:
    files = {**state(VERSION, X), MARKER: "one"}
    local = Local({MARKER: "one"})
    evidence = Evidence(state(VERSION, X))
    steps = diff(Base(STORE, files), local, Remote(STORE, files), evidence, classify).steps
    assert [(s.unit.key, s.action) for s in steps] == [(VERSION, Action.DELETE_REMOTE), (MARKER, MERGE)]


def test_missing_files_are_restored_and_unhydrated_ones_left_alone() -> None:
    files = {FILE: X, "files/g": X}
    remote = Remote(STORE, files)
    (step,) = diff(Base(STORE, files), Local({}, {FILE}), remote, Evidence(), classify).steps
    assert (step.action, step.unit.key) == (Action.RESTORE, FILE)


@pytest.mark.parametrize(
    ("local", "remote", "questions"),
    [
        ({FILE: None}, {FILE: X}, {Ask.LOCAL_HASH}),
        ({FILE: X}, {FILE: None}, {Ask.REMOTE_HASH}),
        ({FILE: None}, {FILE: None}, {Ask.LOCAL_HASH, Ask.REMOTE_HASH}),
    ],
)
def test_unknown_content_equals_nothing_and_is_asked_for(local, remote, questions) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    plan = diff(Base(STORE), Local(local), Remote(STORE, remote), Evidence(), classify)
    assert not plan.steps
    assert set(plan.questions) == {Question(FILE, ask) for ask in questions}


def test_unknown_content_that_nobody_here_heard_of_is_just_pulled() -> None:
    (step,) = diff(Base(STORE), Local({}), Remote(STORE, {FILE: None}), Evidence(), classify).steps
    assert step.action is PULL


def test_base_of_another_store_deletes_nothing() -> None:
    files = {f"files/{n}": X for n in range(5)}
    remote = Remote("another", {}, {path: {X} for path in files})
    plan = diff(Base(STORE, files), Local(files), remote, Evidence(files), classify)
    assert {step.action for step in plan.steps} == {PUSH}


@pytest.mark.parametrize(("total", "gone", "stop"), [(50, 50, None), (101, 101, Stop.TOO_MANY_DELETIONS)])
@pytest.mark.parametrize("factor", [1, 20])
def test_mass_deletion_stops(total: int, gone: int, stop: Stop | None, factor: int) -> None:
    """Twenty times as many paths: one in ten may go."""
    files = {f"files/{n}": X for n in range(total * factor)}
    left = dict(list(files.items())[gone:])
    buried = {path: {X} for path in files}
    plan = diff(
        Base(STORE, files),
        Local(files),
        Remote(STORE, left, {p: buried[p] for p in files.keys() - left.keys()}),
        Evidence(),
        classify,
    )
    assert plan.stop == (stop if factor == 1 else None)
    assert plan.is_stopped() == (plan.stop is not None)
    assert not plan.is_stopped(accept_deletions=True)


def test_vanished_index_stops() -> None:
    plan = diff(Base(STORE, {FILE: X}), Local({FILE: X}), Remote(STORE, None), Evidence(), classify)
    assert plan.stop is Stop.INDEX_VANISHED


@pytest.mark.parametrize("as_of", ["", "2026-01-01T00:00:00.000Z"])
def test_base_older_than_the_tombstones_cannot_be_accepted(as_of: str) -> None:
    """Nor one of which only parts were ever read, so that nobody knows how old it is."""
    base = Base(STORE, {FILE: X}, as_of=as_of)
    remote = Remote(STORE, {FILE: X}, buried_since="2026-02-01T00:00:00.000Z")
    plan = diff(base, Local({FILE: X}), remote, Evidence(), classify)
    assert plan.stop is Stop.BASE_TOO_OLD
    assert plan.is_stopped(accept_deletions=True)


@pytest.mark.parametrize(
    ("base", "buried_since"),
    [
        (Base(STORE), "2026-02-01T00:00:00.000Z"),
        (Base(STORE, {FILE: X}), ""),
        (Base(STORE, {FILE: X}, as_of="2026-02-01T00:00:00.000Z"), "2026-02-01T00:00:00.000Z"),
    ],
)
def test_base_that_no_tombstone_can_have_missed_is_not_too_old(base: Base, buried_since: str) -> None:
    assert diff(base, Local(base.files), Remote(STORE, base.files, {}, buried_since), Evidence(), classify) == Plan()


def test_cost_follows_what_differs() -> None:
    """The unit of an agreeing path is never even looked up."""
    files = {f"files/{n}": X for n in range(1000)}
    asked = []

    def recorded(path: str) -> Unit:
        asked.append(path)
        return classify(path)

    diff(
        Base(STORE, files),
        Local({**files, FILE: Y}),
        Remote(STORE, dict(files)),
        Evidence(),
        recorded,
    )
    assert asked == [FILE]


@pytest.mark.parametrize("flaw", ["unmarked", "unknown", "never hydrated", "present", "back at the second look"])
def test_every_condition_of_an_unspoken_deletion_is_needed(flaw: str) -> None:
    def proven(flaw: str | None) -> dict[str, str]:
        return deletions(
            intents=[],
            marked=[] if flaw == "unmarked" else [FILE],
            base={} if flaw == "unknown" else {FILE: X},
            hydrated=set() if flaw == "never hydrated" else {FILE},
            present={FILE} if flaw == "present" else set(),
            present_at_second_look={FILE} if flaw == "back at the second look" else set(),
        )

    assert proven(None) == {FILE: X}
    assert proven(flaw) == {}


def test_intent_only_deletes_the_content_that_it_names() -> None:
    nothing: set[str] = set()
    proof = {"marked": [], "hydrated": nothing, "present": nothing, "present_at_second_look": nothing}
    assert deletions(intents=[(FILE, X)], base={FILE: X}, **proof) == {FILE: X}  # type: ignore[arg-type]
    assert deletions(intents=[(FILE, X)], base={FILE: Y}, **proof) == {}  # type: ignore[arg-type]


def test_seed_takes_only_what_agrees() -> None:
    assert seed({"a": X, "b": X, "c": None, "d": X}, {"a": X, "b": Y, "c": None}) == {"a": X}


@example(
    # A half version, of which nothing is here.
    Sides(
        Base(STORE, {"data/t/m/n/1/raw": X}),
        Local({}),
        Remote(STORE, {}),
        Evidence(objects={"data/t/m/n/1/metadata.yaml": None, "data/t/m/n/1/raw": X}),
    )
)
@example(
    # A dead entry, and half a copy of it here, where the base knows of other bytes that are not here any more.
    Sides(
        Base(STORE, {"data/t/m/n/1/raw": Y}),
        Local({"data/t/m/n/1/raw": X}),
        Remote(STORE, {"data/t/m/n/1/raw": X}, {"data/t/m/n/1/raw": {X}}),
        Evidence(),
    )
)
@given(sides())
def test_nothing_is_deleted_without_evidence_a_tombstone_or_a_missing_object(given_sides: Sides) -> None:
    base, local, remote, evidence = given_sides
    for step in diff(base, local, remote, evidence, classify).steps:
        if step.action not in DELETING:
            continue
        here = step.action is not Action.DELETE_REMOTE
        there = step.action is not Action.DELETE_LOCAL
        listed = {path: content for path, content in step.remote.items() if content is not None}
        # The base stands in for what is not here, so what it knows is in `local`, or was deleted, or written over.
        for side in (step.buries, step.local if here else {}, listed if there else {}):
            proven = all(evidence.deleted.get(path) == base.files.get(path) for path in side)
            buried = all(content in remote.buried.get(path, ()) for path, content in side.items())
            # Either an object of the unit is missing (half a version is none), or it is no longer what the base knew
            # and the bytes of that are not here.
            looked = all(path in evidence.objects for path in step.unit.members)
            gone = looked and any(
                evidence.objects[path] is None or evidence.objects[path] != side.get(path, evidence.objects[path])
                for path in step.unit.members
            )
            assert not side or proven or buried or gone


@given(sides())
def test_no_push_replaces_what_a_look_found_there_unless_it_is_known_to_be_outdated(given_sides: Sides) -> None:
    base, local, remote, evidence = given_sides
    for step in diff(base, local, remote, evidence, classify).steps:
        if step.action is not PUSH:
            continue
        for path in step.unit.members:
            there = evidence.objects.get(path)
            if there is None or there in remote.buried.get(path, ()) or there == step.local.get(path):
                continue
            assert there == base.files.get(path)
            assert step.unit.kind != "version" or evidence.deleted.get(path) == there


@given(sides())
def test_unit_has_one_step_or_a_question_and_agreeing_units_have_neither(given_sides: Sides) -> None:
    base, local, remote, evidence = given_sides
    plan = diff(base, local, remote, evidence, classify)
    keys = [step.unit.key for step in plan.steps]
    asked = {classify(question.path).key for question in plan.questions}
    assert len(keys) == len(set(keys))
    assert asked.isdisjoint(step.unit.key for step in plan.steps if step.unit.kind != "latest")
    for step in plan.steps:
        same = step.base == step.local == step.remote != {}
        is_displaced = step.reason is Reason.OCCUPIED and not evidence.objects.items() & step.remote.items()
        assert not same or is_displaced or step.action in (Action.RESTORE, Action.BURY) or step.unit.kind == "latest"


@given(sides())
def test_diff_of_equal_sides_is_empty(given_sides: Sides) -> None:
    files = given_sides.base.files
    assert diff(Base(STORE, files), Local(files), Remote(STORE, files), Evidence(), classify) == Plan()

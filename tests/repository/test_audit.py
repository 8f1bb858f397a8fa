"""Audit logs: a file for each day and machine that several processes append to, and in which tampering shows."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.layout.audit import AuditKind
from bayou.repository import audit
from bayou.repository.timeline import DIAGNOSTIC, Source, timeline, totals
from bayou.tree import Marks, Tree
from bayou.tree.marks import Close
from bayou.tree.tiers import Tiers
from bayou.wire import auditlines
from bayou.wire.auditlines import CommandEntry, VaultEntry
from bayou.wire.times import to_milliseconds

GOLDEN = Path(__file__).parent.parent / "golden" / "a-v1-dual-write" / "cache"
HERE = "web-01-0123abcd"


def ms(text: str) -> int:
    found = to_milliseconds(text)
    assert found is not None
    return found


def command(timestamp: str = "2026-04-02T09:15:00.125Z", text: str = "make", **known: object) -> CommandEntry:
    return CommandEntry(timestamp=timestamp, command=text, **known)  # type: ignore[arg-type] # fields by name


def access(timestamp: str = "2026-04-02T09:15:00.125Z", **known: str) -> VaultEntry:
    return VaultEntry(**{"timestamp": timestamp, "vault_name": "main", "secret_key": "db"} | known)


def recorded(tree: Tree, *entries: auditlines.Entry) -> None:
    for entry in entries:
        assert audit.record(tree, HERE, entry) is None


def since(tree: Tree, start: str, end: str | None = None) -> list[str]:
    return [entry.command for entry in audit.commands(tree, ms(start), ms(end) if end else None).entries]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "store", tmp_path / ".swamp", durable=False)


def test_entries_are_lines_of_json_in_a_file_for_each_day_and_machine(tree: Tree) -> None:
    recorded(tree, command("2026-04-02T23:59:59.999Z"), command("2026-04-03T02:00:00.000+02:00"), access())
    assert sorted(path.name for path in (tree.root / "audit").iterdir()) == [
        f"commands-2026-04-02.{HERE}.jsonl",
        f"commands-2026-04-03.{HERE}.jsonl",
        f"vault-audit-2026-04-02.{HERE}.jsonl",
    ]
    for path in (tree.root / "audit").iterdir():
        assert all(isinstance(json.loads(line), dict) for line in path.read_text().splitlines())


def test_a_line_has_the_keys_of_the_specification_and_says_whether_it_went_well() -> None:
    failed = command(cwd="/srv", session_id="s", exit_code=2, error="no rule", status="error", duration_ms=7)
    assert list(json.loads(auditlines.encode(failed)).items()) == [
        ("timestamp", "2026-04-02T09:15:00.125Z"),
        ("command", "make"),
        ("cwd", "/srv"),
        ("sessionId", "s"),
        ("exitCode", 2),
        ("error", "no rule"),
        ("status", "error"),
        ("durationMs", 7),
    ]
    assert set(json.loads(auditlines.encode(command(exit_code=0, error="", status="success")))) == {
        "timestamp",
        "command",
        "cwd",
        "status",
    }


@pytest.mark.parametrize(
    ("entry", "failed"),
    [
        (command(), False),
        (command(exit_code=0, status="success"), False),
        (command(status="error"), True),
        (command(exit_code=2), True),
        (command(error="no rule"), True),
        (command(error=""), False),
    ],
)
def test_a_failure_shows_with_or_without_an_error_text(entry: CommandEntry, *, failed: bool) -> None:
    assert entry.failed is failed
    assert timeline([entry])[0].to_dict()["status"] == ("error" if failed else "success")


@given(st.text(st.characters(), min_size=1))
def test_whatever_a_command_holds_its_line_is_read_again(text: str) -> None:
    line = auditlines.encode(command(text=text))
    assert line.count(b"\n") == 1
    found = auditlines.decode_command(line)
    assert found is not None
    assert found.command == text.encode(errors="backslashreplace").decode()


@given(st.binary(max_size=60) | st.text().map(str.encode))
def test_a_line_that_is_no_entry_is_none(line: bytes) -> None:
    assert auditlines.decode_command(line) is None
    assert auditlines.decode_vault(line) is None


def test_a_window_over_several_days_is_in_the_order_of_time(tree: Tree) -> None:
    for day in (4, 2, 3, 1):
        recorded(
            tree,
            command(f"2026-04-0{day}T12:00:00.000Z", f"late {day}"),
            command(f"2026-04-0{day}T06:00:00.000Z", f"early {day}"),
        )
    assert since(tree, "2026-04-02T07:00:00.000Z", "2026-04-04T06:00:00.000Z") == ["late 2", "early 3", "late 3"]
    assert since(tree, "2026-04-04T06:00:00.000Z") == ["early 4", "late 4"]


def test_no_log_is_an_empty_list(tree: Tree) -> None:
    assert audit.commands(tree, 0) == audit.Entries([])
    assert audit.vault_accesses(tree, 0).entries == []
    assert audit.expired(tree, date(2026, 4, 2), 7) == []
    assert audit.verify(tree) == []


def test_what_other_machines_and_clients_wrote_is_read_too_wherever_it_lies(tree: Tree) -> None:
    recorded(tree, command(text="ours"))
    theirs = '{{"timestamp":"2026-04-02T09:15:00.{}Z","command":"{}","cwd":"/"}}\n'
    (tree.root / "audit/commands-2026-04-02.jsonl").write_text(theirs.format(200, "synced"))
    (tree.root / "audit/commands-2026-04-02.other-1.jsonl").write_text(theirs.format(300, "other"))
    (tree.local / "audit").mkdir(parents=True)
    (tree.local / "audit/commands-2026-04-02.jsonl").write_text(theirs.format(400, "local"))
    (tree.local / "audit/vault-reads-2026-04-02.jsonl").write_text(
        '{"timestamp":"2026-04-02T09:15:00.125Z","vaultName":"main","vaultType":"x","secretKey":"db"}\n'
    )
    assert since(tree, "2026-04-02T00:00:00.000Z") == ["ours", "synced", "other", "local"]
    assert [entry.action for entry in audit.vault_accesses(tree, 0).entries] == ["get"]


def test_in_a_datastore_of_its_own_a_repo_reads_each_file_once(tmp_path: Path) -> None:
    tree = Tree(tmp_path, tmp_path, durable=False)
    recorded(tree, command())
    assert since(tree, "2026-04-01T00:00:00.000Z") == ["make"]


def test_lines_that_are_no_entries_are_passed_over_and_counted(tree: Tree) -> None:
    recorded(tree, command())
    path = tree.root / f"audit/commands-2026-04-02.{HERE}.jsonl"
    for line in ("nonsense", "[]", '{"command":"x"}', '{"timestamp":"soon","command":"x"}', "\n", "\xff", "{" * 50_000):
        path.write_bytes(path.read_bytes() + line.encode("latin-1") + b"\n")
    recorded(tree, command(text="after"))
    found = audit.commands(tree, 0)
    assert [entry.command for entry in found.entries] == ["make", "after"]
    assert found.skipped == 6


def test_golden_logs_are_passed_over_without_harm(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "audit", tmp_path / "audit")
    assert audit.commands(Tree(tmp_path, tmp_path / ".swamp"), 0) == audit.Entries([], skipped=2)


def test_the_log_follows_the_settings_of_the_datastore(tmp_path: Path) -> None:
    for name, tiers in (("directories", Tiers(directories=("data",))), ("exclude", Tiers(exclude=("audit/**",)))):
        tree = Tree(tmp_path / name / "store", tmp_path / name / ".swamp", tiers=tiers, durable=False)
        recorded(tree, command())
        assert (tree.local / f"audit/commands-2026-04-02.{HERE}.jsonl").exists()
        assert since(tree, "2026-04-01T00:00:00.000Z") == ["make"]
    tree = Tree(tmp_path / "shared", tmp_path / ".swamp", namespace="infra", durable=False)
    recorded(tree, command())
    assert (tmp_path / f"shared/infra/audit/commands-2026-04-02.{HERE}.jsonl").exists()


class Heard(Marks):
    def __init__(self) -> None:
        self.paths: list[str] = []

    def changing(self, paths: Sequence[str]) -> Close:
        self.paths += paths
        return lambda: None

    def removing(self, paths: Sequence[str]) -> Close:
        self.paths += [f"-{path}" for path in paths]
        return lambda: None


def test_a_sync_hears_of_every_line_and_every_log_that_goes(tmp_path: Path) -> None:
    heard = Heard()
    tree = Tree(tmp_path, tmp_path / ".swamp", marks=heard, durable=False)
    recorded(tree, command(), command())
    path = f"audit/commands-2026-04-02.{HERE}.jsonl"
    audit.drop(tree, audit.expired(tree, date(2026, 5, 2), 7))
    assert heard.paths == [path, path, f"-{path}"]


def test_what_cannot_be_recorded_comes_back_as_text(tmp_path: Path) -> None:
    (tmp_path / "audit").write_text("in the way")
    tree = Tree(tmp_path, tmp_path, durable=False)
    message = audit.record(tree, HERE, command())
    assert message is not None
    assert "audit" in message
    assert audit.record(tree, HERE, command("soon")) is not None


@pytest.mark.parametrize(
    ("action", "audit_reads", "expected"),
    [
        ("get", False, False),
        ("get", True, True),
        ("put", False, True),
        ("delete", False, True),
        ("annotate", False, True),
    ],
)
def test_reads_of_secrets_are_recorded_where_the_vault_wants_it(
    action: str, *, audit_reads: bool, expected: bool
) -> None:
    assert audit.is_recorded(action, audit_reads=audit_reads) is expected


def test_accesses_can_be_narrowed(tree: Tree) -> None:
    recorded(
        tree,
        access("2026-04-01T00:00:00.000Z", action="put"),
        access("2026-04-02T00:00:00.000Z", secret_key="api"),
        access("2026-04-03T00:00:00.000Z", vault_name="spare"),
        access("2026-04-04T00:00:00.000Z"),
    )

    def days(**wanted: object) -> list[str]:
        return [entry.timestamp[9:10] for entry in audit.vault_accesses(tree, 0, **wanted).entries]  # type: ignore[arg-type] # by name

    assert days() == ["1", "2", "3", "4"]
    assert days(vault="main") == ["1", "2", "4"]
    assert days(key="db") == ["1", "3", "4"]
    assert days(action="put") == ["1"]
    assert days(limit=2) == ["3", "4"]
    assert days(limit=0) == []
    assert days(until_ms=ms("2026-04-02T00:00:00.000Z")) == ["1"]


def test_old_logs_go_by_the_date_in_their_names(tree: Tree) -> None:
    for day in (1, 2, 3):
        recorded(tree, command(f"2026-04-0{day}T12:00:00.000Z"), access(f"2026-04-0{day}T12:00:00.000Z"))
    (tree.root / "audit/notes.jsonl").write_text("")
    (tree.root / "audit/commands-2026-04-01.jsonl").write_text("")
    today = date(2026, 4, 9)
    assert audit.expired(tree, today, 7) == [
        "audit/commands-2026-04-01.jsonl",
        f"audit/commands-2026-04-01.{HERE}.jsonl",
    ]
    gone = audit.expired(tree, today, 6, [AuditKind.VAULT, AuditKind.VAULT_READS])
    assert gone == [f"audit/vault-audit-2026-04-0{day}.{HERE}.jsonl" for day in (1, 2)]
    audit.drop(tree, gone)
    audit.drop(tree, gone)
    assert len(audit.vault_accesses(tree, 0).entries) == 1
    assert len(audit.commands(tree, 0).entries) == 3


# --- links ---------------------------------------------------------------------------------------------------------


def logged(tree: Tree, count: int = 5) -> Path:
    recorded(tree, *(command(text=f"make {number} {'x' * 3000}") for number in range(count)))
    return tree.root / f"audit/commands-2026-04-02.{HERE}.jsonl"


def verified(tree: Tree) -> tuple[int, int, list[int]]:
    (found,) = audit.verify(tree)
    return found.lines, found.unlinked, list(found.breaks)


def test_a_log_that_nobody_touched_is_whole(tree: Tree) -> None:
    logged(tree)
    assert verified(tree) == (5, 0, [])


@pytest.mark.parametrize(
    ("tamper", "breaks"),
    [
        (lambda lines: [*lines[:2], lines[2].replace("make 2", "make 9"), *lines[3:]], [4]),
        (lambda lines: [*lines[:2], *lines[3:]], [3]),
        (lambda lines: lines[1:], [1]),
        (lambda lines: [lines[1], lines[0], *lines[2:]], [1, 2, 3]),
        (lambda lines: [*lines[:2], "", *lines[2:]], [4]),
    ],
    ids=["changed", "removed", "beheaded", "swapped", "put in"],
)
def test_what_was_tampered_with_shows(tree: Tree, tamper: object, breaks: list[int]) -> None:
    assert callable(tamper)
    path = logged(tree)
    path.write_text("\n".join(tamper(path.read_text().splitlines())) + "\n")
    assert verified(tree)[2] == breaks


def test_a_line_that_a_dead_process_left_half_swallows_no_other(tree: Tree) -> None:
    path = logged(tree, 1)
    path.write_bytes(path.read_bytes() + b'{"timestamp":"2026-04-0')
    recorded(tree, command(text="after"))
    found = audit.commands(tree, 0)
    assert [entry.command[:5] for entry in found.entries] == ["make ", "after"]
    assert found.skipped == 1
    assert verified(tree) == (3, 1, [])


def test_lines_of_other_clients_are_part_of_the_chain_and_say_nothing_of_their_own(tree: Tree) -> None:
    path = logged(tree, 1)
    path.write_bytes(path.read_bytes() + auditlines.encode(command(text="theirs")))
    recorded(tree, command(text="after"))
    assert verified(tree) == (3, 1, [])


def test_logs_of_other_clients_alone_are_not_verified(tree: Tree) -> None:
    (tree.root / "audit").mkdir(parents=True)
    (tree.root / "audit/commands-2026-04-02.jsonl").write_bytes(auditlines.encode(command()))
    assert audit.verify(tree) == []


def test_where_no_lock_is_to_be_had_a_line_is_written_without_a_link(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bayou.errors import Unsupported  # noqa: PLC0415 - one test

    def no_lock(*_: object) -> object:
        raise Unsupported("this file system cannot lock files")

    logged(tree, 1)
    monkeypatch.setattr(tree, "lock", no_lock)
    recorded(tree, command(text="unlinked"))
    assert verified(tree) == (2, 1, [])


WRITER = """
import sys
from pathlib import Path
from bayou.repository import audit
from bayou.tree import Tree
from bayou.wire.auditlines import CommandEntry

root = Path(sys.argv[1])
tree = Tree(root, root / ".swamp", durable=False)
sys.stdin.readline()
for number in range(40):
    text = f"{sys.argv[2]} {number} " + "x" * (number * 200)
    entry = CommandEntry(timestamp="2026-04-02T09:15:00.125Z", command=text)
    assert audit.record(tree, "web", entry) is None
"""


def test_several_processes_append_to_one_file_without_losing_or_mixing_a_line(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, tmp_path, name], stdin=subprocess.PIPE, text=True)  # noqa: S603 - our own script
        for name in "abc"
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.close()
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    tree = Tree(tmp_path, tmp_path / ".swamp", durable=False)
    found = audit.commands(tree, 0)
    assert found.skipped == 0
    for name in "abc":
        mine = [entry.command.split()[1] for entry in found.entries if entry.command.startswith(name)]
        assert mine == [str(number) for number in range(40)]
    assert verified(tree) == (120, 0, [])


# --- the timeline --------------------------------------------------------------------------------------------------


def test_the_timeline_tells_the_tool_from_the_rest_and_hides_what_only_looks_around() -> None:
    texts = [
        "swamp",
        "swamp data list",
        "bayou sync",
        "swampy",
        "make",
        "ls",
        "ls -l",
        "lsof",
        "git status",
        "git push",
        "echo hi",
        f"{DIAGNOSTIC} 1",
    ]
    entries = [command(text=text) for text in texts]
    shown = timeline(entries)
    assert [(moment.entry.command, moment.source) for moment in shown] == [
        ("swamp", Source.SWAMP),
        ("swamp data list", Source.SWAMP),
        ("bayou sync", Source.SWAMP),
        ("swampy", Source.DIRECT),
        ("make", Source.DIRECT),
        ("lsof", Source.DIRECT),
        ("git push", Source.DIRECT),
    ]
    assert totals(shown) == {"totalSwamp": 3, "totalDirect": 4}
    assert [moment.entry.command for moment in timeline(entries, with_noise=True)] == texts[:-1]
    assert [moment.entry.command for moment in timeline(entries, with_noise=True, with_diagnostic=True)] == texts


def test_a_session_shows_neither_others_nor_what_names_none() -> None:
    entries = [command(text="a", session_id="s"), command(text="b", session_id="t"), command(text="c")]
    assert [moment.entry.command for moment in timeline(entries, session="s")] == ["a"]
    assert len(timeline(entries)) == 3


def test_a_line_of_the_timeline_has_the_names_of_the_specification() -> None:
    entry = command(text="make", session_id="s", exit_code=2, error="no rule", duration_ms=7)
    assert timeline([entry])[0].to_dict() == {
        "timestamp": "2026-04-02T09:15:00.125Z",
        "source": "direct",
        "summary": "make",
        "status": "error",
        "sessionId": "s",
        "durationMs": 7,
        "exitCode": 2,
        "error": "no rule",
    }

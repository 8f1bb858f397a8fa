"""What a session does not need is not imported."""

import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = """
import sys
from pathlib import Path
from bayou.config import Arguments, load
load(Path(sys.argv[1]), {}, Arguments(datastore=sys.argv[2]), home=Path("/home/me"))
print(*sorted({"yaml", "obstore", "importlib.metadata"} & sys.modules.keys()))
"""


@pytest.mark.parametrize(
    ("marker", "imported"), [(None, ""), ('repoId: "a"\ntools:\n  - codex\n', ""), ("# ours\nrepoId: a\n", "yaml")]
)
def test_yaml_is_imported_when_a_marker_takes_a_parser(tmp_path: Path, marker: str | None, imported: str) -> None:
    if marker is not None:
        (tmp_path / ".swamp.yaml").write_text(marker)
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path), "s3://lake"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own program
    assert answer.stdout.strip() == imported

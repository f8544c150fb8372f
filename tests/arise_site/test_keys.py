"""The kept secret: one key, however many processes ask for it first."""

import subprocess
import sys
from pathlib import Path

from arise_site.keys import kept_secret
from tests.arise_site.running import CHECKOUT

ASK = "import sys; from pathlib import Path; from arise_site.keys import kept_secret; print(kept_secret(Path(sys.argv[1])))"


def test_it_is_made_once_and_read_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "key"
    key = kept_secret(path)
    assert len(key) >= 50
    assert kept_secret(path) == key
    assert path.stat().st_mode & 0o777 == 0o600
    assert [found.name for found in path.parent.iterdir()] == ["key"]


def test_processes_that_start_at_once_agree(tmp_path: Path) -> None:
    path = tmp_path / "key"
    asking = [
        subprocess.Popen(
            [sys.executable, "-c", ASK, str(path)], cwd=CHECKOUT, stdout=subprocess.PIPE
        )
        for _ in range(4)
    ]
    assert len({process.communicate(timeout=30)[0] for process in asking}) == 1

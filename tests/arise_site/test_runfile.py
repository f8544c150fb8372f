"""The run file: believed only while the process that wrote it lives."""

import dataclasses
import os
from pathlib import Path

from arise_site import runfile
from arise_site.runfile import RunFile

OURS = RunFile(
    pid=os.getpid(),
    started=runfile.own_start(),
    ready=True,
    host="127.0.0.1",
    port=8000,
    console_url="http://127.0.0.1:8000/admin/",
    websocket_url="ws://127.0.0.1:8000/onebot/v11/ws",
    demo_model_url="",
)


def test_it_reads_what_a_living_process_wrote(tmp_path: Path) -> None:
    assert runfile.read(tmp_path) is None
    runfile.write(tmp_path, OURS)
    assert runfile.read(tmp_path) == OURS
    runfile.remove(tmp_path)
    assert runfile.read(tmp_path) is None


def test_it_does_not_believe_a_later_process_with_the_same_number(tmp_path: Path) -> None:
    runfile.write(tmp_path, dataclasses.replace(OURS, started=OURS.started - 100))
    assert runfile.read(tmp_path) is None


def test_it_does_not_believe_nonsense(tmp_path: Path) -> None:
    (tmp_path / runfile.NAME).write_text('{"pid": 1}', encoding="utf-8")
    assert runfile.read(tmp_path) is None

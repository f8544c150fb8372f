"""Files by a folder that both sides see, for implementations that send files of their own machine."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from pytest_django import Settings

from botgateway import delivery, dialects, platforms, shared_folder
from botgateway.calls import Calls
from botgateway.connections import LiveConnection
from botgateway.frames import decode
from core import capabilities, sending
from core.models import OutboxEntry
from tests.factories import make_bot, make_chat, make_sent

LAGRANGE = {"app_name": "Lagrange.OneBot"}


@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Path:
    settings.ARISE_FILE_FOLDER = str(tmp_path)
    settings.ARISE_FILE_FOLDER_THERE = "/shared"
    return tmp_path


def test_a_file_is_put_where_the_implementation_finds_it(folder: Path) -> None:
    assert shared_folder.put(7, "规则.md", b"text") == "/shared/arise-7/规则.md"
    assert (folder / "arise-7" / "规则.md").read_bytes() == b"text"


def test_a_name_never_leads_out_of_the_folder(folder: Path) -> None:
    assert shared_folder.put(8, "../../etc/passwd", b"x") == "/shared/arise-8/passwd"
    assert not (folder.parent / "etc").exists()


def test_what_was_put_there_a_day_ago_is_removed(folder: Path) -> None:
    shared_folder.put(1, "old.md", b"x")
    day_ago = (folder / "arise-1" / "old.md").stat().st_mtime - shared_folder.KEPT_SECONDS - 1
    os.utime(folder / "arise-1" / "old.md", (day_ago, day_ago))
    shared_folder.put(2, "new.md", b"x")
    assert [path.name for path in folder.iterdir()] == ["arise-2"]


@pytest.mark.django_db
@pytest.mark.parametrize(("named", "holds"), [(True, True), (False, False)])
def test_such_an_implementation_takes_files_where_the_folder_is_named(
    tmp_path: Path, settings: Settings, named: bool, holds: bool
) -> None:
    settings.ARISE_FILE_FOLDER = str(tmp_path) if named else ""
    chat = make_chat(make_bot(platform=LAGRANGE))
    assert platforms.platform(chat).abilities["file"].can is holds
    assert capabilities.in_chat(chat).capabilities["file"] is holds


@pytest.mark.django_db(transaction=True)
async def test_a_file_goes_out_as_an_upload_and_is_sent_without_an_id(folder: Path) -> None:
    written: list[Any] = []

    async def write(text: str) -> None:
        written.append(text)
        frame = decode(json.dumps({"status": "ok", "retcode": 0, "echo": f"send-{pk}-7"}))
        connection.calls.resolve(frame)  # type: ignore[arg-type]

    @sync_to_async
    def claimed() -> tuple[OutboxEntry, sending.Claimed]:
        bot = make_bot(connection_number=7, platform=LAGRANGE)
        part = {"type": "file", "data": {"name": "poker.md"}}
        entry = make_sent(
            make_chat(bot, external_id="20001"),
            state="pending",
            kind="file",
            entry={"parts": [part], "payload": b"text"},
        ).entry
        assert entry is not None
        (claim,) = sending.claim(bot.pk, 7)
        return entry, claim

    entry, claim = await claimed()
    pk = entry.pk
    connection = LiveConnection(7, entry.bot_id, "1", "universal", Calls(write), write)  # type: ignore[arg-type]
    connection.dialect = dialects.LAGRANGE
    await delivery.deliver(connection, claim)
    await sync_to_async(entry.refresh_from_db)()
    assert (entry.state, entry.platform_message_id) == ("sent", "")
    assert '"action":"upload_group_file"' in written[0]
    assert f'"file":"/shared/arise-{pk}/poker.md"' in written[0]

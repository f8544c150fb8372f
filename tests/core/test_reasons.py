"""Stored codes are shown to people in words, on every page that has them, and each has words."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import ClassVar

import pytest
from django.contrib.auth.models import User
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from botgateway.models import RefusedConnection
from core import standing
from core.admin import reasons
from core.models import (
    CapabilitySetting,
    Chat,
    Decision,
    InboundItem,
    ModelCallCount,
    OutboxEntry,
    SentMessage,
    Turn,
)
from core.models.turns import Trigger
from stickers import funnel
from stickers.admin import reasons as of_stickers
from stickers.models import FunnelCount, Sticker
from tests import factories
from tests.catalogue import CHECKOUT
from tests.stickers.showing import shown

CHINESE = "zh-hans"
SKIPS = ["not_addressed", "replayed", "recalled", "budget_spent", "chat_disabled", "bot_disabled"]
"""Why the gate skips, besides what stands in the bot's way (core.standing)."""
FAILURES = ["rate_limited", "timeout", "unreachable", "server_error", "refused", "bad_answer"]
"""As core.errors.ModelFailure has them."""
ROLES = ["owner", "admin", "member"]
ENDINGS = ["stop", "tool_calls", "length", "content_filter"]
SPEAKERS = ["system", "user", "assistant", "tool"]
OF_TURNS = [*FAILURES, "step_limit", "crashed", "forgotten", "budget_spent", "internal_error"]
OF_STICKERS = ["operator", "member_wish", "no_outcome", "learning_off", "cut_off", "personal_data"]
OF_STICKERS += ["impersonation", "guard_veto", "guard_timeout", "guard_no_call", "server_error"]
DERIVED = ["recall_failed", "recall_unknown", "recall_discarded"]
"""Made of a state in core.sending.follow_up."""


class Words(HTMLParser):
    """What a page shows: no attributes, and nothing that shows things as they are."""

    AS_IT_IS: ClassVar = {"script", "style", "code", "pre", "kbd", "template", "option", "textarea"}

    def __init__(self, page: str) -> None:
        super().__init__()
        self.inside = 0
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.inside += tag in self.AS_IT_IS

    def handle_endtag(self, tag: str) -> None:
        self.inside -= tag in self.AS_IT_IS

    def handle_data(self, data: str) -> None:
        if not self.inside:
            self.words.append(data)


def raw(page: str, codes: Iterable[str]) -> set[str]:
    """Which of these codes a page shows as they are."""
    said = " ".join(Words(page).words)
    met = set(re.findall(r"[A-Za-z][A-Za-z_]+", said))
    return met & {code for code in codes if code}


def written(*names: str, rooms: Iterable[str] = ("core", "botgateway")) -> set[str]:
    """Every code that the source passes by these keywords, or in its place to these calls."""
    found = set()
    for room in rooms:
        for file in sorted((CHECKOUT / room).rglob("*.py")):
            found |= set(_of_file(file, names))
    return found


@cache
def _calls(file: Path) -> list[ast.Call]:
    if {"migrations", "simulator", "management"} & set(file.parts):
        return []
    return [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]


def _of_file(file: Path, names: tuple[str, ...]) -> Iterator[str]:
    for node in _calls(file):
        called = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if called == "JSONObject":
            continue  # names of columns
        given = [keyword.value for keyword in node.keywords if f"{keyword.arg}=" in names]
        place = {"_discard": 1, "Outcome": 1}.get(called, 0)
        if called in names and len(node.args) > place:
            given.append(node.args[place])
        for value in given:
            if isinstance(value, ast.Constant) and re.fullmatch(r"[a-z_]+", str(value.value)):
                yield str(value.value)


VOCABULARIES: dict[str, tuple[Iterable[str], Callable[[str], object]]] = {
    "why an entry ended or waits": (
        [*written("reason=", "_discard", "Outcome", "NoAnswer"), *DERIVED, *standing.REASONS],
        reasons.told_of_entry,
    ),
    "why a decision is to skip": (
        [*SKIPS, *standing.REASONS],
        lambda code: reasons.told(code).said,
    ),
    "why a turn failed": (
        [*written("error=", "ModelFailure"), *OF_TURNS],
        lambda code: reasons.told(code).said,
    ),
    "why a sticker is not kept": (
        [*written("Unusable", "reason=", rooms=["stickers"]), *OF_STICKERS],
        of_stickers.told,
    ),
    "why a picture is not downloaded": (
        written("MediaFailure"),
        lambda code: funnel.DOWNLOADS.get(code, code),
    ),
    "where pictures go no further": ([*funnel.STAGES, *funnel.DROPS], funnel.label),
    "what holds the bot's words": (standing.REASONS, reasons.in_brief),
    "what somebody is in a group": (ROLES, reasons.role),
    "how a model call ended": (ENDINGS, reasons.ending),
    "whose message one is": (SPEAKERS, reasons.speaker),
}


@pytest.mark.parametrize("name", VOCABULARIES)
def test_each_code_that_is_written_has_words(name: str) -> None:
    codes, told = VOCABULARIES[name]
    with translation.override(CHINESE):
        bare = {code for code in codes if re.search(r"[a-z]_[a-z]|^[a-z]+$", str(told(code)))}
    assert bare == set()


@pytest.fixture
def chat(db: None) -> Chat:
    return factories.make_chat(
        factories.make_bot(name="熊"), title="读书会", bot_role="admin", silence_reason="muted"
    )


def opened(client: Client, *addresses: str) -> str:
    """Pages in Chinese, in which no word is a code by chance."""
    User.objects.update(username="运维", email="")
    pages = [client.get(address, headers={"accept-language": CHINESE}) for address in addresses]
    assert {page.status_code for page in pages} == {200}
    return "".join(page.content.decode() for page in pages)


def places(*rows: Model, lists: Iterable[type[Model]] = ()) -> list[str]:
    named = [(row._meta, "change", [row.pk]) for row in rows]
    named += [(model._meta, "changelist", []) for model in lists]
    return [
        reverse(f"admin:{meta.app_label}_{meta.model_name}_{page}", args=keys)
        for meta, page, keys in named
    ]


def test_decisions_and_items_show_no_code(admin_client: Client, chat: Chat) -> None:
    rows: list[Model] = []
    for reason in [*SKIPS, *filter(None, standing.REASONS)]:
        item = factories.make_item(chat, "你好", sender_name="安", sender_role="admin")
        rows.append(factories.make_decision([item], "skip", reason=reason))
    for trigger in Trigger.values:
        items = [
            factories.make_item(chat, "", sender_name="安", kind=kind, trigger=trigger)
            for kind in InboundItem.Kind.values
        ]
        rows += [items[0], factories.make_decision(items, reason=trigger)]
    address = reverse("admin:core_chat_conversation", args=[chat.pk])
    page = opened(admin_client, *places(*rows, lists=(Decision, InboundItem)), address)
    codes = {*SKIPS, *standing.REASONS, *Trigger.values, *InboundItem.Kind.values, *ROLES}
    assert raw(page, codes | set(Decision.Verdict.values)) == set()


def test_turns_show_no_code(admin_client: Client, chat: Chat) -> None:
    rows: list[Model] = []
    states = [state for state in Turn.State.values if state != Turn.State.RUNNING]
    for place, error in enumerate([*OF_TURNS, "", ""]):
        state = states[place % len(states)]
        said = [{"role": role, "content": "你好"} for role in SPEAKERS]
        turn = factories.make_turn(chat, error=error, state=state, messages=said)
        factories.make_step(turn, finish_reason=ENDINGS[place % len(ENDINGS)])
        factories.make_sent(chat, "你好", turn=turn, entry={"reason": "message_gone"})
        factories.make_entry(None, chat=chat, bot=chat.bot, turn=turn, action="poke", held="muted")
        rows.append(turn)
    page = opened(admin_client, *places(*rows, lists=(Turn,)), reverse("admin:index"))
    codes = {
        *OF_TURNS,
        *ENDINGS,
        *SPEAKERS,
        *Turn.State.values,
        *Trigger.values,
        "message_gone",
        "muted",
    }
    assert raw(page, codes) == set()


def test_the_outbox_and_the_sent_log_show_no_code(admin_client: Client, chat: Chat) -> None:
    codes = set(VOCABULARIES["why an entry ended or waits"][0]) - {""}
    rows: list[Model] = []
    for place, reason in enumerate(sorted(codes)):
        # Every other one by the page of its message, the rest by that of its entry.
        state = OutboxEntry.State.values[place % len(OutboxEntry.State.values)]
        kind = SentMessage.Kind.values[place % len(SentMessage.Kind.values)]
        entry = {"reason": reason, "settled_at": None if state == "pending" else timezone.now()}
        message = factories.make_sent(chat, "你好", state, kind=kind, entry=entry)
        rows += [message] if place % 2 else message.entries.all()
    for reason in standing.REASONS:
        factories.make_sent(chat, "你好", "pending", entry={"held": reason})
    for action in OutboxEntry.Action.values:
        rows.append(factories.make_entry(None, chat=chat, bot=chat.bot, action=action))
    named = ("core_outboxentry_review", "index", "overview")
    others = [reverse("overview" if name == "overview" else f"admin:{name}") for name in named]
    others.append(reverse("admin:core_chat_conversation", args=[chat.pk]))
    page = opened(admin_client, *places(*rows, lists=(OutboxEntry, SentMessage)), *others)
    codes |= {*OutboxEntry.State.values, *OutboxEntry.Action.values, *SentMessage.Kind.values}
    assert raw(page, codes) == set()


def test_chats_and_people_show_no_code(admin_client: Client, chat: Chat) -> None:
    rows: list[Model] = [chat]
    for role in ROLES:
        rows.append(factories.make_member(chat, name="安", role=role))
        rows.append(factories.make_chat(chat.bot, title="群", bot_role=role, kind="private"))
    for reason in filter(None, standing.REASONS):
        rows.append(factories.make_chat(chat.bot, title="群", silence_reason=reason))
    for reason in RefusedConnection.Reason.values:
        rows.append(factories.make_refusal(reason=reason))
    CapabilitySetting.objects.create(chat=chat, target="cap", name="poke_send", allowed=False)
    ModelCallCount.objects.bulk_create(
        ModelCallCount(chat=chat, day=timezone.localdate(), purpose=purpose, calls=1)
        for purpose in ModelCallCount.Purpose.values
    )
    chat.delivery_mode = "review"
    chat.save()
    kinds = (Chat, type(rows[1]), RefusedConnection)
    page = opened(admin_client, *places(*rows, lists=kinds), reverse("admin:index"))
    codes = {*ROLES, *standing.REASONS, *RefusedConnection.Reason.values, "poke_send", "review"}
    assert raw(page, codes | set(ModelCallCount.Purpose.values)) == set()


def test_stickers_show_no_code(admin_client: Client, chat: Chat) -> None:
    rows: list[Model] = []
    for place, reason in enumerate([*OF_STICKERS, *OF_STICKERS]):
        state = Sticker.State.values[place % len(Sticker.State.values)]
        rows.append(shown(chat, "开心", state=state, reason=reason))
    names = [*funnel.STAGES, *funnel.DROPS, *map(funnel.download, funnel.DOWNLOADS)]
    FunnelCount.objects.bulk_create(
        FunnelCount(chat=chat, day=timezone.localdate(), name=name, times=1) for name in names
    )
    address = reverse("admin:stickers_sticker_funnel")
    page = opened(admin_client, *places(*rows, lists=(Sticker,)), address, reverse("admin:index"))
    codes = {*OF_STICKERS, *names, *funnel.DOWNLOADS, *Sticker.State.values}
    assert raw(page, codes) == set()

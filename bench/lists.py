"""The console's lists and its landing page over many rows: queries and milliseconds of each.

Makes chats, items, the Sent Log and what goes with them in the database itself, twice: as many as
asked for, and few. Then every list is asked for as a superuser and as somebody limited to one bot and
three chats: first page, second page, each choice of each filter alone, each column's order, searches
that find much and nothing. Prints each, the best of some tries, and then the slowest, and what takes longer than the goal
or more queries than over few rows.
"""

import re
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from bench import figures, house

GOAL_MS = 300
BOTS = 10
DAYS = 30
OF_A_TURN = 5
SEARCHES = ("words", "你好", "found nowhere", "Chat", "900012")
FEW = 200

# A tenth of all goes on in one busy chat; the first ten chats are all that bot 1 has.
CHAT = "(CASE WHEN {0} %% 10 = 0 THEN 2 ELSE 2 + ({0} * 7919) %% {chats} END)"
BOT = "(CASE WHEN {0} <= 11 THEN 1 ELSE 2 + {0} %% {bots} END)"


class Sizes(NamedTuple):
    """How many rows there are to be."""

    chats: int
    items: int
    sent: int

    @property
    def turns(self) -> int:
        return max(1, self.sent // OF_A_TURN)

    @property
    def decisions(self) -> int:
        return max(1, self.items // 4)


class Seen(NamedTuple):
    """What one request took."""

    who: str
    name: str
    status: int
    queries: int
    milliseconds: float


def copy(model: Any, count: int, **changed: str) -> None:
    """Copy a model's only row so often; `changed` has expressions of `n` (from 1) by column; the key
    is n + 1 unless said otherwise."""
    from django.db import connection  # noqa: PLC0415 - Django is set up by then

    changed = {"id": "n + 1", **changed}
    columns = [field.column for field in model._meta.concrete_fields]
    values = [changed.pop(column, f"t.{column}") for column in columns]
    assert not changed, changed
    table = model._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(values)}"  # noqa: S608
            f" FROM {table} t, generate_series(1, {count}) n"
            f" WHERE t.id = (SELECT min(id) FROM {table})".replace("%%", "%")
        )
        cursor.execute(
            f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}"  # noqa: S608
        )


def fill(sizes: Sizes) -> None:
    """Replace everything by so much."""
    from django.db import connection, transaction  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute(
            "TRUNCATE core_bot, stickers_picture, stickers_funnelcount,"
            " botgateway_refusedconnection, auditlog_logentry RESTART IDENTITY CASCADE"
        )
    with transaction.atomic():
        with connection.cursor() as cursor:
            # What refers to what is right by its making; proving it took as long as the rest.
            cursor.execute("SET LOCAL session_replication_role = replica")
        _talk(sizes)
        _besides(sizes)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def _when(of: int) -> str:
    return f"now() - interval '{DAYS} days' * (1 - n::float / {of})"


def _chat_of(group: str, sizes: Sizes) -> dict[str, str]:
    chat = CHAT.format(group, chats=sizes.chats)
    return {"chat_id": chat, "bot_id": BOT.format(chat, bots=BOTS)}


def _talk(sizes: Sizes) -> None:
    from core.models import (  # noqa: PLC0415
        Bot,
        Chat,
        Decision,
        InboundItem,
        OutboxEntry,
        SentMessage,
        Turn,
    )
    from tests import factories  # noqa: PLC0415

    bot = factories.make_bot("1000", name="Bench")
    chat = factories.make_chat(bot, title="Bench")
    item = factories.make_item(chat, "words")
    turn = factories.make_turn(chat, sends=OF_A_TURN)
    factories.make_decision([item], "skip")
    message = factories.make_sent(chat, "words", turn=turn)
    assert message.entry
    copy(Bot, BOTS, self_id="1000 + n")
    copy(
        Chat,
        sizes.chats,
        bot_id=BOT.format("(n + 1)", bots=BOTS),
        kind="CASE WHEN n % 4 = 0 THEN 'private' ELSE 'group' END",
        external_id="900000 + n",
        title="'Chat ' || md5(n::text)",
        enabled="n % 50 > 0",
        sticker_learning="n % 10 = 0",
        silence_reason="CASE WHEN n % 500 = 0 THEN 'muted' ELSE '' END",
        delivery_mode="CASE n % 1000 WHEN 1 THEN 'review' WHEN 2 THEN 'shadow' ELSE 'live' END",
        paused_at="CASE WHEN n % 2000 = 0 THEN now() END",
        turn_due_at="CASE WHEN n % 5000 = 0 THEN now() END",
        last_message_at=_when(sizes.chats),
        messages="n % 1000",
    )
    words = "'words 你好 ' || md5(n::text) || md5((n + 1)::text)"
    copy(
        Turn,
        sizes.turns,
        chat_id=_chat_of("n", sizes)["chat_id"],
        state="CASE n % 1000 WHEN 1 THEN 'failed' WHEN 2 THEN 'abandoned'"
        " WHEN 3 THEN 'silent' ELSE 'done' END",
        trigger="CASE n % 20 WHEN 1 THEN 'quote' WHEN 2 THEN 'private' ELSE 'mention' END",
        first_item_id="4 * n",
        last_item_id="4 * n + 3",
        prompt_tokens="1000 + n % 1000",
        started_at=_when(sizes.turns),
        ended_at=f"{_when(sizes.turns)} + interval '5 s'",
    )
    copy(
        InboundItem,
        sizes.items,
        **_chat_of("((n + 1) / 4)", sizes),
        kind="CASE n % 100 WHEN 1 THEN 'poke' WHEN 2 THEN 'reaction' ELSE 'message' END",
        platform_message_id="n::text",
        sender_id="30000 + n % 5000",
        text=words,
        trigger="CASE n % 20 WHEN 0 THEN 'mention' WHEN 1 THEN 'quote' ELSE '' END",
        from_self="n % 20000 = 0",
        is_old="n % 10000 = 0",
        received_at=_when(sizes.items),
        sent_at=_when(sizes.items),
        turn_id=f"CASE WHEN (n + 1) / 4 BETWEEN 2 AND {sizes.turns} THEN (n + 1) / 4 END",
    )
    copy(
        Decision,
        sizes.decisions,
        chat_id=_chat_of("(n + 1)", sizes)["chat_id"],
        verdict="CASE WHEN n % 5 = 0 THEN 'answer' ELSE 'skip' END",
        first_item_id="4 * (n + 1)",
        last_item_id="4 * (n + 1) + 3",
        turn_id=f"CASE WHEN n < {sizes.turns} THEN n + 1 END",
        created_at=_when(sizes.decisions),
    )
    turn_id = f"least({sizes.turns}, n / {OF_A_TURN} + 1)"
    of_chat = _chat_of(turn_id, sizes)
    copy(
        SentMessage,
        sizes.sent,
        chat_id=of_chat["chat_id"],
        turn_id=turn_id,
        handle="'m' || n",
        kind="CASE n % 100 WHEN 1 THEN 'sticker' WHEN 2 THEN 'voice' ELSE 'text' END",
        entry_id="n + 1",
        created_at=_when(sizes.sent),
    )
    copy(
        OutboxEntry,
        sizes.sent,
        **of_chat,
        message_id="n + 1",
        turn_id=turn_id,
        step_index="n",
        content=words,
        state=f"CASE WHEN n > {sizes.sent} - 20 THEN 'pending' WHEN n % 1000 = 1 THEN 'failed'"
        " WHEN n % 20000 = 2 THEN 'unknown' WHEN n % 300 = 3 THEN 'recalled' ELSE 'sent' END",
        held=f"CASE WHEN n > {sizes.sent} - 10 THEN 'review' ELSE '' END",
        platform_message_id="n::text",
        created_at=_when(sizes.sent),
        settled_at=f"CASE WHEN n <= {sizes.sent} - 20 THEN {_when(sizes.sent)}"
        " + interval '3 s' END",
    )


def _besides(sizes: Sizes) -> None:
    from auditlog.models import LogEntry  # noqa: PLC0415

    from botgateway.models import Connection, RefusedConnection  # noqa: PLC0415
    from core import chatsettings  # noqa: PLC0415
    from core.models import Chat, Member, ModelCallCount  # noqa: PLC0415
    from stickers.models import FunnelCount, Picture, Sticker  # noqa: PLC0415
    from tests import factories  # noqa: PLC0415
    from tests.stickers.showing import shown  # noqa: PLC0415

    chat = Chat.objects.get(pk=1)
    factories.make_member(chat)
    factories.make_connection(chat.bot)
    factories.make_refusal()
    shown(chat)
    LogEntry.objects.all().delete()
    chatsettings.apply(chat, chatsettings.Change({"patience_seconds": 77}, {}))
    day = "current_date - (n % 30)::int"
    ModelCallCount.objects.create(pk=1, chat=chat, day="2000-01-01", calls=5, tokens=5)
    FunnelCount.objects.create(pk=1, chat=chat, day="2000-01-01", name="seen", times=5)
    some = f"2 + (n * 7919) % {sizes.chats}"
    copy(ModelCallCount, sizes.chats, chat_id=some, day=day)
    copy(FunnelCount, sizes.chats, chat_id=some, day=day)
    copy(
        Member,
        3 * sizes.chats,
        chat_id=f"2 + n % {sizes.chats}",
        user_id="900000 + n",
        name="'Ann ' || n",
    )
    copy(Connection, FEW * 10, bot_id=f"2 + n % {BOTS}", closed_at="now()")
    copy(RefusedConnection, FEW * 10, self_id="n")
    copy(
        LogEntry,
        sizes.chats,
        id="t.id + n",
        additional_data=f"jsonb_build_object('bot', 2, 'chat', {some})",
    )
    copy(Picture, sizes.chats // 2, sha256="''")
    copy(Sticker, sizes.chats // 2, ref="'s' || n", picture_id="n + 1", chat_id=some)


def people() -> dict[str, Any]:
    """Clients of a superuser, and of somebody who may do all, in a few chats."""
    from django.contrib.auth.models import Permission, User  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415

    from core.models import Bot, Chat, PersonLimit  # noqa: PLC0415

    User.objects.all().delete()
    everywhere = User.objects.create_superuser("everywhere")
    limited = User.objects.create(username="limited", is_staff=True)
    limited.user_permissions.set(Permission.objects.all())
    limit = PersonLimit.objects.create(person=limited)
    limit.bots.set(Bot.objects.filter(self_id="1003"))
    limit.chats.set(Chat.objects.order_by("pk")[1:4])
    clients = {}
    for person in (everywhere, limited):
        clients[person.username] = Client()
        clients[person.username].force_login(person)
    return clients


def look(who: str, client: Any, name: str, url: str, tries: int) -> Iterator[Any]:
    """Ask for a page; yields what it took, then the answer."""
    from django.core.cache import cache  # noqa: PLC0415
    from django.db import connection, reset_queries  # noqa: PLC0415
    from django.test.utils import CaptureQueriesContext  # noqa: PLC0415

    took: list[float] = []
    answer, queries = None, 0
    for _ in range(tries):
        cache.clear()  # figures are shared for some seconds
        reset_queries()  # the log is bounded, and a full one counts nothing any more
        began = time.perf_counter()
        with CaptureQueriesContext(connection) as caught:
            answer = client.get(url)
        took.append(1000 * (time.perf_counter() - began))
        queries = len(caught)
    assert answer is not None
    yield Seen(who, name, answer.status_code, queries, min(took))
    yield answer


def _asked(name: str, listed: Any) -> dict[str, str]:
    """What else a list may be asked for: what it is called here, and its query."""
    asked = {f"{name}?p=2": "?p=2"} if listed.multi_page else {}
    for spec in listed.filter_specs:
        for choice in spec.choices(listed):
            query = choice.get("query_string", "?")
            if query != "?":
                # The days of a date filter are others each day.
                asked[f"{name}{re.sub(r'=20[^&]*', '=…', query)}"] = query
    for column, field in enumerate(listed.list_display):
        if field in listed.sortable_by and listed.get_ordering_field(field):
            asked |= {f"{name}?o={way}{column}": f"?o={way}{column}" for way in ("", "-")}
    if listed.search_fields:
        asked |= {f"{name}?q={q}": "?" + urlencode({"q": q}) for q in SEARCHES}
    return asked


def pages(who: str, client: Any, tries: int, only: Sequence[str] = ()) -> Iterator[Seen]:
    """Every list page and the landing page, for one person; `only` names models."""
    from django.contrib import admin  # noqa: PLC0415
    from django.urls import reverse  # noqa: PLC0415

    yield next(look(who, client, "landing page", reverse("admin:index"), tries))
    for model in admin.site._registry:
        name = model._meta.label_lower
        if only and name not in only:
            continue
        url = reverse(f"admin:{name.replace('.', '_')}_changelist")
        seen, answer = look(who, client, name, url, tries)
        yield seen
        if seen.status != 200:
            continue
        listed = answer.context["cl"]
        for told, query in _asked(name, listed).items():
            yield next(look(who, client, told, url + query, tries))


def measure(sizes: Sizes, tries: int, only: Sequence[str]) -> list[Seen]:
    """Fill the database and ask for everything."""
    began = time.monotonic()
    fill(sizes)
    print(f"{sizes}: filled in {time.monotonic() - began:.0f} s", flush=True)
    found = []
    for who, client in people().items():
        for seen in pages(who, client, tries, only):
            found.append(seen)
            print(tell(seen), flush=True)
    return found


def tell(seen: Seen) -> str:
    """One line of the report."""
    took = f"{seen.milliseconds:7.0f} ms {seen.queries:3} queries"
    return f"  {took} {seen.status} {seen.who:10} {seen.name}"


def main() -> None:
    parser = figures.parser("lists", __doc__)
    parser.add_argument("--chats", type=int, default=100_000)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--sent", type=int, default=1_000_000)
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=(), help="models, as core.turn")
    parser.add_argument("--goal", type=float, default=GOAL_MS, help="milliseconds")
    options = parser.parse_args()
    with house.services(fast=True):
        from django.test.utils import setup_test_environment  # noqa: PLC0415

        setup_test_environment()  # answers keep the context of their templates
        many = measure(
            Sizes(options.chats, options.items, options.sent), options.tries, options.only
        )
        few = measure(Sizes(FEW, FEW * 10, FEW * 10), 1, options.only)
        queries = {(seen.who, seen.name): seen.queries for seen in few}
    missed = [seen for seen in many if seen.milliseconds > options.goal]
    grown = [
        seen for seen in many if seen.queries > queries.get((seen.who, seen.name), seen.queries)
    ]
    middle = statistics.median(seen.milliseconds for seen in many)
    print(f"{len(many)} pages, median {middle:.0f} ms; more queries than over few: {len(grown)}")
    for title, found in (
        ("slowest", sorted(many, key=lambda seen: -seen.milliseconds)[:25]),
        ("longer than the goal", missed),
        ("more queries than over few", grown),
        ("not answered", [seen for seen in many if seen.status not in (200, 403)]),
    ):
        print(f"{title}:")
        for seen in found:
            print(tell(seen))
    if missed or grown:
        sys.exit(1)


if __name__ == "__main__":
    main()

"""What the model reads: the persona, and what was said as XML, inside a bound."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from django.template.loader import render_to_string

from core.models import Chat, InboundItem, OutboxEntry, SentMessage, Turn

EARLIER_ITEMS = 40
NEW_ITEMS = 100
MAX_CHARS = 24_000
ITEM_CHARS = 4_000  # of one item: escaped, five times as many at most
Message = dict[str, Any]
Line = tuple[datetime, str]

PLACEHOLDERS = {
    "image": "[图片]",
    "sticker": "[sticker]",
    "voice": "[语音]",
    "video": "[视频]",
    "forward": "[聊天记录]",
    "other": "[…]",
}
# What is read of an item: rows are wide, and a turn reads many.
TOLD = (
    "platform_message_id", "sender_id", "sender_name", "sent_at", "received_at", "reply_to", "parts",
)  # fmt: skip
UNTOLD = (OutboxEntry.State.FAILED, OutboxEntry.State.UNKNOWN, OutboxEntry.State.DISCARDED)


def assemble(chat: Chat, new: Sequence[InboundItem], *, now: datetime) -> list[Message]:
    """The chat-completions messages that a turn over `new` (at most NEW_ITEMS) begins with.

    Reads the database; writes nothing. The system message does not change from turn to turn, so
    that an endpoint's prompt cache can hold it.
    """
    first = new[0].pk
    items = InboundItem.objects.filter(chat=chat, pk__lt=first).only(*TOLD)
    before = list(items.order_by("-pk")[:EARLIER_ITEMS])
    own = _own_words(chat, since=min((item.received_at for item in before), default=None))
    first_at = new[0].received_at
    earlier = [*map(_item_line, before), *(line for line in own if line[0] <= first_at)]
    latest = [*map(_item_line, new), *(line for line in own if line[0] > first_at)]
    new_text = _join(latest, MAX_CHARS)
    return [
        {"role": "system", "content": _system(chat)},
        {
            "role": "user",
            "content": render_to_string(
                "prompts/context.txt",
                {
                    "kind": chat.kind,
                    "external_id": _attribute_text(chat.external_id),
                    "title": _attribute_text(chat.title),
                    "now": _time(now),
                    "earlier": _join(earlier, MAX_CHARS - len(new_text)),
                    "outcomes": "\n".join(_outcomes(chat)),
                    "new": new_text,
                },
            ),
        },
    ]


def _system(chat: Chat) -> str:
    bot = chat.bot
    return render_to_string(
        "prompts/system.txt",
        {"name": bot.name or bot.self_id, "self_id": bot.self_id, "persona": bot.persona.strip()},
    )


def _item_line(item: InboundItem) -> Line:
    attributes = [
        ("id", item.platform_message_id),
        ("sender", item.sender_id),
        ("name", item.sender_name),
        ("time", _time(item.sent_at)),
        ("reply_to", item.reply_to),
    ]
    said = "".join(_part_text(part) for part in item.parts)
    body = escape(said if len(said) <= ITEM_CHARS else said[: ITEM_CHARS - 1] + "…")
    return item.received_at, f"<message{_attributes(attributes)}>{body}</message>"


def _part_text(part: Message) -> str:
    data = part["data"]
    match part["type"]:
        case "text":
            return str(data["text"])
        case "mention":
            return "@all" if data["id"] == "all" else f"@user:{data['id']}"
        case "face":
            return f"@face:{data.get('id', '')}"
        case "file":
            return f"[文件: {data.get('name', '')}]"
        case kind:
            return PLACEHOLDERS.get(kind, PLACEHOLDERS["other"])


def _own_words(chat: Chat, since: datetime | None) -> list[Line]:
    messages = SentMessage.objects.filter(chat=chat).select_related("entry").order_by("-pk")
    messages = messages.only("handle", "content", "created_at", "entry__state", "entry__settled_at")
    if since is not None:
        messages = messages.filter(created_at__gte=since)
    return [_own_line(message) for message in messages[:EARLIER_ITEMS]]


def _own_line(message: SentMessage) -> Line:
    state, at = "", message.created_at
    if message.entry is not None:
        state, at = message.entry.state, message.entry.settled_at or message.created_at
    attributes = [("handle", message.handle), ("state", state), ("time", _time(at))]
    return at, f"<message{_attributes(attributes)}>{escape(message.content)}</message>"


def _outcomes(chat: Chat) -> Iterable[str]:
    """Words that did not arrive, as far as the last turn could not know it."""
    last_turn = Turn.objects.filter(chat=chat).exclude(state=Turn.State.RUNNING).first()
    if last_turn is None:
        return []
    entries = OutboxEntry.objects.filter(
        chat=chat, state__in=UNTOLD, settled_at__gte=last_turn.started_at
    ).select_related("message")
    return [
        f"<outcome{_attributes([('handle', entry.message.handle), ('state', entry.state), ('reason', entry.reason)])}/>"
        for entry in entries.order_by("pk")
        if entry.message is not None
    ]


def _attributes(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f" {name}={quoteattr(value)}" for name, value in pairs if value)


def _attribute_text(text: str) -> str:
    """A title on one line, with nothing that could pass for an element."""
    return escape(" ".join(text.split())).replace('"', "&quot;")


def _join(lines: Iterable[Line], bound: int) -> str:
    """Lines in the order of their times; the oldest are left out, so that `bound` is kept."""
    kept: list[str] = []
    left = bound
    for _, line in sorted(lines, key=lambda pair: pair[0], reverse=True):
        left -= len(line) + 1
        if left < 0:
            break
        kept.append(line)
    return "\n".join(reversed(kept))


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

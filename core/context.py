"""What the model reads: the persona, and what was said as XML, inside a bound."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from django.template.loader import render_to_string

from core import shadow
from core.models import Chat, InboundItem, OutboxEntry, SentMessage

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
    "kind", "platform_message_id", "sender_id", "sender_name", "sent_at", "received_at", "reply_to",
    "target_id", "emoji", "removed", "parts", "recalled_at",
)  # fmt: skip


def assemble(
    chat: Chat, new: Sequence[InboundItem], *, now: datetime, outcomes: str = ""
) -> list[Message]:
    """The chat-completions messages that a turn over `new` (at most NEW_ITEMS) begins with;
    `outcomes` are lines of what became of the bot's own words.

    Reads the database; writes nothing. The system message does not change from turn to turn, so
    that an endpoint's prompt cache can hold it.
    """
    first = new[0].pk
    items = InboundItem.objects.filter(chat=chat, pk__lt=first).only(*TOLD)
    before = list(items.order_by("-pk")[:EARLIER_ITEMS])[::-1]
    handles = _handles(chat, [*before, *new])
    own = _own_words(chat, since=min((item.received_at for item in before), default=None))
    first_at = new[0].received_at
    earlier = [_item_line(item, handles) for item in before]
    earlier += [line for line in own if line[0] <= first_at]
    latest = [_item_line(item, handles) for item in new]
    latest += [line for line in own if line[0] > first_at]
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
                    "outcomes": outcomes,
                    "new": new_text,
                },
            ),
        },
    ]


def news(outcomes: str) -> list[Message]:
    """What a running turn's next request tells besides the results of its calls."""
    content = render_to_string("prompts/news.txt", {"outcomes": outcomes})
    return [{"role": "user", "content": content}]


Section = Callable[[Chat], str]
_sections: list[Section] = []


def register_section(section: Section) -> Section:
    """Add what an app tells of a chat in the system message (usable as a decorator); empty: nothing.
    It should stay the same from turn to turn."""
    _sections.append(section)
    return section


def _system(chat: Chat) -> str:
    bot = chat.bot
    told = [section(chat).strip() for section in _sections]
    return render_to_string(
        "prompts/system.txt",
        {
            "name": bot.name or bot.self_id,
            "self_id": bot.self_id,
            "persona": bot.persona.strip(),
            "sections": [one for one in told if one],
        },
    )


def _handles(chat: Chat, items: Sequence[InboundItem]) -> dict[str, str]:
    """The handles of the bot's own messages that items quote or react to, by the platform's ids."""
    named = {
        item.reply_to or item.target_id for item in items if item.kind != InboundItem.Kind.POKE
    }
    entries = OutboxEntry.objects.filter(
        chat=chat, platform_message_id__in=named - {""}, message__isnull=False
    )
    return dict(entries.order_by("pk").values_list("platform_message_id", "message__handle"))


def _item_line(item: InboundItem, handles: Mapping[str, str]) -> Line:
    if item.kind == InboundItem.Kind.POKE:
        return item.received_at, _poke(item)
    if item.kind == InboundItem.Kind.REACTION:
        return item.received_at, _reaction(item, handles)
    attributes = [
        ("id", item.platform_message_id),
        ("sender", item.sender_id),
        ("name", item.sender_name),
        ("time", _time(item.sent_at)),
        ("reply_to", item.reply_to),
        ("reply_to_handle", handles.get(item.reply_to, "")),
    ]
    if item.recalled_at is not None:
        # Who took it back does not want it to be read, and it does not answer anything.
        return item.received_at, f'<message{_attributes(attributes)} recalled="true"/>'
    said = "".join(_part_text(part) for part in item.parts)
    body = escape(said if len(said) <= ITEM_CHARS else said[: ITEM_CHARS - 1] + "…")
    return item.received_at, f"<message{_attributes(attributes)}>{body}</message>"


def _poke(item: InboundItem) -> str:
    attributes = [
        ("sender", item.sender_id),
        ("name", item.sender_name),
        ("target", item.target_id),
        ("time", _time(item.sent_at)),
    ]
    return f"<poke{_attributes(attributes)}/>"


def _reaction(item: InboundItem, handles: Mapping[str, str]) -> str:
    """An element an emoji: one frame may tell of several."""
    after = [
        ("target", item.target_id),
        ("handle", handles.get(item.target_id, "")),
        ("time", _time(item.sent_at)),
        ("removed", "true" if item.removed else ""),
    ]
    who = [("sender", item.sender_id), ("name", item.sender_name)]
    return "".join(
        f"<reaction{_attributes([*who, ('emoji', emoji), *after])}/>" for emoji in item.emoji
    )


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
    told = (
        "handle", "created_at", "entry__content", "entry__state", "entry__reason",
        "entry__settled_at",
    )  # fmt: skip
    messages = messages.only(*told)
    if since is not None:
        messages = messages.filter(created_at__gte=since)
    latest = list(messages[:EARLIER_ITEMS])[::-1]
    there = shadow.imagined(latest) if shadow.is_on(chat) else {}
    return [_own_line(message, there.get(message.pk)) for message in latest]


def _own_line(message: SentMessage, there: shadow.Imagined | None) -> Line:
    """One of the bot's own messages; `there` is how it stands in the shadow conversation."""
    state, at, content = "", message.created_at, ""
    if message.entry is not None:
        state, content = message.entry.state, message.entry.content
        at = message.entry.settled_at or message.created_at
    if there is not None:
        state = OutboxEntry.State.RECALLED if there.is_recalled else OutboxEntry.State.SENT
        content = content if there.content is None else there.content
    attributes = [("handle", message.handle), ("state", state), ("time", _time(at))]
    return at, f"<message{_attributes(attributes)}>{escape(content)}</message>"


def _attributes(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f" {name}={quoteattr(value)}" for name, value in pairs if value)


def _attribute_text(text: str) -> str:
    """A title on one line, with nothing that could pass for an element."""
    return escape(" ".join(text.split())).replace('"', "&quot;")


def _join(lines: Iterable[Line], bound: int) -> str:
    """Lines in the order of their times; the oldest are left out, so that `bound` is kept."""
    kept: list[str] = []
    left = bound
    for _, line in sorted(lines, key=lambda pair: pair[0])[::-1]:
        left -= len(line) + 1
        if left < 0:
            break
        kept.append(line)
    return "\n".join(reversed(kept))


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

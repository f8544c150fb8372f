"""What the model reads: the persona, and what was said as XML, inside a bound."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from django.template.loader import render_to_string

from core import shadow, showing, text
from core.media import references
from core.models import Chat, InboundItem, OutboxEntry, SentMessage

EARLIER_ITEMS = 40
NEW_ITEMS = 100
MAX_CHARS = 24_000
ITEM_CHARS = 4_000  # of one item: escaped, five times as many at most
DESCRIPTION_CHARS = 200
Message = dict[str, Any]


class Line(NamedTuple):
    """One line of what is told, with the pictures that belong to it."""

    at: datetime
    text: str
    pictures: Sequence["Picture"] = ()


class Picture(NamedTuple):
    """A picture that the model is shown: the name that it has in its line, whose it is, its digest."""

    name: str
    message: str
    sha256: str


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
    media = _media(chat, [*before, *new])
    own = _own_words(chat, since=min((item.received_at for item in before), default=None))
    first_at = new[0].received_at
    earlier = [_item_line(item, handles, media) for item in before]
    earlier += [line for line in own if line.at <= first_at]
    latest = [_item_line(item, handles, media) for item in new]
    latest += [line for line in own if line.at > first_at]
    latest = _bounded(latest, MAX_CHARS)
    new_text = _joined(latest)
    earlier = _bounded(earlier, MAX_CHARS - len(new_text))
    words = render_to_string(
        "prompts/context.txt",
        {
            "kind": chat.kind,
            "external_id": _attribute_text(chat.external_id),
            "title": _attribute_text(chat.title),
            "now": _time(now),
            "earlier": _joined(earlier),
            "outcomes": outcomes,
            "new": new_text,
        },
    )
    shown = [picture for line in (*earlier, *latest) for picture in line.pictures]
    return [
        {"role": "system", "content": system(chat)},
        {"role": "user", "content": _with_pictures(words, shown)},
    ]


def _with_pictures(words: str, shown: Sequence[Picture]) -> str | list[Message]:
    """The words alone where there is no picture; else each picture follows behind its name."""
    if not shown:
        return words
    content: list[Message] = [{"type": "text", "text": words}]
    for picture in shown:
        named = render_to_string(
            "prompts/picture.txt", {"name": picture.name, "message": picture.message}
        )
        content += [{"type": "text", "text": named}, references.part(picture.sha256)]
    return content


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


Describer = Callable[[Chat, Sequence[Message]], Mapping[str, str]]
_describers: dict[str, Describer] = {}


def register_describer(kind: str, describer: Describer) -> Describer:
    """Set who says in words what the pictures (`image`) or stickers (`sticker`) of a context are.

    It is given the chat and the parts of that kind, once a context that has any, and answers by
    their ids; one query is what it may cost. Whatever it does not know stays a bare placeholder.
    Of stickers it is asked once more for those that the bot sent, and answers by their refs.
    """
    _describers[kind] = describer
    return describer


@dataclass(frozen=True, slots=True)
class Media:
    """What stands for the pictures and stickers of a context: the views that are shown, their
    numbers in the order of the talk, and descriptions by kind and id."""

    views: Mapping[tuple[int, int], str]
    numbers: Mapping[tuple[int, int], int]
    descriptions: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def name(self, item: InboundItem, index: int) -> str:
        """What stands in a line: `[图片]`, `[图片 1]`, `[sticker: …]` or `[sticker 2: …]`."""
        part = item.parts[index]
        kind = part["type"]
        number = self.numbers.get((item.pk, index))
        told = self.descriptions.get((kind, str(part["data"].get("id", ""))), "")
        name = PLACEHOLDERS[kind].strip("[]") + (f" {number}" if number else "")
        return f"[{name}: {told}]" if told else f"[{name}]"


def _media(chat: Chat, items: Sequence[InboundItem]) -> Media:
    views = showing.views(chat, items)
    numbers = {key: number for number, key in enumerate(views, 1)}
    descriptions: dict[tuple[str, str], str] = {}
    for kind, describer in _describers.items():
        parts = [place.part for place in showing.places(items, [kind])]
        if parts:
            told = describer(chat, parts)
            descriptions |= {
                (kind, name): text.one_line(words, DESCRIPTION_CHARS)
                for name, words in told.items()
            }
    return Media(views, numbers, descriptions)


def system(chat: Chat) -> str:
    """The system message of a chat as it stands now."""
    bot = chat.bot
    told = [section(chat).strip() for section in _sections]
    return render_to_string(
        "prompts/system.txt",
        {
            "name": bot.name or bot.self_id,
            "self_id": bot.self_id,
            "persona": chat.persona,
            "sections": [one for one in told if one],
            "sees": bool(showing.kinds(chat)),
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


def _item_line(item: InboundItem, handles: Mapping[str, str], media: Media) -> Line:
    if item.kind == InboundItem.Kind.POKE:
        return Line(item.received_at, _poke(item))
    if item.kind == InboundItem.Kind.REACTION:
        return Line(item.received_at, _reaction(item, handles))
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
        return Line(item.received_at, f'<message{_attributes(attributes)} recalled="true"/>')
    said = "".join(_part_text(item, index, media) for index in range(len(item.parts)))
    body = escape(said if len(said) <= ITEM_CHARS else said[: ITEM_CHARS - 1] + "…")
    line = f"<message{_attributes(attributes)}>{body}</message>"
    return Line(
        item.received_at, line, _pictures(item, f"<message{_attributes(attributes[:4])}>", media)
    )


def _pictures(item: InboundItem, message: str, media: Media) -> Sequence[Picture]:
    return [
        Picture(escape(media.name(item, index)), message, view)
        for (key, index), view in media.views.items()
        if key == item.pk
    ]


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


def _part_text(item: InboundItem, index: int, media: Media) -> str:
    part = item.parts[index]
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
        case "image" | "sticker":
            return media.name(item, index)
        case kind:
            return PLACEHOLDERS.get(kind, PLACEHOLDERS["other"])


def _own_words(chat: Chat, since: datetime | None) -> list[Line]:
    messages = SentMessage.objects.filter(chat=chat).select_related("entry").order_by("-pk")
    told = (
        "handle", "kind", "created_at", "entry__content", "entry__parts", "entry__state",
        "entry__reason", "entry__settled_at",
    )  # fmt: skip
    messages = messages.only(*told)
    if since is not None:
        messages = messages.filter(created_at__gte=since)
    latest = list(messages[:EARLIER_ITEMS])[::-1]
    there = shadow.imagined(latest) if shadow.is_on(chat) else {}
    stickers = _own_stickers(chat, latest)
    return [_own_line(message, there.get(message.pk), stickers) for message in latest]


def _own_stickers(chat: Chat, messages: Sequence[SentMessage]) -> Mapping[int, str]:
    """What stands for each message that is a sticker, by its key. Where words went out in its place,
    it is none any more."""
    sent = {
        message.pk: part
        for message in messages
        if message.kind == SentMessage.Kind.STICKER and message.entry is not None
        for part in message.entry.parts
        if part["type"] == "sticker"
    }
    describer = _describers.get("sticker")
    known = describer(chat, list(sent.values())) if describer and sent else {}
    told = {pk: known.get(str(part["data"].get("ref", "")), "") for pk, part in sent.items()}
    return {
        pk: f"[sticker: {text.one_line(words, DESCRIPTION_CHARS)}]" if words else "[sticker]"
        for pk, words in told.items()
    }


def _own_line(
    message: SentMessage, there: shadow.Imagined | None, stickers: Mapping[int, str]
) -> Line:
    """One of the bot's own messages; `there` is how it stands in the shadow conversation."""
    state, at, content = "", message.created_at, ""
    if message.entry is not None:
        state, content = message.entry.state, message.entry.content
        at = message.entry.settled_at or message.created_at
    if there is not None:
        state = OutboxEntry.State.RECALLED if there.is_recalled else OutboxEntry.State.SENT
        content = content if there.content is None else there.content
    content = stickers.get(message.pk, content)
    attributes = [("handle", message.handle), ("state", state), ("time", _time(at))]
    return Line(at, f"<message{_attributes(attributes)}>{escape(content)}</message>")


def _attributes(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f" {name}={quoteattr(value)}" for name, value in pairs if value)


def _attribute_text(text: str) -> str:
    """A title on one line, with nothing that could pass for an element."""
    return escape(" ".join(text.split())).replace('"', "&quot;")


def _bounded(lines: Iterable[Line], bound: int) -> list[Line]:
    """Lines in the order of their times; the oldest are left out, so that `bound` is kept."""
    kept: list[Line] = []
    left = bound
    for line in sorted(lines, key=lambda line: line.at)[::-1]:
        left -= len(line.text) + 1
        if left < 0:
            break
        kept.append(line)
    return kept[::-1]


def _joined(lines: Iterable[Line]) -> str:
    return "\n".join(line.text for line in lines)


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

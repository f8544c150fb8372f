"""`forget_sticker`: a member's wish that a sticker be forgotten, told by quoting a message with it.

Without a quote in what the turn is about, no model can take anything away, whatever it was talked
into.
"""

from collections.abc import Sequence

from django.db.models import Q
from pydantic import Field

from core.capabilities import Effective
from core.errors import ToolRefusal
from core.models import Chat, InboundItem, ItemMedia, OutboxEntry, Turn
from core.stickers import KIND, OF_STICKER
from core.toolcalls import ToolContext
from core.tools.registry import Arguments, Identifier, Tool, ToolResult, register
from stickers.models import Picture, Sticker
from stickers.takedown import take_down

REASON = "member_wish"
_THERE = (Sticker.State.STORED, Sticker.State.REVIEW)


class ForgetSticker(Arguments):
    message_id: Identifier = Field(
        description="The id of the message with the sticker, or its handle where it is your own; "
        "whoever wants it forgotten quotes it."
    )


def forget_sticker(context: ToolContext, arguments: ForgetSticker) -> ToolResult:
    """Take down the stickers of a message that somebody quotes in what this turn is about."""
    chat = context.chat
    message_id = _platform_id(chat, arguments.message_id)
    if not message_id or message_id not in _quoted(chat):
        raise ToolRefusal(
            "not_quoted",
            "Nobody quotes that message now; whoever wants its sticker forgotten has to quote it. "
            "Nothing was done.",
        )
    pictures = _pictures(chat, [message_id])
    if not pictures:
        raise ToolRefusal(
            "unknown_sticker", "That message has no sticker that is kept here; nothing was done."
        )
    if Sticker.objects.filter(picture__in=pictures, chat=None).exists():
        raise ToolRefusal(
            "catalogue_sticker",
            "It is one of the operators' own, which an operator alone can take down; nothing was "
            "done.",
        )
    for picture in pictures:
        take_down(picture, reason=REASON)
    return ToolResult({"forgotten": len(pictures)})


def _quoted(chat: Chat) -> set[str]:
    """The ids that the messages quote which the chat's turn is about: the running one's, or those
    that the next one will be about."""
    items = InboundItem.objects.filter(
        chat=chat.pk, kind=InboundItem.Kind.MESSAGE, recalled_at__isnull=True
    )
    running = Turn.objects.filter(chat=chat.pk, state=Turn.State.RUNNING).order_by("-pk")
    turn = running.only("first_item_id", "last_item_id").first()
    if turn is None:
        items = items.filter(pk__gt=chat.judged_item_id)
    else:
        items = items.filter(pk__range=(turn.first_item_id, turn.last_item_id))
    return set(items.exclude(reply_to="").values_list("reply_to", flat=True))


def _platform_id(chat: Chat, reference: str) -> str:
    """The platform's id of a message that is named by it, or by the handle of one of the bot's own."""
    own = OutboxEntry.objects.filter(chat=chat, current_of__handle=reference).first()
    return own.platform_message_id if own else reference


def _pictures(chat: Chat, message_ids: Sequence[str]) -> list[Picture]:
    """The pictures of these messages that the chat has as stickers, its own or the catalogue's."""
    items = InboundItem.objects.filter(chat=chat, platform_message_id__in=message_ids)
    said = items.filter(parts__contains=OF_STICKER).values_list("pk", "parts")
    keys = {
        str(part["data"]["id"])
        for _, parts in said
        for part in parts
        if part["type"] == KIND and part["data"].get("id")
    }
    fetched = ItemMedia.objects.filter(item__in=[pk for pk, _ in said]).exclude(sha256="")
    keys |= {f"sha256:{digest}" for digest in fetched.values_list("sha256", flat=True)}
    entries = OutboxEntry.objects.filter(chat=chat, platform_message_id__in=message_ids)
    sent = entries.filter(parts__contains=OF_STICKER).values_list("parts", flat=True)
    refs = [part["data"]["ref"] for parts in sent for part in parts if part["type"] == KIND]
    if not keys and not refs:
        return []
    known = Q(keys__key__in=keys) & (Q(keys__chat=None) | Q(keys__chat=chat))
    here = Sticker.objects.filter(Q(chat=chat) | Q(chat=None), state__in=_THERE)
    found = Picture.objects.filter(known | Q(stickers__ref__in=refs), stickers__in=here)
    return list(found.distinct().order_by("pk"))


def fitted(chat: Chat, _effective: Effective) -> Tool | None:
    """The tool where somebody quotes, right now, a message with a sticker that the chat has."""
    quoted = _quoted(chat)
    return FORGET_STICKER if quoted and _pictures(chat, sorted(quoted)) else None


FORGET_STICKER = Tool(
    name="forget_sticker",
    description="Forget a sticker for good, everywhere, because somebody who quotes a message with "
    "it wants that.",
    arguments=ForgetSticker,
    apply=forget_sticker,
    fit=fitted,
)


def load() -> None:
    """Register the tool; called once, when the app is ready."""
    register(FORGET_STICKER)

"""A chat that learns, and what people send there, for tests of learning."""

import base64
import itertools
from typing import Any

from django.utils import timezone

from core import budgets, capabilities
from core.capabilities import Ability, Platform
from core.messages import ChatAddress, Part, PlatformId, ReceivedItem
from core.models import Bot, Chat, InboundItem
from stickers import funnel, learning, recognition
from stickers.models import FunnelCount, OpenSighting
from tests.factories import make_chat, make_item
from tests.fakes.model import Script
from tests.stickers import drawing

ABLE = Platform({"sticker": Ability(True)})
UNABLE = Platform({"sticker": Ability(False, "it can't")})
GOOD: dict[str, Any] = {"meaning": "I am so embarrassed that I can't look", "sensitive": False}
_numbers = itertools.count(1)


def platform_can(platform: Platform = ABLE) -> capabilities.Probe:
    """A host's probe that says the same of every chat."""
    return lambda chat: platform


def learning_chat(bot: Bot | None = None, **fields: Any) -> Chat:
    """A chat whose operator has switched learning on."""
    return make_chat(bot, **{"sticker_learning": True, **fields})


def part(
    content: bytes, *, stable_id: str | None = None, kind: str = "sticker", **data: Any
) -> Any:
    """A part with these bytes; named as the platform names it unless told otherwise ("": no name)."""
    name = drawing.md5_of(content) if stable_id is None else stable_id
    told = {"file": "base64://" + base64.b64encode(content).decode(), **data}
    return {"type": kind, "data": told | ({"id": name} if name else {})}


def shown(chat: Chat, content: bytes, **more: Any) -> InboundItem:
    """An item of the chat that is a sticker, as if it had come in and passed the gates."""
    item = make_item(chat, "", parts=[part(content, **more)])
    OpenSighting.objects.create(chat=chat, item=item, index=0, day=budgets.today())
    return item


def learn(chat: Chat, content: bytes, **more: Any) -> bool:
    """Somebody shows a sticker, and a task learns it."""
    return learning.learn(shown(chat, content, **more).pk, 0)


def received(chat: Chat, *parts: Any, **fields: Any) -> ReceivedItem:
    """The same as it comes in from the platform."""
    now = timezone.now()
    made: dict[str, Any] = {
        "bot_id": chat.bot_id,
        "chat": ChatAddress("group", PlatformId(chat.external_id)),
        "kind": "message",
        "sender_id": "30001",
        "sender_name": "Ann",
        "sent_at": now,
        "received_at": now,
        "message_id": PlatformId(str(next(_numbers))),
        "parts": tuple(Part(one["type"], one["data"]) for one in parts),
    }
    return ReceivedItem(**{**made, **fields})


def answers(script: Script, told: Any = None, *, tool: str = recognition.TOOL_NAME) -> None:
    """The next model call is answered with these arguments (text as it is), or well."""
    script.reply(None, [(tool, GOOD if told is None else told)])


def counted(chat: Chat) -> dict[str, int]:
    """The chat's funnel."""
    rows = FunnelCount.objects.filter(chat=chat)
    return dict(rows.values_list("name", "times"))


def ended(chat: Chat) -> dict[str, int]:
    """What became of stickers that were paid for or reused."""
    names = (
        funnel.PAID, funnel.STORED, funnel.REUSED, funnel.SENSITIVE, funnel.VETOED, funnel.FAILED,
        funnel.LOST,
    )  # fmt: skip
    return {name: times for name, times in counted(chat).items() if name in names}

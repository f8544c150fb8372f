"""What is kept: bots and chats, what came in, turns and their steps, what goes out."""

from core.models.bots import Bot
from core.models.chats import CapabilitySetting, Chat, DeliveryMode, Member
from core.models.inbound import Decision, InboundItem, InboundKey
from core.models.media import ItemMedia, StoredMedia
from core.models.outbox import OutboxEntry, SentMessage
from core.models.people import PersonLimit
from core.models.turns import ModelCallCount, ToolCall, Turn, TurnRerun, TurnStep

__all__ = [
    "Bot",
    "CapabilitySetting",
    "Chat",
    "Decision",
    "DeliveryMode",
    "InboundItem",
    "InboundKey",
    "ItemMedia",
    "Member",
    "ModelCallCount",
    "OutboxEntry",
    "PersonLimit",
    "SentMessage",
    "StoredMedia",
    "ToolCall",
    "Turn",
    "TurnRerun",
    "TurnStep",
]

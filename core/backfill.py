"""Gaps in what is stored of a group: what its own sequence says was said and nobody stored."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from core.messages import PlatformId
from core.models import Chat, InboundItem

RECENT = timedelta(days=2)
MOST_CHATS = 50
MOST_KNOWN = 300


@dataclass(frozen=True, slots=True)
class Gap:
    """A group whose history may have more: sequences that are not `known` among or above those
    that are. Below `oldest` nothing is looked for: it was said before, or is stored."""

    group_id: PlatformId
    known: frozenset[int]

    @property
    def oldest(self) -> int:
        return min(self.known)

    @property
    def newest(self) -> int:
        return max(self.known)


def candidates(bot_id: int) -> list[Gap]:
    """The bot's groups in which somebody spoke lately, those of the newest words first, as far as
    their platform tells sequences. What was said before anything was stored is no gap."""
    chats = Chat.objects.filter(
        bot=bot_id,
        kind=Chat.Kind.GROUP,
        enabled=True,
        last_message_at__gte=timezone.now() - RECENT,
    ).order_by("-last_message_at")[:MOST_CHATS]
    return [gap for chat in chats if (gap := _gap(chat)) is not None]


def _gap(chat: Chat) -> Gap | None:
    known = _sequences(
        InboundItem.objects.filter(chat=chat)
        .order_by("-pk")
        .values_list("platform_sequence", flat=True)[:MOST_KNOWN]
    )
    if not known:
        return None
    group_id = PlatformId(chat.external_id, chat.external_id_is_number)
    return Gap(group_id, frozenset(known))


def _sequences(told: Iterable[str]) -> set[int]:
    return {int(one) for one in told if one.isdecimal() and len(one) <= 18}

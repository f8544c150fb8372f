"""What is told of a chat and is no item of it, and who takes it in; the chat's row is locked."""

from datetime import datetime

from core import members, recalls, standing
from core.messages import BotNews, MemberList, MemberNews, News, Recalled
from core.models import Chat


def apply(chat: Chat, news: News, *, now: datetime) -> bool:
    """Take in one piece of news; returns whether the chat became due by it."""
    match news:
        case Recalled():
            return recalls.apply(chat, news, now=now)
        case BotNews():
            standing.apply(chat, news, now=now)
        case MemberNews() if chat.enabled:
            members.apply(chat, news, now=now)
        case MemberList() if chat.enabled:
            members.apply_list(chat, news, now=now)
        case _:
            pass  # in a chat that is switched off nobody is kept
    return False

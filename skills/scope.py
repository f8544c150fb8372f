"""Which skills a chat has."""

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Collate

from core.models import Chat
from skills.models import Skill


def of(chat: Chat) -> QuerySet[Skill]:
    """The enabled skills that are for this chat, by name in an order that no locale changes."""
    of_bot = Skill.bots.through.objects.filter(skill_id=OuterRef("pk"), bot_id=chat.bot_id)
    of_chat = Skill.chats.through.objects.filter(skill_id=OuterRef("pk"), chat_id=chat.pk)
    chosen = Q(for_all_chats=True) | Exists(of_bot) | Exists(of_chat)
    return Skill.objects.filter(chosen, enabled=True).order_by(Collate("name", "C"))

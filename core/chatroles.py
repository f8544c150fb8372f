"""The bot's own role in a chat, as the platform tells it."""

from core.models import Chat


def keep(bot_id: int, group_id: str, role: str) -> bool:
    """Keep the bot's role (owner, admin or member) in a group; False where the group is not known."""
    group = Chat.objects.filter(bot=bot_id, kind=Chat.Kind.GROUP, external_id=group_id)
    return bool(group.update(bot_role=role[:20]))

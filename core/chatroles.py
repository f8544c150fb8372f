"""The bot's own role in a chat, as the platform tells it."""

from core.models import Chat


def keep(bot_id: int, group_id: str, role: str) -> None:
    """Keep the bot's role (owner, admin or member) in a group, where the group is known."""
    Chat.objects.filter(bot=bot_id, kind=Chat.Kind.GROUP, external_id=group_id).exclude(
        bot_role=role[:20]
    ).update(bot_role=role[:20])

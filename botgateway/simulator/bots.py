"""The invented bot that `simulate` connects as when it is given none."""

import hashlib
import secrets

from core.models import Bot

SELF_ID = "1000"
"""Real accounts have numbers from 10000 up, so this one can be nobody's."""


def provide() -> tuple[Bot, str]:
    """The invented bot, made at first use, and a fresh token that only the caller knows."""
    token = secrets.token_urlsafe(32)
    token_hash = hashlib.sha256(token.encode()).hexdigest()
    bot, created = Bot.objects.get_or_create(
        self_id=SELF_ID, defaults={"name": "Simulator", "token_hash": token_hash}
    )
    if not created:
        bot.token_hash = token_hash
        bot.save(update_fields=["token_hash"])
    return bot, token

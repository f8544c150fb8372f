"""Hints to the gateway that an Outbox has something due. Lost ones are made good by its own look
at the table once a second, so a failure here is only logged."""

import functools
import logging

import redis
from django.conf import settings

logger = logging.getLogger(__name__)
CHANNEL = "arise:outbox"


@functools.cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2)


def outbox(bot_id: int) -> None:
    """Tell every gateway process that this bot's Outbox changed; call it after the commit."""
    try:
        _client().publish(CHANNEL, str(bot_id))
    except redis.RedisError as error:
        logger.warning("the gateway could not be woken, it will look by itself: %s", error)

"""The console's pages of core's models; Django finds and registers them by this package's name."""

from core.admin import bots, chats, inbound, outbox, sentlog, turns

__all__ = ["bots", "chats", "inbound", "outbox", "sentlog", "turns"]

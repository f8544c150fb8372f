"""The console's pages of stickers; Django finds and registers them by this package's name."""

from stickers.admin import chats, gallery, reviewing

__all__ = ["chats", "gallery", "reviewing"]

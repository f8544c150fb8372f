"""Learned stickers and the operators' catalogue."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from core.models import Chat


class Sticker(models.Model):
    """A sticker with its meaning: learned in one chat, or in the catalogue of all."""

    chat = models.ForeignKey(
        Chat,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="stickers",
        verbose_name=_("chat"),
        help_text=_("Where it was learned; empty: in the catalogue, usable in every chat."),
    )
    file_id = models.CharField(
        _("stable id"), max_length=128, help_text=_("`mface:…` or `md5:…`, in lower case.")
    )
    meaning = models.TextField(_("meaning"), help_text=_("What one says with it."))
    times_sent = models.PositiveIntegerField(_("times sent"), default=0)
    learned_at = models.DateTimeField(_("learned"), auto_now_add=True)

    class Meta:
        verbose_name = _("sticker")
        verbose_name_plural = _("stickers")
        constraints = [
            models.UniqueConstraint(
                fields=("chat", "file_id"), name="sticker_once_per_chat", nulls_distinct=False
            ),
        ]

    def __str__(self) -> str:
        return self.meaning[:40]

"""People who work in the console, as far as core has to know them."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from core.models.bots import Bot
from core.models.chats import Chat


class PersonLimit(models.Model):
    """A person who sees and does something in chosen bots and chats alone; no row: in all of them.

    What it means for rows of a model is told in core.reach; superusers are never limited.
    """

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        related_name="limit",
        limit_choices_to={"is_superuser": False},
        verbose_name=_("person"),
        help_text=_("A superuser is never limited."),
    )
    bots = models.ManyToManyField(
        Bot,
        blank=True,
        related_name="+",
        verbose_name=_("bots"),
        help_text=_("These, with all of their chats."),
    )
    chats = models.ManyToManyField(
        Chat,
        blank=True,
        related_name="+",
        verbose_name=_("chats"),
        help_text=_("And these. With neither bots nor chats the person sees nothing."),
    )

    class Meta:
        verbose_name = _("limit of a person")
        verbose_name_plural = _("limits of people")

    def __str__(self) -> str:
        return str(self.person)

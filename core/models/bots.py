"""Bots: accounts on the platform."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Bot(models.Model):
    """One account on the platform, with its token, persona and model."""

    self_id = models.CharField(
        _("account"),
        max_length=64,
        unique=True,
        help_text=_("The account's id on the platform (its QQ number)."),
    )
    name = models.CharField(
        _("name"), max_length=100, blank=True, help_text=_("How people call the bot.")
    )
    enabled = models.BooleanField(
        _("enabled"),
        default=True,
        help_text=_("Off: its connection is refused and it neither reads nor speaks."),
    )
    persona = models.TextField(
        _("persona"),
        blank=True,
        help_text=_("Who the bot is and how it talks; the model reads it before each turn."),
    )
    chat_model = models.CharField(
        _("chat model"),
        max_length=200,
        blank=True,
        help_text=_("Model name at the endpoint; empty: ARISE_CHAT_MODEL."),
    )
    new_group_chats_enabled = models.BooleanField(
        _("new groups are enabled"), default=True, help_text=_("What a new group starts as.")
    )
    new_private_chats_enabled = models.BooleanField(
        _("new private chats are enabled"),
        default=True,
        help_text=_("What a new private chat starts as."),
    )
    token_hash = models.CharField(
        _("token hash"),
        max_length=64,
        blank=True,
        editable=False,
        help_text=_("SHA-256 of the access token in hex; the token itself is shown once only."),
    )
    connection_number = models.BigIntegerField(
        default=0,
        editable=False,
        help_text=_("The live connection that sends for it; only this one may claim its Outbox."),
    )
    platform = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text=_("What the gateway knows of its implementation; core never reads it."),
    )
    is_logged_out = models.BooleanField(
        _("logged out"),
        default=False,
        editable=False,
        help_text=_("The platform has logged the account out: it can't speak anywhere."),
    )
    paused_at = models.DateTimeField(
        _("paused since"),
        null=True,
        editable=False,
        help_text=_("While it is paused nothing leaves in any chat, and no model call is paid."),
    )
    paused_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        editable=False,
        related_name="+",
        verbose_name=_("paused by"),
    )
    pause_reason = models.CharField(
        _("why it is paused"), max_length=200, blank=True, editable=False
    )
    is_playground = models.BooleanField(
        _("playground"),
        default=False,
        editable=False,
        help_text=_("An invented account, for one operator to try the bot with invented people."),
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("bot")
        verbose_name_plural = _("bots")
        ordering = ("self_id",)

    def __str__(self) -> str:
        return f"{self.name} ({self.self_id})" if self.name else self.self_id

    def enables_new(self, kind: str) -> bool:
        """Whether a new chat of that kind (`Chat.Kind`) begins as enabled."""
        return self.new_group_chats_enabled if kind == "group" else self.new_private_chats_enabled

    def get_additional_data(self) -> dict[str, int]:
        """By what the audit of changes is found and narrowed; django-auditlog calls it."""
        return {"bot": self.pk}

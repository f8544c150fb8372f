"""What people said and did, stored once before anything acts on it, and what was decided about it."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from core.models.bots import Bot
from core.models.chats import Chat
from core.models.turns import Trigger, Turn


class InboundKey(models.Model):
    """The identity of something that came in: a digest, so that redelivery finds it again.

    A table of its own, so that items can be partitioned and dropped while keys stay unique.
    """

    key = models.BinaryField(primary_key=True, max_length=32)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=("created_at",), name="inbound_key_age")]

    def __str__(self) -> str:
        return bytes(self.key).hex()


class Decision(models.Model):
    """The gate's answer to what a chat had gathered, one row each time it was asked."""

    class Verdict(models.TextChoices):
        ANSWER = "answer", _("answer")
        SKIP = "skip", _("skip")

    chat = models.ForeignKey(Chat, models.CASCADE, related_name="decisions", verbose_name=_("chat"))
    verdict = models.CharField(_("verdict"), max_length=10, choices=Verdict.choices)
    reason = models.CharField(_("reason"), max_length=40)
    first_item_id = models.BigIntegerField(_("first item"))
    last_item_id = models.BigIntegerField(_("last item"))
    turn = models.OneToOneField(
        Turn,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="decision",
        verbose_name=_("turn"),
    )
    created_at = models.DateTimeField(_("decided"), auto_now_add=True)

    class Meta:
        verbose_name = _("decision")
        verbose_name_plural = _("decisions")
        ordering = ("-id",)
        indexes = [
            models.Index(fields=("chat", "-last_item_id"), name="decision_range"),
            BrinIndex(fields=("created_at",), name="decision_made"),
        ]

    def __str__(self) -> str:
        return f"#{self.pk} {self.get_verdict_display()}"


class InboundItem(models.Model):
    """A stored message or interaction (poke, reaction) of a chat."""

    class Kind(models.TextChoices):
        MESSAGE = "message", _("message")
        POKE = "poke", _("poke")
        REACTION = "reaction", _("reaction")

    bot = models.ForeignKey(Bot, models.CASCADE, related_name="items", verbose_name=_("bot"))
    chat = models.ForeignKey(Chat, models.CASCADE, related_name="items", verbose_name=_("chat"))
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    platform_message_id = models.CharField(
        _("message id"),
        max_length=128,
        blank=True,
        help_text=_("The platform's id; empty where it gave none (0 and -1 mean none)."),
    )
    platform_message_id_is_number = models.BooleanField(default=True, editable=False)
    platform_sequence = models.CharField(
        max_length=64,
        blank=True,
        help_text=_("The chat's own sequence number, where the platform tells one."),
    )
    sender_id = models.CharField(_("sender"), max_length=128)
    sender_name = models.CharField(_("sender's name"), max_length=200, blank=True)
    sender_role = models.CharField(_("sender's role"), max_length=20, blank=True)
    text = models.TextField(
        _("text"), blank=True, help_text=_("Its text parts joined, unescaped, not trimmed.")
    )
    parts = models.JSONField(
        _("parts"),
        default=list,
        help_text=_("The message's parts in order, as core.messages describes them."),
    )
    mentions = ArrayField(
        models.CharField(max_length=128), default=list, blank=True, verbose_name=_("mentions")
    )
    mentions_bot = models.BooleanField(_("mentions the bot"), default=False)
    reply_to = models.CharField(_("quotes"), max_length=128, blank=True)
    target_id = models.CharField(
        _("target"),
        max_length=128,
        blank=True,
        help_text=_("Who was poked, or which message was reacted to."),
    )
    emoji = ArrayField(
        models.CharField(max_length=32), default=list, blank=True, verbose_name=_("emoji")
    )
    removed = models.BooleanField(
        _("taken back"), default=False, help_text=_("A reaction that was taken back.")
    )
    from_self = models.BooleanField(
        _("typed by hand"),
        default=False,
        help_text=_("A person typed it on the bot's own account."),
    )
    trigger = models.CharField(
        _("addresses the bot by"),
        max_length=10,
        choices=Trigger.choices,
        blank=True,
        help_text=_("How it addresses the bot; empty: it does not."),
    )
    is_old = models.BooleanField(
        _("replayed"),
        default=False,
        help_text=_("It was old already when it came in: stored, but it wakes nothing."),
    )
    recalled_at = models.DateTimeField(_("recalled"), null=True, blank=True)
    sent_at = models.DateTimeField(
        pgettext_lazy("time", "sent"), help_text=_("The platform's time.")
    )
    received_at = models.DateTimeField(_("received"))
    turn = models.ForeignKey(
        Turn,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="items",
        verbose_name=_("turn"),
        help_text=_("The turn that answered it."),
    )

    class Meta:
        verbose_name = _("item")
        verbose_name_plural = _("items")
        ordering = ("-id",)
        indexes = [
            models.Index(fields=("chat", "-id"), name="item_chat"),
            models.Index(fields=("chat", "platform_message_id"), name="item_message_id"),
            models.Index(
                fields=("chat", "target_id"),
                name="item_reactions",
                condition=models.Q(kind="reaction"),
            ),
            models.Index(fields=("received_at",), include=("chat",), name="item_received"),
            # What lists are narrowed to and few items are.
            models.Index(
                fields=("kind", "-id"), name="item_kind", condition=~models.Q(kind="message")
            ),
            models.Index(
                fields=("trigger", "-id"), name="item_trigger", condition=~models.Q(trigger="")
            ),
            models.Index(fields=("-id",), name="item_typed", condition=models.Q(from_self=True)),
            models.Index(fields=("-id",), name="item_old", condition=models.Q(is_old=True)),
        ]

    def __str__(self) -> str:
        said = self.text[:40] or self.get_kind_display()
        return f"{self.sender_name or self.sender_id}: {said}"

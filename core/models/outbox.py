"""The Outbox (what is to be done on the platform) and the Sent Log (the bot's own messages)."""

from django.conf import settings
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.utils.translation import gettext_lazy as _

from core.models.bots import Bot
from core.models.chats import Chat
from core.models.turns import Turn


class SentMessage(models.Model):
    """One message of the bot's own, from the moment it is written: the Sent Log.

    Its send-state, content and platform id are those of its current Outbox entry; its versions are
    its entries. The handle is its name through all of them.
    """

    class Kind(models.TextChoices):
        TEXT = "text", _("text")
        STICKER = "sticker", _("sticker")
        VOICE = "voice", _("voice")
        FILE = "file", _("file")

    chat = models.ForeignKey(
        Chat, models.CASCADE, related_name="sent_messages", verbose_name=_("chat")
    )
    turn = models.ForeignKey(
        Turn,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="sent_messages",
        verbose_name=_("turn"),
    )
    handle = models.CharField(
        _("handle"), max_length=20, help_text=_("The model's name for it, unique in its chat.")
    )
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices, default=Kind.TEXT)
    entry = models.OneToOneField(
        "core.OutboxEntry",
        models.RESTRICT,
        null=True,
        related_name="current_of",
        verbose_name=_("current entry"),
    )
    edits = models.PositiveIntegerField(
        _("edits"), default=0, help_text=_("Edits that were accepted, whatever became of them.")
    )
    recall_asked = models.BooleanField(
        _("recall asked"),
        default=False,
        help_text=_("Whether the model asked to take it back, which it may once."),
    )
    created_at = models.DateTimeField(_("written"))

    class Meta:
        verbose_name = _("sent message")
        verbose_name_plural = _("sent messages")
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(fields=("chat", "handle"), name="handle_once_per_chat"),
        ]
        indexes = [
            models.Index(fields=("chat", "-id"), name="sent_message_chat"),
            models.Index(
                fields=("kind", "-id"), name="sent_message_kind", condition=~models.Q(kind="text")
            ),
            BrinIndex(fields=("created_at",), name="sent_message_written"),
        ]

    def __str__(self) -> str:
        return f"{self.handle}: {self.entry.content[:40]}" if self.entry else self.handle

    @property
    def audited_as(self) -> str:
        """Its name in the audit of changes, which keeps no words."""
        return self.handle

    def get_additional_data(self) -> dict[str, int]:
        """By what the audit of changes is found and narrowed."""
        return {"bot": self.chat.bot_id, "chat": self.chat_id}


class OutboxEntries(models.Manager["OutboxEntry"]):
    """Entries without their payload, which is large and read where it is sent alone."""

    def get_queryset(self) -> models.QuerySet["OutboxEntry"]:
        return super().get_queryset().defer("payload")


class OutboxEntry(models.Model):
    """One action on the platform; the only place of send-state. It moves forward only, each move a
    compare-and-set (core.outbox, core.sending).

    GESTURES have no message and a `subject`; one that was unknown stays so. A recall, and an edit of
    a platform that can edit, stands behind the send that is its `target`.
    Where a message is edited by sending it anew, its next send `waits_for` the recall of the one
    before. A recall or an edit that is `sent` was confirmed.
    """

    class Action(models.TextChoices):
        SEND = "send", _("send")
        RECALL = "recall", _("recall")
        EDIT = "edit", _("edit")
        POKE = "poke", _("poke")
        REACTION = "reaction", _("reaction")
        LIKE = "like", _("profile like")

    GESTURES = (Action.POKE, Action.REACTION, Action.LIKE)
    SENT_AS_TEXT = "sent_as_text"
    """The reason of a sticker or a voice that was sent, but as its words: the model is told."""

    class State(models.TextChoices):
        PENDING = "pending", _("pending")
        SENDING = "sending", _("sending")
        SENT = "sent", _("sent")
        UNKNOWN = "unknown", _("unknown")
        FAILED = "failed", _("failed")
        DISCARDED = "discarded", _("discarded")
        RECALLED = "recalled", _("recalled")

    bot = models.ForeignKey(Bot, models.CASCADE, related_name="outbox", verbose_name=_("bot"))
    chat = models.ForeignKey(Chat, models.CASCADE, related_name="outbox", verbose_name=_("chat"))
    message = models.ForeignKey(
        SentMessage,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="entries",
        verbose_name=_("message"),
    )
    turn = models.ForeignKey(
        Turn,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="outbox",
        verbose_name=_("turn"),
    )
    step_index = models.PositiveIntegerField(_("step"), default=0)
    call_index = models.PositiveIntegerField(_("tool call"), default=0)
    action = models.CharField(_("action"), max_length=10, choices=Action.choices)
    target = models.ForeignKey(
        "self",
        models.CASCADE,
        null=True,
        blank=True,
        related_name="followers",
        verbose_name=_("of"),
        help_text=_("The entry whose message it takes back or edits."),
    )
    waits_for = models.ForeignKey(
        "self",
        models.CASCADE,
        null=True,
        blank=True,
        related_name="waiting",
        verbose_name=_("after"),
        help_text=_("The recall that has to be confirmed before this is sent."),
    )
    content = models.TextField(
        _("content"), blank=True, help_text=_("As the model wrote it; a recall has none.")
    )
    parts = models.JSONField(
        _("parts"),
        default=list,
        help_text=_("What goes out, in order, as core.messages describes it."),
    )
    subject = models.CharField(
        _("subject"),
        max_length=128,
        blank=True,
        help_text=_("Whom a poke or a like is for, which message a reaction is under."),
    )
    payload = models.BinaryField(
        null=True,
        blank=True,
        editable=False,
        help_text=_("The bytes of a voice or a file, as they were when it was written."),
    )
    state = models.CharField(
        _("state"), max_length=10, choices=State.choices, default=State.PENDING
    )
    reason = models.CharField(
        _("reason"), max_length=40, blank=True, help_text=_("Why it ended as it did.")
    )
    error = models.TextField(
        _("error in words"), blank=True, help_text=_("What the platform said.")
    )
    held = models.CharField(
        _("held"), max_length=40, blank=True, help_text=_("Why it waits although it is due.")
    )
    approved_at = models.DateTimeField(
        _("approved"),
        null=True,
        blank=True,
        help_text=_("When an operator let it go as it stands; what is written anew waits again."),
    )
    released_at = models.DateTimeField(
        _("let go"),
        null=True,
        blank=True,
        help_text=_("When it was let go last, after something had held it."),
    )
    by_hand = models.BooleanField(
        _("by hand"), default=False, help_text=_("An operator asked for it, not the model.")
    )
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("decided by"),
        help_text=_("Who approved it, discarded it or asked for it by hand."),
    )
    due_at = models.DateTimeField(_("due"), help_text=_("When its typing time is over."))
    draft_until = models.DateTimeField(
        _("draft until"),
        null=True,
        blank=True,
        help_text=_(
            "Held until then, or until its turn's next step, so the model may think again."
        ),
    )
    expires_at = models.DateTimeField(
        _("expires"), help_text=_("Not sent any more after this: the chat's patience is over.")
    )
    connection_number = models.BigIntegerField(
        _("connection"),
        null=True,
        blank=True,
        help_text=_("The connection of the bot that claimed it; numbers only rise."),
    )
    platform_message_id = models.CharField(_("message id"), max_length=128, blank=True)
    platform_message_id_is_number = models.BooleanField(default=True, editable=False)
    evidence_until = models.DateTimeField(
        null=True,
        blank=True,
        help_text=_(
            "While its outcome is unknown: the chat's later messages wait until then. Empty: the "
            "wait begins when the bot is connected again."
        ),
    )
    history_asked_at = models.DateTimeField(
        null=True, blank=True, help_text=_("When the chat's history was last asked for it.")
    )
    history_asked = models.PositiveSmallIntegerField(
        default=0, help_text=_("How often the chat's history was asked for it.")
    )
    history_lacked = models.PositiveSmallIntegerField(
        default=0, help_text=_("How many of those reached back before it and lacked it.")
    )
    told_state = models.CharField(
        max_length=10,
        blank=True,
        help_text=_("The state that the model knows of, where it was told one."),
    )
    created_at = models.DateTimeField(_("written"))
    sending_at = models.DateTimeField(_("claimed"), null=True, blank=True)
    settled_at = models.DateTimeField(
        _("settled"), null=True, blank=True, help_text=_("When it left pending and sending.")
    )
    recalled_at = models.DateTimeField(_("recalled"), null=True, blank=True)

    objects = OutboxEntries()

    class Meta:
        verbose_name = _("Outbox entry")
        verbose_name_plural = _("Outbox entries")
        permissions = [
            ("settle_outboxentry", _("Can say what became of an entry of unknown outcome")),
            ("moderate_outboxentry", _("Can review, discard, recall and edit by hand")),
        ]
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(
                fields=("turn", "step_index", "call_index", "action"),
                name="entry_once_per_tool_call",
            ),
        ]
        indexes = [
            models.Index(
                fields=("bot", "chat", "id"),
                name="outbox_open",
                condition=models.Q(state__in=("pending", "sending", "unknown")),
            ),
            models.Index(
                fields=("-settled_at",),
                name="outbox_troubles",
                condition=models.Q(state__in=("failed", "unknown")),
            ),
            models.Index(
                fields=("settled_at",),
                include=("chat",),
                name="outbox_said",
                condition=models.Q(action="send", state__in=("sent", "recalled")),
            ),
            models.Index(fields=("chat", "-id"), name="outbox_chat"),
            models.Index(
                fields=("state", "-id"), name="outbox_state", condition=~models.Q(state="sent")
            ),
            models.Index(
                fields=("action", "-id"), name="outbox_action", condition=~models.Q(action="send")
            ),
            BrinIndex(fields=("created_at",), name="outbox_written"),
            models.Index(
                fields=("id",),
                name="outbox_review",
                condition=models.Q(state="pending", held="review"),
            ),
            models.Index(fields=("chat", "platform_message_id"), name="outbox_message_id"),
            models.Index(
                fields=("chat", "-id"),
                name="outbox_chat_gestures",
                condition=models.Q(message__isnull=True),
            ),
            models.Index(
                fields=("bot", "subject", "-id"),
                name="outbox_gestures",
                condition=~models.Q(subject=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_action_display()} #{self.pk} {self.get_state_display()}"

    @property
    def is_forgotten(self) -> bool:
        """Whether what it said or did was taken out, because a person in it was forgotten: all but a
        recall has parts, or whom it is for."""
        return self.action != self.Action.RECALL and not (self.parts or self.subject)

    @property
    def audited_as(self) -> str:
        """Its name in the audit of changes."""
        return self.message.handle if self.message else f"{self.action} #{self.pk}"

    def get_additional_data(self) -> dict[str, int]:
        """By what the audit of changes is found and narrowed."""
        return {"bot": self.bot_id, "chat": self.chat_id}

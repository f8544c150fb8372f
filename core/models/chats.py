"""Chats of a bot, the people seen in them, and what operators set for them."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from core.models.bots import Bot


class DeliveryMode(models.TextChoices):
    """What becomes of what the bot wants to say in a chat."""

    LIVE = "live", _("live")
    REVIEW = "review", _("review")
    SHADOW = "shadow", _("shadow")


class Chat(models.Model):
    """One group or private conversation of one bot: the unit of consent, budget and memory.

    The row also carries the chat's turn state: when gathered items are to be judged
    (`turn_due_at`), who addressed the bot since (`addressed_at`, `addressed_by`), and the lease
    under which one worker runs a turn (`lease_token` only rises; a worker whose token is no longer
    the row's commits nothing).
    """

    class Kind(models.TextChoices):
        GROUP = "group", pgettext_lazy("chat", "group")
        PRIVATE = "private", _("private chat")

    bot = models.ForeignKey(Bot, models.CASCADE, related_name="chats", verbose_name=_("bot"))
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    external_id = models.CharField(
        _("platform id"), max_length=128, help_text=_("The group's or the person's id.")
    )
    external_id_is_number = models.BooleanField(
        default=True,
        editable=False,
        help_text=_("Whether the id came as a JSON number, so that it goes out as one."),
    )
    title = models.CharField(
        _("title"), max_length=200, blank=True, help_text=_("The group's title, a person's name.")
    )
    address = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text=_("What the gateway needs besides the id to answer here; core never reads it."),
    )
    bot_role = models.CharField(
        _("the bot's role"),
        max_length=20,
        blank=True,
        editable=False,
        help_text=_("owner, admin or member, as the platform last told; empty: not known."),
    )
    silence_reason = models.CharField(
        _("may not speak"),
        max_length=40,
        blank=True,
        editable=False,
        help_text=_("Why the bot may not speak here now: muted, removed …; empty: it may."),
    )
    silenced_until = models.DateTimeField(
        _("silent until"),
        null=True,
        editable=False,
        help_text=_("When that ends by itself; empty: when the platform says so."),
    )
    gap_after = models.BigIntegerField(
        null=True,
        editable=False,
        help_text=_(
            "Words above this sequence may be missing: they were said between connections."
        ),
    )
    members_synced_at = models.DateTimeField(
        null=True, editable=False, help_text=_("When the platform last told all members.")
    )
    enabled = models.BooleanField(
        _("enabled"),
        default=True,
        help_text=_("Off: nothing said here is stored, and the bot does not speak."),
    )
    sticker_learning = models.BooleanField(
        _("sticker learning"),
        default=False,
        help_text=_("Whether the bot may learn what this chat's stickers mean."),
    )
    sticker_learning_set_at = models.DateTimeField(
        _("sticker learning set"), null=True, editable=False
    )
    sticker_learning_set_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        editable=False,
        related_name="+",
        verbose_name=_("sticker learning set by"),
        help_text=_("Empty beside a time: set by a command."),
    )
    sticker_sightings = models.PositiveIntegerField(
        _("sightings before learning"),
        default=1,
        validators=[MinValueValidator(1)],
        help_text=_("A sticker is learned once it was seen this often in the chat."),
    )
    sticker_rate = models.PositiveIntegerField(
        _("stickers tried a minute"),
        default=60,
        help_text=_("At most this many stickers a minute are looked at for learning."),
    )
    sticker_daily_calls = models.PositiveIntegerField(
        _("learning calls a day"),
        default=300,
        help_text=_("At most this many model calls a day to learn this chat's stickers; 0: none."),
    )
    sticker_daily_tokens = models.PositiveIntegerField(
        _("learning tokens a day"),
        default=1_000_000,
        help_text=_("No further learning call on a day that has used this many tokens for it."),
    )
    sticker_cap = models.PositiveIntegerField(
        _("stickers kept"),
        default=300,
        help_text=_("The least useful ones make room for new ones; pinned ones stay."),
    )
    sticker_context = models.BooleanField(
        _("learn with surrounding lines"),
        default=False,
        help_text=_("What is learned so stays in this chat: the lines around it are its own."),
    )
    sticker_review = models.BooleanField(
        _("review stickers before first use"),
        default=False,
        help_text=_("A learned sticker is used only once an operator has approved it."),
    )
    persona_override = models.TextField(
        _("persona here"),
        blank=True,
        help_text=_("Who the bot is in this chat; empty: the bot's own persona."),
    )
    delivery_mode = models.CharField(
        _("delivery"),
        max_length=10,
        choices=DeliveryMode.choices,
        default=DeliveryMode.LIVE,
        help_text=_(
            "Live: what the bot says goes out. Review: it is held until somebody approves or discards"
            " it. Shadow: the bot takes whole turns, and nothing of them leaves."
        ),
    )
    paused_at = models.DateTimeField(
        _("paused since"),
        null=True,
        editable=False,
        help_text=_("While it is paused nothing leaves, and no model call is paid."),
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
    patience_seconds = models.PositiveIntegerField(
        _("patience (seconds)"),
        default=600,
        validators=[MinValueValidator(1)],
        help_text=_("An answer that could not leave for longer than this is not sent any more."),
    )
    daily_model_calls = models.PositiveIntegerField(
        _("model calls a day"),
        default=500,
        help_text=_("At most this many model calls a day for this chat; 0: none."),
    )
    messages = models.PositiveBigIntegerField(
        _("items"), default=0, editable=False, help_text=_("Items stored so far.")
    )
    last_message_at = models.DateTimeField(_("last item"), null=True, editable=False)

    turn_due_at = models.DateTimeField(
        _("due"),
        null=True,
        editable=False,
        help_text=_("When what was gathered is to be judged; empty: nothing is gathered."),
    )
    addressed_at = models.DateTimeField(
        null=True,
        editable=False,
        help_text=_("When the first item that addresses the bot and is not yet judged came in."),
    )
    addressed_by = ArrayField(
        models.CharField(max_length=128),
        default=list,
        editable=False,
        help_text=_("Who addressed the bot since; their further words extend the wait."),
    )
    judged_item_id = models.BigIntegerField(
        default=0, editable=False, help_text=_("The last item that a decision covers.")
    )
    hinted_at = models.DateTimeField(
        null=True, editable=False, help_text=_("When workers were last told that this chat is due.")
    )
    lease_token = models.BigIntegerField(default=0, editable=False)
    lease_until = models.DateTimeField(_("turn runs until"), null=True, editable=False)
    lease_owner = models.CharField(max_length=200, blank=True, editable=False)
    next_handle = models.BigIntegerField(
        default=1, editable=False, help_text=_("The number of the bot's next message here.")
    )
    created_at = models.DateTimeField(_("first seen"), auto_now_add=True)

    class Meta:
        verbose_name = _("chat")
        verbose_name_plural = _("chats")
        ordering = ("-last_message_at", "id")
        constraints = [
            models.UniqueConstraint(
                fields=("bot", "kind", "external_id"), name="chat_once_per_bot"
            ),
        ]
        indexes = [
            models.Index(
                fields=("turn_due_at",),
                name="chat_due",
                condition=models.Q(turn_due_at__isnull=False),
            ),
            models.Index(fields=("-last_message_at",), name="chat_recent"),
            models.Index(
                fields=("paused_at",),
                name="chat_paused",
                condition=models.Q(paused_at__isnull=False),
            ),
            models.Index(
                fields=("bot",), name="chat_silenced", condition=~models.Q(silence_reason="")
            ),
            models.Index(
                fields=("delivery_mode",),
                name="chat_not_live",
                condition=~models.Q(delivery_mode="live"),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.title} ({self.key})" if self.title else self.key

    @property
    def key(self) -> str:
        """The chat as commands name it: `group:20001` or `private:10001`."""
        return f"{self.kind}:{self.external_id}"

    @property
    def persona(self) -> str:
        """Who the bot is here: the chat's own persona, else the bot's."""
        return self.persona_override.strip() or self.bot.persona.strip()

    def get_additional_data(self) -> dict[str, int]:
        """By what the audit of changes is found and narrowed; django-auditlog calls it."""
        return {"bot": self.bot_id, "chat": self.pk}


class Member(models.Model):
    """Somebody of a chat: seen to speak there, or listed by the platform; `left_at` once gone."""

    chat = models.ForeignKey(Chat, models.CASCADE, related_name="members", verbose_name=_("chat"))
    user_id = models.CharField(_("account"), max_length=128)
    name = models.CharField(_("name"), max_length=200, blank=True)
    role = models.CharField(
        _("role"), max_length=20, blank=True, help_text=_("owner, admin or member, as last told.")
    )
    last_seen_at = models.DateTimeField(
        _("last seen"),
        null=True,
        blank=True,
        help_text=_("Empty: listed, and never seen to speak."),
    )
    left_at = models.DateTimeField(_("left"), null=True, blank=True)

    class Meta:
        verbose_name = _("member")
        verbose_name_plural = _("members")
        constraints = [
            models.UniqueConstraint(fields=("chat", "user_id"), name="member_once_per_chat"),
        ]
        indexes = [models.Index(fields=("user_id",), name="member_account")]

    def __str__(self) -> str:
        return f"{self.name} ({self.user_id})"


class CapabilitySetting(models.Model):
    """What an operator says of a capability or a tag in one chat, or in all chats of one bot that
    say nothing themselves; no row: inherit."""

    class Target(models.TextChoices):
        CAPABILITY = "cap", _("capability")
        TAG = "tag", _("tag")

    chat = models.ForeignKey(
        Chat,
        models.CASCADE,
        related_name="capability_settings",
        verbose_name=_("chat"),
        null=True,
        blank=True,
    )
    bot = models.ForeignKey(
        Bot,
        models.CASCADE,
        related_name="capability_settings",
        verbose_name=_("bot"),
        null=True,
        blank=True,
    )
    target = models.CharField(_("of"), max_length=3, choices=Target.choices)
    name = models.CharField(_("name"), max_length=40)
    allowed = models.BooleanField(_("on"))
    set_at = models.DateTimeField(_("set"), auto_now=True)
    set_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        verbose_name=_("set by"),
        help_text=_("Empty: set by a command."),
    )

    class Meta:
        verbose_name = _("capability setting")
        verbose_name_plural = _("capability settings")
        constraints = [
            models.UniqueConstraint(
                fields=("chat", "target", "name"), name="capability_setting_once_per_chat"
            ),
            models.UniqueConstraint(
                fields=("bot", "target", "name"), name="capability_setting_once_per_bot"
            ),
            models.CheckConstraint(
                condition=models.Q(chat__isnull=True) ^ models.Q(bot__isnull=True),
                name="capability_setting_of_a_chat_or_a_bot",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.target}.{self.name} = {'on' if self.allowed else 'off'}"

    def get_additional_data(self) -> dict[str, int | str | None]:
        """By what the audit of changes is found and narrowed, and what was switched."""
        switch = f"{self.target}.{self.name}"
        if self.chat_id is None:
            return {"bot": self.bot_id, "switch": switch}
        # Asked for, since a chat that is deleted with its settings is gone before them.
        bot_id = Chat.objects.filter(pk=self.chat_id).values_list("bot", flat=True).first()
        return {"bot": bot_id, "chat": self.chat_id, "switch": switch}

"""Turns, their steps and tool calls: the journal from which a killed turn goes on."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.models.chats import Chat


class Trigger(models.TextChoices):
    """Why a turn started, or how an item addresses the bot."""

    MENTION = "mention", _("mention")
    QUOTE = "quote", _("quote")
    POKE = "poke", _("poke")
    PRIVATE = "private", _("private message")
    NAME = "name", _("name")
    AMBIENT = "ambient", _("ambient")


class Turn(models.Model):
    """One run of the model over what a chat has gathered; at most one at a time per chat."""

    class State(models.TextChoices):
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        SILENT = "silent", _("silent")
        FAILED = "failed", _("failed")
        ABANDONED = "abandoned", _("abandoned")

    chat = models.ForeignKey(Chat, models.CASCADE, related_name="turns", verbose_name=_("chat"))
    state = models.CharField(
        _("state"), max_length=10, choices=State.choices, default=State.RUNNING
    )
    trigger = models.CharField(_("trigger"), max_length=10, choices=Trigger.choices)
    model = models.CharField(_("model"), max_length=200)
    first_item_id = models.BigIntegerField(
        _("first item"), help_text=_("The items that it answers, from here …")
    )
    last_item_id = models.BigIntegerField(_("last item"), help_text=_("… to here."))
    messages = models.JSONField(
        _("context"),
        default=list,
        help_text=_("The chat-completions messages that the turn began with."),
    )
    tools = models.JSONField(
        _("tools"), default=list, help_text=_("The tool schemas that the model was given.")
    )
    steps = models.PositiveIntegerField(_("steps"), default=0)
    sends = models.PositiveIntegerField(_("messages written"), default=0)
    gestures = models.PositiveIntegerField(_("gestures"), default=0)
    prompt_tokens = models.PositiveIntegerField(_("prompt tokens"), default=0)
    completion_tokens = models.PositiveIntegerField(_("completion tokens"), default=0)
    runs = models.PositiveIntegerField(
        _("runs"),
        default=0,
        help_text=_("How often a worker took it up: 1, or more after crashes."),
    )
    silence_reason = models.TextField(
        _("why silent"),
        blank=True,
        help_text=_("What the model gave to stay_silent as its reason."),
    )
    error = models.CharField(_("error"), max_length=40, blank=True)
    error_detail = models.TextField(_("error in words"), blank=True)
    started_at = models.DateTimeField(_("started"), default=timezone.now)
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)

    class Meta:
        verbose_name = _("turn")
        verbose_name_plural = _("turns")
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(
                fields=("chat",),
                condition=models.Q(state="running"),
                name="turn_one_running_per_chat",
            ),
        ]
        indexes = [
            models.Index(fields=("chat", "-id"), name="turn_chat"),
            models.Index(fields=("state", "-id"), name="turn_state"),
            models.Index(fields=("started_at",), include=("chat",), name="turn_started"),
        ]

    def __str__(self) -> str:
        return f"#{self.pk} {self.get_state_display()}"

    @property
    def audited_as(self) -> str:
        """Its name in the audit of changes."""
        return f"#{self.pk}"

    def get_additional_data(self) -> dict[str, int]:
        """By what the audit of changes is found and narrowed."""
        return {"bot": self.chat.bot_id, "chat": self.chat_id}

    @property
    def is_forgotten(self) -> bool:
        """Whether its words were emptied, because a person in them was forgotten: no turn begins
        without any."""
        return not self.messages


class TurnStep(models.Model):
    """One model call of a turn with its tool calls: the unit that is committed."""

    turn = models.ForeignKey(Turn, models.CASCADE, related_name="step_set", verbose_name=_("turn"))
    index = models.PositiveIntegerField(_("step"), help_text=_("From 0."))
    messages_added = models.JSONField(
        _("added to the context"),
        default=list,
        help_text=_("Messages put before this call since the last one (its news)."),
    )
    answer = models.JSONField(
        _("answer"), default=dict, help_text=_("The assistant message, as the model gave it.")
    )
    finish_reason = models.CharField(_("finish reason"), max_length=40, blank=True)
    prompt_tokens = models.PositiveIntegerField(_("prompt tokens"), default=0)
    completion_tokens = models.PositiveIntegerField(_("completion tokens"), default=0)
    retries = models.PositiveIntegerField(
        _("retries"), default=0, help_text=_("How often the endpoint had to be asked again.")
    )
    model_seconds = models.FloatField(
        _("model time (s)"), default=0, help_text=_("How long the endpoint took, retries included.")
    )
    started_at = models.DateTimeField(_("started"))
    committed_at = models.DateTimeField(_("committed"), auto_now_add=True)

    class Meta:
        verbose_name = _("step")
        verbose_name_plural = _("steps")
        ordering = ("turn", "index")
        constraints = [
            models.UniqueConstraint(fields=("turn", "index"), name="step_once_per_turn"),
        ]

    def __str__(self) -> str:
        return f"#{self.turn_id}.{self.index}"


class ToolCall(models.Model):
    """One tool call of a step: what the model asked for and what it was told."""

    step = models.ForeignKey(
        TurnStep, models.CASCADE, related_name="tool_calls", verbose_name=_("step")
    )
    index = models.PositiveIntegerField(_("call"), help_text=_("From 0."))
    call_id = models.CharField(max_length=200, help_text=_("The model's own id of the call."))
    name = models.CharField(_("tool"), max_length=200)
    arguments = models.TextField(_("arguments"), help_text=_("As the model wrote them."))
    result = models.JSONField(_("result"), default=dict)

    class Meta:
        verbose_name = _("tool call")
        verbose_name_plural = _("tool calls")
        ordering = ("step", "index")
        constraints = [
            models.UniqueConstraint(fields=("step", "index"), name="tool_call_once_per_step"),
        ]

    def __str__(self) -> str:
        return self.name


class TurnRerun(models.Model):
    """A turn asked once more, of the same model or another, without anything of it being done.

    `steps` has for each model call `answer` (the assistant message), `results` (what each of its calls
    was told), `prompt_tokens`, `completion_tokens` and `seconds`.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")

    turn = models.ForeignKey(Turn, models.CASCADE, related_name="reruns", verbose_name=_("turn"))
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        verbose_name=_("asked by"),
    )
    model = models.CharField(_("model"), max_length=200)
    persona = models.TextField(
        _("persona"), blank=True, help_text=_("Empty: the system message as the turn had it.")
    )
    state = models.CharField(
        _("state"), max_length=10, choices=State.choices, default=State.WAITING
    )
    steps = models.JSONField(_("steps"), default=list)
    prompt_tokens = models.PositiveIntegerField(_("prompt tokens"), default=0)
    completion_tokens = models.PositiveIntegerField(_("completion tokens"), default=0)
    error = models.CharField(_("error"), max_length=40, blank=True)
    error_detail = models.TextField(_("error in words"), blank=True)
    created_at = models.DateTimeField(_("asked"), auto_now_add=True)
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)

    class Meta:
        verbose_name = _("turn run again")
        verbose_name_plural = _("turns run again")
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"#{self.turn_id} {self.model}"


class ModelCallCount(models.Model):
    """How many model calls a chat was granted on one day (in the site's time zone), and the tokens
    that were told of those that are counted in tokens too."""

    class Purpose(models.TextChoices):
        CHAT = "chat", _("conversation")
        LEARNING = "learning", _("sticker learning")

    chat = models.ForeignKey(Chat, models.CASCADE, related_name="model_call_counts")
    day = models.DateField(_("day"))
    purpose = models.CharField(
        _("for"), max_length=10, choices=Purpose.choices, default=Purpose.CHAT
    )
    calls = models.PositiveIntegerField(_("calls"), default=0)
    tokens = models.PositiveBigIntegerField(_("tokens"), default=0)

    class Meta:
        verbose_name = _("model calls of a day")
        verbose_name_plural = _("model calls by day")
        indexes = [models.Index(fields=("day",), name="call_count_day")]
        constraints = [
            models.UniqueConstraint(
                fields=("chat", "day", "purpose"), name="call_count_once_per_day"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.day}: {self.calls}"

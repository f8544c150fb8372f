"""Learned stickers and the operators' catalogue: pictures with their verdicts, and what chats use."""

import secrets

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _
from pgvector.django import VectorField

from core.models import Chat, InboundItem

_REF_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
_REF_LENGTH = 8


def new_ref() -> str:
    """A name for a sticker that tells nothing: eight letters after an s, without look-alikes."""
    return "s" + "".join(secrets.choice(_REF_LETTERS) for _index in range(_REF_LENGTH))


class Picture(models.Model):
    """One picture, whatever it is called and however it was encoded: the claim that it is paid for
    once, and the verdict that stays.

    The row is written before the call that is paid for. What was rejected keeps its keys and the
    verdict alone: no bytes, no meaning. `size` of the bytes in the media store is 0 where there are
    none.
    """

    class Verdict(models.TextChoices):
        LEARNING = "learning", _("being learned")
        STORED = "stored", _("stored")
        SENSITIVE = "sensitive", _("sensitive")
        VETOED = "vetoed", _("vetoed")
        FAILED = "failed", _("failed")
        LOST = "lost", _("lost")
        REMOVED = "removed", _("taken down")

    verdict = models.CharField(
        _("verdict"), max_length=10, choices=Verdict.choices, default=Verdict.LEARNING
    )
    reason = models.CharField(
        _("reason"), max_length=40, blank=True, help_text=_("Why, as a short code.")
    )
    sha256 = models.CharField(
        _("sha256"),
        max_length=64,
        blank=True,
        help_text=_("Of the bytes in the media store; empty where there are none."),
    )
    shareable = models.BooleanField(
        _("meaning may be shared"),
        default=True,
        help_text=_("Learned from the picture alone, so that other consenting chats may use it."),
    )
    learned = models.JSONField(
        _("what was learned"),
        default=dict,
        blank=True,
        editable=False,
        help_text=_(
            "The texts that a further chat's sticker begins with; empty where they may not be "
            "shared, or the picture was rejected."
        ),
    )
    model = models.CharField(_("model"), max_length=200, blank=True)
    tokens = models.PositiveIntegerField(_("tokens"), default=0)
    claimed_in = models.ForeignKey(
        Chat,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("claimed in"),
        help_text=_(
            "The chat that pays, or paid; empty: an operator added it, or that was forgotten."
        ),
    )
    claimed_at = models.DateTimeField(_("claimed"))
    settled_at = models.DateTimeField(_("settled"), null=True)
    removed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("taken down by"),
        help_text=_("Empty: by a member of a chat, or by a command."),
    )

    class Meta:
        verbose_name = _("picture")
        verbose_name_plural = _("pictures")
        ordering = ("-id",)
        indexes = [
            models.Index(
                fields=("claimed_at",),
                name="picture_learning",
                condition=models.Q(verdict="learning"),
            ),
            models.Index(fields=("sha256",), name="picture_sha256"),
        ]

    def __str__(self) -> str:
        return f"{self.get_verdict_display()} #{self.pk}"


class PictureKey(models.Model):
    """A name that a picture is known by: `mface:<emoji_id>`, `md5:<hex>` or `sha256:<hex>`.

    A name that the sender's side chose and the bytes do not prove counts in its chat alone, so that
    nobody can spoil a picture for others by its name.
    """

    picture = models.ForeignKey(
        Picture, models.CASCADE, related_name="keys", verbose_name=_("picture")
    )
    key = models.CharField(_("key"), max_length=140)
    chat = models.ForeignKey(
        Chat,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("chat"),
        help_text=_("Empty: proved by the bytes or by the platform; it counts everywhere."),
    )

    class Meta:
        verbose_name = _("key of a picture")
        verbose_name_plural = _("keys of pictures")
        constraints = [
            models.UniqueConstraint(
                fields=("key", "chat"), name="picture_key_once", nulls_distinct=False
            ),
        ]

    def __str__(self) -> str:
        return self.key


class Fingerprint(models.Model):
    """What a picture looks like, in numbers from which it can't be drawn: by `hashes` near ones are
    found, by `blocks` it is decided whether they are the same (stickers.fingerprints)."""

    picture = models.OneToOneField(
        Picture, models.CASCADE, primary_key=True, related_name="fingerprint"
    )
    hashes = ArrayField(models.BigIntegerField(), help_text=_("64 bits for each sampled frame."))
    blocks = models.BinaryField(help_text=_("Brightness of the blocks of each sampled frame."))

    class Meta:
        verbose_name = _("fingerprint")
        verbose_name_plural = _("fingerprints")

    def __str__(self) -> str:
        return str(self.picture_id)


class Sticker(models.Model):
    """A sticker with its meaning: learned in one chat, or in the catalogue of all.

    A row in another state than `stored` is used for nothing; one that was rejected has no meaning.
    """

    class State(models.TextChoices):
        LEARNING = "learning", _("being learned")
        REVIEW = "review", _("waits for review")
        STORED = "stored", _("stored")
        SENSITIVE = "sensitive", _("sensitive")
        VETOED = "vetoed", _("vetoed")
        FAILED = "failed", _("failed")
        LOST = "lost", _("lost")
        REJECTED = "rejected", _("rejected by an operator")

    KEPT = (State.STORED, State.REVIEW)
    """States that take up one of the chat's places."""

    ref = models.CharField(
        _("ref"),
        max_length=20,
        unique=True,
        default=new_ref,
        editable=False,
        help_text=_("The model's name for it."),
    )
    chat = models.ForeignKey(
        Chat,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="stickers",
        verbose_name=_("chat"),
        help_text=_("Where it was learned; empty: in the catalogue, usable in every chat."),
    )
    picture = models.ForeignKey(
        Picture, models.CASCADE, related_name="stickers", verbose_name=_("picture")
    )
    state = models.CharField(
        _("state"), max_length=10, choices=State.choices, default=State.LEARNING
    )
    reason = models.CharField(
        _("reason"), max_length=40, blank=True, help_text=_("Why, as a short code.")
    )
    file_id = models.CharField(
        _("stable id"),
        max_length=140,
        help_text=_("`mface:…` or `md5:…`, in lower case, as it was seen; of the bytes elsewhere."),
    )
    meaning = models.TextField(_("meaning"), blank=True, help_text=_("What one says with it."))
    use_when = models.TextField(_("use it when"), blank=True)
    avoid_when = models.TextField(_("do not use it when"), blank=True)
    moods = ArrayField(
        models.CharField(max_length=40),
        default=list,
        blank=True,
        verbose_name=_("moods"),
        help_text=_("A few words, in Chinese and English."),
    )
    words = models.TextField(_("words in the picture"), blank=True)
    market_face = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text=_("emoji_id, emoji_package_id, key and summary, where it is a market face."),
    )
    pinned = models.BooleanField(
        _("pinned"), default=False, help_text=_("It never makes room for another one.")
    )
    times_sent = models.PositiveIntegerField(_("times sent"), default=0)
    last_sent_at = models.DateTimeField(_("last sent"), null=True, editable=False)
    learned_at = models.DateTimeField(_("learned"), auto_now_add=True)

    class Meta:
        verbose_name = _("sticker")
        verbose_name_plural = _("stickers")
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(
                fields=("chat", "picture"), name="sticker_once_per_chat", nulls_distinct=False
            ),
        ]
        indexes = [models.Index(fields=("chat", "state"), name="sticker_chat_state")]

    def __str__(self) -> str:
        return self.meaning[:40] or self.ref

    @property
    def audited_as(self) -> str:
        """Its name in the audit of changes, which keeps no meaning."""
        return self.ref

    def get_additional_data(self) -> dict[str, int] | None:
        """By what the audit of changes is found and narrowed; None for the catalogue, which concerns
        the whole site."""
        return self.chat.get_additional_data() if self.chat is not None else None


class StickerVector(models.Model):
    """The embedding of a usable sticker's text by one model; `scope` is its chat's key, 0 for the
    catalogue. `text_digest` tells which text it is of: a changed text needs a new vector."""

    sticker = models.ForeignKey(
        Sticker, models.CASCADE, related_name="vectors", verbose_name=_("sticker")
    )
    scope = models.BigIntegerField()
    model = models.CharField(_("model"), max_length=200)
    vector = VectorField()
    text_digest = models.CharField(max_length=64)

    class Meta:
        verbose_name = _("vector of a sticker")
        verbose_name_plural = _("vectors of stickers")
        constraints = [
            models.UniqueConstraint(fields=("sticker", "model"), name="vector_once_per_model"),
        ]
        indexes = [models.Index(fields=("scope", "model"), name="vector_scope")]

    def __str__(self) -> str:
        return f"{self.sticker_id}: {self.model}"


class Sighting(models.Model):
    """How often a sticker was seen in a consenting chat, by its stable id or its sha256 key."""

    chat = models.ForeignKey(Chat, models.CASCADE, related_name="+", verbose_name=_("chat"))
    key = models.CharField(_("key"), max_length=140)
    times = models.PositiveIntegerField(_("times"), default=0)
    last_at = models.DateTimeField(_("last"))

    class Meta:
        verbose_name = _("sighting")
        verbose_name_plural = _("sightings")
        constraints = [
            models.UniqueConstraint(fields=("chat", "key"), name="sighting_once_per_chat"),
        ]

    def __str__(self) -> str:
        return f"{self.key}: {self.times}"


class LearningPace(models.Model):
    """How many stickers were tried in a chat in the minute that it last tried any."""

    chat = models.OneToOneField(Chat, models.CASCADE, primary_key=True, related_name="+")
    minute = models.DateTimeField(_("minute"))
    tried = models.PositiveIntegerField(_("tried"), default=0)

    class Meta:
        verbose_name = _("pace of learning")
        verbose_name_plural = _("paces of learning")

    def __str__(self) -> str:
        return f"{self.minute}: {self.tried}"


class OpenSighting(models.Model):
    """A sighting that passed the free gates and has not ended yet: its end is counted by whoever
    removes the row, so that each has one (stickers.funnel).

    `sticker` is what was claimed for it; `is_paid` while a model call was, or may have been, made.
    """

    chat = models.ForeignKey(Chat, models.CASCADE, related_name="+", verbose_name=_("chat"))
    item = models.ForeignKey(InboundItem, models.CASCADE, related_name="+", verbose_name=_("item"))
    index = models.PositiveIntegerField(_("part"))
    day = models.DateField(_("day"), help_text=_("On which it was seen, and its end is counted."))
    sticker = models.ForeignKey(
        Sticker,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("sticker"),
    )
    is_paid = models.BooleanField(_("paid for"), default=False)

    class Meta:
        verbose_name = _("open sighting")
        verbose_name_plural = _("open sightings")
        constraints = [
            models.UniqueConstraint(fields=("item", "index"), name="open_sighting_once"),
        ]
        indexes = [models.Index(fields=("day",), name="open_sighting_day")]

    def __str__(self) -> str:
        return f"{self.item_id}.{self.index}"


class FunnelCount(models.Model):
    """What became of the pictures seen in a chat on one day: how many reached a stage, or were
    dropped for a reason (stickers.funnel has the names).

    Counted inside of transactions that hold other rows: without a constraint, which would have
    Postgres lock the chat's row at their end, behind whoever holds it and waits for those.
    """

    chat = models.ForeignKey(
        Chat, models.CASCADE, related_name="+", verbose_name=_("chat"), db_constraint=False
    )
    day = models.DateField(_("day"))
    name = models.CharField(_("stage or reason"), max_length=40)
    times = models.PositiveBigIntegerField(_("times"), default=0)

    class Meta:
        verbose_name = _("funnel count")
        verbose_name_plural = _("funnel counts")
        indexes = [models.Index(fields=("day",), name="funnel_day")]
        constraints = [
            models.UniqueConstraint(fields=("chat", "day", "name"), name="funnel_once_per_day"),
        ]

    def __str__(self) -> str:
        return f"{self.name}: {self.times}"

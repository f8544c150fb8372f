"""Skills: named texts that the operator gives the bots, with their history and their use."""

from django.conf import settings
from django.core.validators import MaxLengthValidator
from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from core.models import Bot, Chat
from skills import texts


class Skill(models.Model):
    """A guide, rules of a game, how to do something: read by the model when it needs it.

    Written through `skills.store.save` alone, which keeps the history.
    """

    name = models.CharField(
        _("name"),
        max_length=texts.LONGEST_NAME,
        unique=True,
        validators=[texts.check_name],
        help_text=_("The model asks for it by this name; it also names files."),
    )
    description = models.CharField(
        _("description"),
        max_length=texts.LONGEST_DESCRIPTION,
        help_text=_("What it is for; the model sees this first."),
    )
    body = models.TextField(
        _("text"), validators=[MaxLengthValidator(texts.LONGEST_BODY)], help_text=_("Markdown.")
    )
    enabled = models.BooleanField(
        _("enabled"), default=True, help_text=_("Off: no chat has it, wherever it is for.")
    )
    for_all_chats = models.BooleanField(
        _("for all chats"),
        default=True,
        help_text=_("Off: for the bots and chats chosen below alone."),
    )
    bots = models.ManyToManyField(
        Bot,
        blank=True,
        related_name="skills",
        verbose_name=_("bots"),
        help_text=_("It is for every chat of these."),
    )
    chats = models.ManyToManyField(
        Chat, blank=True, related_name="skills", verbose_name=_("chats"), help_text=_("And these.")
    )
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("skill")
        verbose_name_plural = _("skills")
        ordering = ("name",)
        constraints = [
            models.UniqueConstraint(
                Lower("name"),
                name="skill_name_once_in_any_case",
                violation_error_message=_("There is a skill of this name in other letters."),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class SkillVersion(models.Model):
    """A text that a skill has or had; the one with the highest number is what it has now."""

    class Source(models.TextChoices):
        CONSOLE = "console", _("console")
        IMPORT = "import", _("import")
        RESTORE = "restore", _("brought back")

    skill = models.ForeignKey(
        Skill, models.CASCADE, related_name="versions", verbose_name=_("skill")
    )
    number = models.PositiveIntegerField(_("version"), help_text=_("From 1."))
    description = models.CharField(_("description"), max_length=texts.LONGEST_DESCRIPTION)
    body = models.TextField(_("text"))
    source = models.CharField(_("from"), max_length=10, choices=Source.choices)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("by"),
        help_text=_("Empty: by a command."),
    )
    made_at = models.DateTimeField(_("made"), auto_now_add=True)

    class Meta:
        verbose_name = _("version of a skill")
        verbose_name_plural = _("versions of skills")
        ordering = ("skill", "-number")
        constraints = [
            models.UniqueConstraint(fields=("skill", "number"), name="skill_version_once"),
        ]

    def __str__(self) -> str:
        return f"{self.number}"


class SkillAttachment(models.Model):
    """Another file of a skill's folder, which its text may name."""

    skill = models.ForeignKey(
        Skill, models.CASCADE, related_name="attachments", verbose_name=_("skill")
    )
    path = models.CharField(
        _("path"), max_length=texts.LONGEST_PATH, help_text=_("Inside the folder, with slashes.")
    )
    content = models.BinaryField(_("content"))
    size = models.PositiveIntegerField(_("size"), help_text=_("In bytes."))

    class Meta:
        verbose_name = _("attachment of a skill")
        verbose_name_plural = _("attachments of skills")
        ordering = ("skill", "path")
        constraints = [
            models.UniqueConstraint(fields=("skill", "path"), name="skill_attachment_once"),
        ]

    def __str__(self) -> str:
        return self.path


class SkillReads(models.Model):
    """How often the model read a skill in one chat at one level; written with the step."""

    class Level(models.TextChoices):
        SUMMARY = "summary", _("summary")
        FULL = "full", _("full text")

    skill = models.ForeignKey(Skill, models.CASCADE, related_name="reads", verbose_name=_("skill"))
    chat = models.ForeignKey(
        Chat, models.CASCADE, related_name="skill_reads", verbose_name=_("chat")
    )
    level = models.CharField(_("level"), max_length=10, choices=Level.choices)
    times = models.PositiveBigIntegerField(_("times"))
    last_at = models.DateTimeField(_("last"))

    class Meta:
        verbose_name = _("reads of a skill")
        verbose_name_plural = _("reads of skills")
        constraints = [
            models.UniqueConstraint(
                fields=("skill", "chat", "level"), name="skill_reads_once_per_chat"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.level}: {self.times}"

"""Skills: named texts that the operator gives the bots."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Skill(models.Model):
    """A guide, rules of a game, how to do something: read by the model when it needs it."""

    name = models.CharField(_("name"), max_length=64, unique=True)
    description = models.CharField(
        _("description"), max_length=1024, help_text=_("What it is for; the model sees this first.")
    )
    body = models.TextField(_("text"), help_text=_("Markdown."))
    enabled = models.BooleanField(_("enabled"), default=True)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("skill")
        verbose_name_plural = _("skills")
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

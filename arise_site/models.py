"""What the console keeps of the people who work in it."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from arise_site import languages


class PersonSettings(models.Model):
    """In which language and time zone a person has the console; empty: as nobody chose.

    No row: the same. What it does is told in arise_site.preferences.
    """

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        related_name="console_settings",
        verbose_name=_("person"),
    )
    language = models.CharField(_("language"), max_length=10, blank=True)
    time_zone = models.CharField(
        _("time zone"), max_length=64, blank=True, validators=[languages.known_zone]
    )

    class Meta:
        verbose_name = _("settings of a person")
        verbose_name_plural = _("settings of people")
        constraints = [
            models.CheckConstraint(
                condition=models.Q(language__in=["", *languages.NAMES]),
                name="person_settings_language",
            )
        ]

    def __str__(self) -> str:
        return str(self.person)

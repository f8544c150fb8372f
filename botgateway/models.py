"""Who is connected, who was, and who was refused at the door."""

from datetime import timedelta
from typing import Self

from django.db import models
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.models import Bot

ABANDONED_SECONDS = 30
OVER_KEPT = timedelta(days=30)


class ConnectionQuerySet(models.QuerySet["Connection"]):
    """Connections, and which of them live."""

    def live(self) -> Self:
        """Open ones whose process says so: a process that died leaves its rows open."""
        kept_since = timezone.now() - timedelta(seconds=ABANDONED_SECONDS)
        return self.filter(closed_at__isnull=True, kept_at__gte=kept_since)

    def over_long_ago(self) -> Self:
        """Those that nobody has held for OVER_KEPT, but for the last one of each bot."""
        latest = self.order_by().values("bot").annotate(latest=Max("pk")).values("latest")
        return self.filter(kept_at__lt=timezone.now() - OVER_KEPT).exclude(pk__in=latest)


class Connection(models.Model):
    """One WebSocket of a bot. Its id only rises: the highest open one of a role is the live one."""

    class Role(models.TextChoices):
        UNIVERSAL = "universal", "Universal"
        API = "api", "API"
        EVENT = "event", "Event"

    bot = models.ForeignKey(Bot, models.CASCADE, related_name="connections", verbose_name=_("bot"))
    role = models.CharField(_("role"), max_length=10, choices=Role.choices)
    process = models.CharField(
        _("process"), max_length=100, help_text=_("Host and process that hold the socket.")
    )
    remote_address = models.CharField(_("from"), max_length=100, blank=True)
    user_agent = models.CharField(_("user agent"), max_length=200, blank=True)
    implementation = models.CharField(
        _("implementation"), max_length=100, blank=True, help_text=_("As get_version_info says.")
    )
    version = models.CharField(_("version"), max_length=100, blank=True)
    nickname = models.CharField(
        _("nickname"), max_length=200, blank=True, help_text=_("As get_login_info says.")
    )
    online = models.BooleanField(
        _("logged in"),
        null=True,
        help_text=_("What the last heartbeat says of the account; empty: it does not say."),
    )
    reports_own = models.BooleanField(
        _("reports own messages"),
        null=True,
        help_text=_(
            "Whether its events tell of the bot's own messages (NapCat, LLOneBot: "
            "reportSelfMessage); empty: not known yet."
        ),
    )
    connected_at = models.DateTimeField(_("connected"), auto_now_add=True)
    last_frame_at = models.DateTimeField(_("last frame"), null=True, blank=True)
    kept_at = models.DateTimeField(
        _("looked after"),
        auto_now_add=True,
        help_text=_("When its process last said that it holds it."),
    )
    closed_at = models.DateTimeField(_("closed"), null=True, blank=True)
    close_reason = models.CharField(_("why closed"), max_length=100, blank=True)

    objects = ConnectionQuerySet.as_manager()

    class Meta:
        verbose_name = _("connection")
        verbose_name_plural = _("connections")
        ordering = ("-id",)
        indexes = [
            models.Index(
                fields=("bot", "role"),
                name="connection_open",
                condition=models.Q(closed_at__isnull=True),
            ),
            models.Index(fields=("bot", "-id"), name="connection_bot"),
        ]

    def __str__(self) -> str:
        return f"#{self.pk} {self.get_role_display()}"

    @property
    def is_kept(self) -> bool:
        """Whether its process has looked after it lately."""
        return self.kept_at >= timezone.now() - timedelta(seconds=ABANDONED_SECONDS)


class RefusedConnection(models.Model):
    """A handshake that was refused; the same one again only counts up."""

    class Reason(models.TextChoices):
        NO_SELF_ID = "no_self_id", _("no X-Self-ID header")
        UNKNOWN_BOT = "unknown_bot", _("unknown bot")
        DISABLED_BOT = "disabled_bot", _("disabled bot")
        NO_TOKEN = "no_token", _("no token")
        WRONG_TOKEN = "wrong_token", _("wrong token")
        UNKNOWN_ROLE = "unknown_role", _("unknown X-Client-Role")

    self_id = models.CharField(_("account"), max_length=64, blank=True)
    reason = models.CharField(_("reason"), max_length=20, choices=Reason.choices)
    remote_address = models.CharField(_("from"), max_length=100, blank=True)
    user_agent = models.CharField(_("user agent"), max_length=200, blank=True)
    attempts = models.PositiveIntegerField(_("attempts"), default=1)
    first_at = models.DateTimeField(_("first"), auto_now_add=True)
    last_at = models.DateTimeField(_("last"))

    class Meta:
        verbose_name = _("refused connection")
        verbose_name_plural = _("refused connections")
        ordering = ("-last_at",)
        constraints = [
            models.UniqueConstraint(
                fields=("self_id", "reason", "remote_address"), name="refusal_counted_once"
            ),
        ]
        indexes = [models.Index(fields=("-last_at",), name="refusal_recent")]

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.self_id, str(self.get_reason_display()))))

"""What was fetched of what people sent: pictures, under the digest of their bytes."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from core.models.inbound import InboundItem


class StoredMedia(models.Model):
    """A file of the media store (core.media.store), named by the sha256 of its bytes."""

    sha256 = models.CharField(_("sha256"), max_length=64, primary_key=True)
    media_type = models.CharField(_("type"), max_length=40, help_text=_("`image/png` and so on."))
    size = models.PositiveIntegerField(_("size"), help_text=_("In bytes."))
    width = models.PositiveIntegerField(_("width"), help_text=_("In pixels."))
    height = models.PositiveIntegerField(_("height"), help_text=_("In pixels."))
    frames = models.PositiveIntegerField(_("frames"), default=1)
    created_at = models.DateTimeField(_("stored"), auto_now_add=True)

    class Meta:
        verbose_name = _("stored media")
        verbose_name_plural = _("stored media")

    def __str__(self) -> str:
        return self.sha256


class ItemMedia(models.Model):
    """A picture or sticker of an item that was fetched, or could not be.

    `sha256` is that of the bytes as they were sent, which need not be kept; `view` that of the
    picture in the media store that models are shown for it, empty where there is none. `failure`
    is the code of the core.errors.MediaFailure that stood in the way.
    """

    item = models.ForeignKey(
        InboundItem, models.CASCADE, related_name="media", verbose_name=_("item")
    )
    index = models.PositiveIntegerField(
        _("part"), help_text=_("Which of the item's parts, from 0.")
    )
    sha256 = models.CharField(_("sha256"), max_length=64, blank=True)
    view = models.CharField(_("shown as"), max_length=64, blank=True)
    failure = models.CharField(_("failure"), max_length=40, blank=True)
    fetched_at = models.DateTimeField(_("fetched"), auto_now_add=True)

    class Meta:
        verbose_name = _("media of an item")
        verbose_name_plural = _("media of items")
        constraints = [
            models.UniqueConstraint(fields=("item", "index"), name="media_once_per_part"),
        ]
        indexes = [
            models.Index(fields=("sha256",), name="item_media_sha256"),
            models.Index(fields=("view",), name="item_media_view"),
        ]

    def __str__(self) -> str:
        return self.sha256 or self.failure

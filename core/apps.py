from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CoreConfig(AppConfig):
    name = "core"
    verbose_name = _("conversations")

    def ready(self) -> None:
        from django.conf import settings

        from core import failpoints
        from core.tools import gestures, own_words, speaking

        failpoints.arm(settings.ARISE_FAILPOINT)
        speaking.load()
        own_words.load()
        gestures.load()

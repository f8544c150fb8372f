from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class StickersConfig(AppConfig):
    name = "stickers"
    verbose_name = _("stickers")

    def ready(self) -> None:
        from stickers import (
            checks,
            describing,
            forgetting,
            ingress,
            library,
            sending,
            tools,
            wishes,
        )

        checks.load()
        describing.load()
        forgetting.load()
        sending.load()
        tools.load()
        wishes.load()
        library.load()
        ingress.load()

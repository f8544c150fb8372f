from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class BotGatewayConfig(AppConfig):
    name = "botgateway"
    verbose_name = _("gateway")

    def ready(self) -> None:
        from botgateway import (  # noqa: F401  (they register what they have)
            checks,
            platforms,
            tag_renderers,
        )

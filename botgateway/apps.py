from django.apps import AppConfig


class BotGatewayConfig(AppConfig):
    name = "botgateway"

    def ready(self) -> None:
        from botgateway import checks  # noqa: F401  (registers them)

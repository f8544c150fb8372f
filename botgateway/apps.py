from django.apps import AppConfig


class BotGatewayConfig(AppConfig):
    name = "botgateway"

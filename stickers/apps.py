from django.apps import AppConfig


class StickersConfig(AppConfig):
    name = "stickers"

    def ready(self) -> None:
        from stickers import checks, forgetting, tools

        checks.load()
        forgetting.load()
        tools.load()

from django.apps import AppConfig


class StickersConfig(AppConfig):
    name = "stickers"

    def ready(self) -> None:
        from stickers import checks, forgetting, ingress, library, tools

        checks.load()
        forgetting.load()
        tools.load()
        library.load()
        ingress.load()

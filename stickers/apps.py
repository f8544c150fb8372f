from django.apps import AppConfig


class StickersConfig(AppConfig):
    name = "stickers"

    def ready(self) -> None:
        from stickers import forgetting

        forgetting.load()

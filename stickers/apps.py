from django.apps import AppConfig


class StickersConfig(AppConfig):
    name = "stickers"

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

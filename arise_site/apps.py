from django.apps import AppConfig


class AriseSiteConfig(AppConfig):
    name = "arise_site"

    def ready(self) -> None:
        from arise_site import checks  # noqa: F401  (registers them)

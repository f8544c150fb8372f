from django.apps import AppConfig


class AriseSiteConfig(AppConfig):
    name = "arise_site"

    def ready(self) -> None:
        from arise_site import audit, checks  # noqa: F401  (checks registers them)

        audit.load()

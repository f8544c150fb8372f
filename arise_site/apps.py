from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AriseSiteConfig(AppConfig):
    name = "arise_site"
    verbose_name = _("console")

    def ready(self) -> None:
        from arise_site import audit, checks  # noqa: F401  (checks registers them)

        audit.load()

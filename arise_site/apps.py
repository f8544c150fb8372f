from django.apps import AppConfig


class AriseSiteConfig(AppConfig):
    name = "arise_site"

"""The site: settings, processes and the wiring of the apps. The only place that knows them all."""

from arise_site.celery import app as celery_app

__all__ = ["celery_app"]

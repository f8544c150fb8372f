"""The Celery application: tasks only wake; what is due stands in Postgres."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arise_site.settings")

app = Celery("arise")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

"""For `make check`: migrations are compared with models, and no database is asked for its history."""

from arise_site.settings import *  # noqa: F403

DATABASES = {"default": {"ENGINE": "django.db.backends.dummy"}}

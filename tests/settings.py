"""The site's own settings with waits made short; the services are real."""

from arise_site.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

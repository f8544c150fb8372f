"""The site's own settings with waits made short; the services are real."""

from arise_site.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Threads that tests leave behind keep their connections: a whole run has more of them than a site.
DATABASES["default"]["OPTIONS"]["pool"]["max_size"] = 60  # noqa: F405
# So that a test can tell the site's connections from its own.
DATABASES["default"]["OPTIONS"]["application_name"] = "arise-tests"  # noqa: F405

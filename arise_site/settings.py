"""Django settings of every process, from the environment alone (see env.py)."""

import socket
from datetime import timedelta
from typing import Any

import dj_database_url
import psutil
from csp.constants import NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _

from arise_site import env, keys, languages, runfile
from arise_site.embedded import locations

ENV = env.read()
BASE_DIR = env.CHECKOUT
ARISE_HOME = ENV.arise_home.expanduser().resolve()

DEBUG = ENV.django_debug
SECRET_KEY = ENV.django_secret_key or keys.kept_secret(ARISE_HOME / "secret_key")


def allowed_hosts() -> list[str]:
    """Names under which console and gateway answer; with another HOST every address of the machine."""
    if ENV.arise_allowed_hosts:
        return env.words(ENV.arise_allowed_hosts)
    names = ["localhost", "127.0.0.1", "[::1]"]
    if ENV.host in {"127.0.0.1", "localhost", "::1"}:
        return names
    names.append(socket.gethostname())
    for addresses in psutil.net_if_addrs().values():
        for address in addresses:
            if address.family == socket.AF_INET:
                names.append(address.address)
            elif address.family == socket.AF_INET6:
                names.append(f"[{address.address.split('%')[0]}]")
    return names


ALLOWED_HOSTS = allowed_hosts()

INSTALLED_APPS = [
    "daphne",
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "auditlog",
    "axes",
    "csp",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "arise_site",
    "core",
    "stickers",
    "skills",
    "botgateway",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "arise_site.middleware.refuse_nul",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "arise_site.middleware.actor",
    "django.contrib.messages.middleware.MessageMiddleware",
    "arise_site.preferences.personal",
    "arise_site.second_factor.demand",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "arise_site.urls"
ASGI_APPLICATION = "arise_site.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

EMBEDDED_DATABASE = not ENV.database_url
EMBEDDED_BROKER = not ENV.redis_url
DATABASE_URL = ENV.database_url or locations.database_url(ARISE_HOME)
REDIS_URL = ENV.redis_url or locations.redis_url(ARISE_HOME)

_database: dict[str, Any] = dict(
    dj_database_url.parse(DATABASE_URL, engine="arise_site.pooled_postgres")
)
# A pool in each process: a thread gives its connection back (connection.close()) before it waits on
# a model or a socket, and takes one again for some 20 µs; connections stay few whatever waits.
_database["OPTIONS"] = {
    **_database.get("OPTIONS", {}),
    "pool": {"min_size": 0, "max_size": 20, "timeout": 10},
    "application_name": "arise",
}
DATABASES = {"default": _database}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"

ARISE_HTTPS = ENV.arise_https
ARISE_REQUIRE_SECOND_FACTOR = ENV.arise_require_second_factor
OTP_TOTP_ISSUER = "arise"

# Counted by name and address together: nobody can shut another person out from elsewhere.
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_CALLABLE = "arise_site.refusals.locked_out"
AXES_CLIENT_IP_CALLABLE = "arise_site.log_in.address"
AXES_USERNAME_CALLABLE = "arise_site.log_in.name"
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False

SESSION_COOKIE_NAME = "arise_session"
SESSION_COOKIE_AGE = round(ENV.arise_session_hours * 3600)
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = ARISE_HTTPS
CSRF_COOKIE_NAME = "arise_csrf"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = ARISE_HTTPS
# Only where a proxy is known to set it: else anybody could.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if ARISE_HTTPS else None
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
# docs/decisions/0019-rights.md says what the theme needs of it and why.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, UNSAFE_EVAL],
        "style-src": [SELF, UNSAFE_INLINE],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}

LANGUAGE_CODE = "en"
LANGUAGES = list(languages.NAMES.items())
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = ["arise_site.formats"]
TIME_ZONE = ENV.time_zone
USE_TZ = True

STATIC_URL = "static/"
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
MEDIA_ROOT = ARISE_HOME / "media"

# Celery only carries hints ("look at chat 7"): what it loses, the sweep finds again in Postgres.
CELERY_BROKER_URL = locations.celery_broker_url(REDIS_URL)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_connect_timeout": 5, "socket_timeout": 5}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_STORE_EAGER_RESULT = False
CELERY_TASK_PUBLISH_RETRY = False
# A crowd of stickers to learn stands before no hint that a chat is due.
CELERY_TASK_ROUTES = {"stickers.tasks.*": {"queue": "stickers"}}
CELERY_WORKER_POOL = "threads"
CELERY_WORKER_CONCURRENCY = ENV.arise_worker_concurrency
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_BEAT_SCHEDULE_FILENAME = str(ARISE_HOME / "celerybeat-schedule")
CELERY_BEAT_SCHEDULE = {
    "prune": {"task": "core.tasks.prune", "schedule": 3600},
    "prune_stickers": {"task": "stickers.tasks.prune", "schedule": 3600},
    "prune_connections": {"task": "botgateway.tasks.prune", "schedule": 3600},
    "prune_console": {"task": "arise_site.tasks.prune", "schedule": 3600},
    "embed_missing": {"task": "stickers.tasks.embed_missing", "schedule": 60},
    "index_large_scopes": {"task": "stickers.tasks.index_large_scopes", "schedule": 600},
}
CELERY_TIMEZONE = TIME_ZONE

# What arise itself is told; env.py has the defaults, docs/operations.md the meaning.
ARISE_DEMO_MODEL = not (ENV.openai_api_key or ENV.openai_base_url)
ARISE_MODEL_BASE_URL = ENV.arise_demo_model_url if ARISE_DEMO_MODEL else ENV.openai_base_url
ARISE_MODEL_API_KEY = ENV.openai_api_key or "none"
ARISE_CHAT_MODEL = "arise-demo" if ARISE_DEMO_MODEL else ENV.arise_chat_model or "gpt-4o-mini"
ARISE_CHAT_MODEL_KINDS = [] if ARISE_DEMO_MODEL else env.words(ENV.arise_chat_model_kinds)
ARISE_VISION_MODEL = "" if ARISE_DEMO_MODEL else ENV.arise_vision_model
ARISE_GUARD_MODEL = "" if ARISE_DEMO_MODEL else ENV.arise_guard_model
ARISE_EMBEDDING_MODEL = "" if ARISE_DEMO_MODEL else ENV.arise_embedding_model
ARISE_TTS_MODEL = "" if ARISE_DEMO_MODEL else ENV.arise_tts_model
ARISE_TTS_VOICE = ENV.arise_tts_voice
ARISE_MODEL_TIMEOUT_SECONDS = ENV.arise_model_timeout_seconds
ARISE_MODEL_RETRIES = ENV.arise_model_retries
ARISE_DEBOUNCE_SECONDS = ENV.arise_debounce_seconds
ARISE_DEBOUNCE_MAX_SECONDS = ENV.arise_debounce_max_seconds
ARISE_AMBIENT_SECONDS = ENV.arise_ambient_seconds
ARISE_STALE_SECONDS = ENV.arise_stale_seconds
ARISE_SEND_PACE = ENV.arise_send_pace
ARISE_SEND_PACE_MAX_SECONDS = ENV.arise_send_pace_max_seconds
ARISE_DRAFT_SECONDS = ENV.arise_draft_seconds
ARISE_MAX_SENDS_PER_TURN = ENV.arise_max_sends_per_turn
ARISE_FILE_FOLDER = ENV.arise_file_folder
ARISE_FILE_FOLDER_THERE = ENV.arise_file_folder_there or ENV.arise_file_folder
ARISE_MAX_GESTURES_PER_TURN = ENV.arise_max_gestures_per_turn
ARISE_GESTURE_COOLDOWN_SECONDS = ENV.arise_gesture_cooldown_seconds
ARISE_MAX_EDITS = ENV.arise_max_edits
ARISE_MAX_STEPS = ENV.arise_max_steps
ARISE_SKILL_FULL_TEXT_MAX_CHARS = ENV.arise_skill_full_text_max_chars
ARISE_MEDIA_ALLOWED_HOSTS = env.words(ENV.arise_media_allowed_hosts)
ARISE_SEND_TIMEOUT_SECONDS = ENV.arise_send_timeout_seconds
ARISE_SETTLE_SECONDS = ENV.arise_settle_seconds
ARISE_LEASE_SECONDS = ENV.arise_lease_seconds
ARISE_METRICS = ENV.arise_metrics
ARISE_METRICS_TOKEN = ENV.arise_metrics_token
ARISE_FAILPOINT = ENV.arise_failpoint
ARISE_ADMIN_USERNAME = ENV.arise_admin_username
ARISE_ADMIN_PASSWORD = ENV.arise_admin_password
# A command beside a running `up` means that one, unless it is told otherwise.
_running = None if {"host", "port"} & ENV.model_fields_set else runfile.read(ARISE_HOME)
ARISE_HOST = _running.host if _running else ENV.host
ARISE_PORT = _running.port if _running else ENV.port

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "filters": {"without_traces": {"()": "arise_site.log_lines.WithoutTraces"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": ENV.arise_log_level},
    "loggers": {
        "httpx2": {"level": "WARNING"},
        "django.request": {"filters": ["without_traces"]},
        # A stray Host is refused; a traceback for each would only fill the log.
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        "axes": {"level": "WARNING"},
        "daphne": {"level": "WARNING"},
        "django.channels.server": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
    },
}

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "arise",
    "SITE_HEADER": "arise",
    "SITE_SUBHEADER": _("Operations console"),
    "SITE_SYMBOL": "forum",
    "SHOW_HISTORY": True,
    # There is no other site than the console that it could lead back to.
    "SITE_URL": None,
    "SHOW_VIEW_ON_SITE": False,
    "DASHBOARD_CALLBACK": "arise_site.dashboard.overview",
    "ENVIRONMENT": "arise_site.dashboard.environment",
    "STYLES": [lambda _request: static("console/console.css")],
    "SCRIPTS": [lambda _request: static("console/fields.js")],
    "ACCOUNT": {
        "navigation": [
            {"title": _("Language and time"), "link": reverse_lazy("preferences")},
            {"title": _("Second factor"), "link": reverse_lazy("second_factor")},
            {"title": _("Change password"), "link": reverse_lazy("admin:password_change")},
        ]
    },
    "SIDEBAR": {"navigation": "arise_site.navigation.sidebar"},
}

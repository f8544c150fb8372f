"""What the environment (and a `.env` file beside manage.py) says, read once, typed and checked.

Names and defaults are those that operators rely on; `docs/operations.md` lists them.
"""

import os
import zoneinfo
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from pydantic import Field, ValidationError, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

from core import failpoints

CHECKOUT = Path(__file__).resolve().parent.parent


MEDIA_KINDS = ("image", "sticker", "voice", "video")
"""What a chat model may be said to take; so far only pictures are shown to any."""


def words(value: str) -> list[str]:
    """The words of a comma-separated list."""
    return [word.strip() for word in value.split(",") if word.strip()]


class Environment(BaseSettings):
    """One field a variable; the field's name in capitals is the variable's name."""

    model_config = SettingsConfigDict(
        env_file=os.environ.get("ARISE_ENV_FILE", CHECKOUT / ".env"),
        env_ignore_empty=True,
        extra="ignore",
        case_sensitive=False,
    )

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=1, le=65535)
    django_secret_key: str = ""
    django_debug: bool = False
    time_zone: str = "UTC"
    database_url: str = ""
    redis_url: str = ""

    arise_home: Path = CHECKOUT / "var"
    arise_allowed_hosts: str = ""
    arise_admin_username: str = "admin"
    arise_admin_password: str = ""
    arise_https: bool = False
    arise_session_hours: float = Field(default=168, gt=0)
    arise_require_second_factor: bool = False

    openai_api_key: str = ""
    openai_base_url: str = ""
    arise_demo_model_url: str = ""
    arise_chat_model: str = ""
    arise_chat_model_kinds: str = ""
    arise_vision_model: str = ""
    arise_guard_model: str = ""
    arise_embedding_model: str = Field(default="", max_length=200)
    arise_tts_model: str = ""
    arise_tts_voice: str = "alloy"
    arise_model_timeout_seconds: float = Field(default=60, gt=0)
    arise_model_retries: int = Field(default=3, ge=0, le=10)

    arise_debounce_seconds: float = Field(default=1.5, ge=0)
    arise_debounce_max_seconds: float = Field(default=5, ge=0)
    arise_ambient_seconds: float = Field(default=5, ge=0)
    arise_stale_seconds: float = Field(default=30, ge=0)
    arise_send_pace: float = Field(default=0.05, ge=0)
    arise_send_pace_max_seconds: float = Field(default=8, ge=0)
    arise_draft_seconds: float = Field(default=2, ge=0)
    arise_max_sends_per_turn: int = Field(default=5, ge=1)
    arise_file_folder: str = ""
    arise_file_folder_there: str = ""
    arise_max_gestures_per_turn: int = Field(default=3, ge=0)
    arise_gesture_cooldown_seconds: float = Field(default=60, ge=0)
    arise_max_edits: int = Field(default=2, ge=0)
    arise_max_steps: int = Field(default=8, ge=1)
    arise_skill_full_text_max_chars: int = Field(default=4000, ge=1)
    arise_media_allowed_hosts: str = ""
    arise_send_timeout_seconds: float = Field(default=20, gt=0)
    arise_settle_seconds: float = Field(default=20, ge=0)
    arise_lease_seconds: float = Field(default=8, gt=0)
    arise_worker_concurrency: int = Field(default=64, ge=1)
    arise_log_level: str = "INFO"
    arise_metrics: bool = False
    arise_metrics_token: str = ""
    arise_failpoint: str = ""

    @field_validator("database_url")
    @classmethod
    def _is_postgres(cls, value: str) -> str:
        if value and not value.startswith(("postgres://", "postgresql://")):
            raise PydanticCustomError("address", "is no postgresql:// address")
        return value

    @field_validator("redis_url")
    @classmethod
    def _is_redis(cls, value: str) -> str:
        if value and not value.startswith(("redis://", "rediss://", "unix://")):
            raise PydanticCustomError("address", "is no redis://, rediss:// or unix:// address")
        return value

    @field_validator("time_zone")
    @classmethod
    def _is_zone(cls, value: str) -> str:
        try:
            zoneinfo.ZoneInfo(value)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            raise PydanticCustomError("zone", "is no time zone, as Asia/Shanghai is one") from None
        return value

    @field_validator("arise_chat_model_kinds")
    @classmethod
    def _are_kinds(cls, value: str) -> str:
        if not set(words(value.lower())) <= set(MEDIA_KINDS):
            raise PydanticCustomError("kinds", f"takes {', '.join(MEDIA_KINDS)}")
        return value.lower()

    @field_validator("arise_media_allowed_hosts")
    @classmethod
    def _are_hosts(cls, value: str) -> str:
        if any(character in value for character in "/@?#"):
            raise PydanticCustomError("hosts", "takes hosts, as 127.0.0.1:5700, not addresses")
        return value.lower()

    @field_validator("arise_failpoint")
    @classmethod
    def _is_failpoint(cls, value: str) -> str:
        try:
            failpoints.parse(value)
        except ValueError as error:
            raise PydanticCustomError("failpoint", "{why}", {"why": str(error)}) from None
        return value

    @field_validator("arise_log_level")
    @classmethod
    def _is_level(cls, value: str) -> str:
        levels = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
        if value.upper() not in levels:
            raise PydanticCustomError("level", f"is none of {', '.join(levels)}")
        return value.upper()


def read() -> Environment:
    """Read the environment; a wrong value raises ImproperlyConfigured with one line for each."""
    try:
        return Environment()
    except ValidationError as error:
        lines = [
            f"{'.'.join(str(part) for part in fault['loc']).upper()}: {fault['msg']}"
            for fault in error.errors()
        ]
        raise ImproperlyConfigured("; ".join(lines)) from None

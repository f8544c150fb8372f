"""The Celery application, and what a worker process does besides its tasks.

Tasks only wake: what is due stands in Postgres, and each worker looks there once a second.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from celery import Celery, signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arise_site.settings")

app = Celery("arise")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

logger = logging.getLogger(__name__)
SWEEP_SECONDS = 1.0
LOST_CLAIMS_SECONDS = 60.0


@signals.worker_ready.connect
def start_upkeep(**_: Any) -> None:
    """Start the sweep and the heartbeat of leases beside the worker's tasks."""
    from django.conf import settings  # noqa: PLC0415  (settings are read when the app is set up)

    from core import leases, tasks  # noqa: PLC0415  (models need a set-up Django)
    from core.llm import endpoint  # noqa: F401, PLC0415  (slow to import: before the first turn)
    from stickers import claims  # noqa: PLC0415  (models need a set-up Django)

    _every(SWEEP_SECONDS, tasks.start_due, "sweep")
    _every(settings.ARISE_LEASE_SECONDS / 4, leases.extend_held, "leases")
    _every(LOST_CLAIMS_SECONDS, claims.settle_lost, "lost claims")


@signals.worker_shutting_down.connect
def hand_over(**_: Any) -> None:
    """Turns stop after their current step and give their leases back; another worker goes on."""
    from core import turns  # noqa: PLC0415  (models need a set-up Django)

    turns.stopping.set()


def _every(seconds: float, action: Callable[[], object], name: str) -> None:
    """Run `action` again and again in a thread of its own; what fails is logged and tried again."""

    def loop() -> None:
        from core.database import give_back  # noqa: PLC0415  (models need a set-up Django)

        while True:
            started = time.monotonic()
            try:
                action()
            except Exception:
                logger.exception("%s failed; it is tried again", name)
            finally:
                give_back()
            time.sleep(max(0.05, seconds - (time.monotonic() - started)))

    threading.Thread(target=loop, name=name, daemon=True).start()

"""Forgetting goes in steps, each a short transaction, so that nobody waits for a large chat.

Meanwhile the chat's lease is taken: a turn that runs in it commits nothing any more, and no other
begins over what is half gone. Where it breaks off, the lease lapses; called again it does the rest.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from auditlog.models import LogEntry as Change
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import Model, QuerySet

from core import leases
from core.leases import Held, Lease
from core.models import Chat

OWNER = "forget"
MOST = 500
"""Rows of one step."""


@contextmanager
def work(chat_id: int) -> Iterator[Lease]:
    """The chat's lease, for as long as it takes to forget something in it."""
    lease = leases.take_over(chat_id, OWNER)
    try:
        yield lease
    finally:
        leases.release(lease)


@contextmanager
def step(lease: Lease) -> Iterator[Held]:
    """One transaction of it; LeaseLost where another one forgets in the chat."""
    with transaction.atomic():
        yield leases.hold(lease)
        leases.extend(lease)


def delete(rows: QuerySet[Any], most: int = MOST) -> int:
    """Delete some of these rows and what hangs on them; how many."""
    keys = list(rows.order_by("pk").values_list("pk", flat=True)[:most])
    # Rows may be wide, and are not read to be deleted.
    rows.model._default_manager.filter(pk__in=keys).only("pk").delete()
    blank_log(rows.model, keys)
    return len(keys)


def blank_log(model: type[Model], keys: Sequence[int], *, name: str = "–") -> None:
    """Take the words out of the console's history of these rows, and out of the audit of changes: they
    keep who did what, and when."""
    of_model = ContentType.objects.get_for_model(model)
    texts = [str(key) for key in keys]
    LogEntry.objects.filter(content_type=of_model, object_id__in=texts).update(object_repr=name)
    changes = Change.objects.filter(content_type=of_model, object_pk__in=texts)
    changes.update(object_repr=name)


def rename_choice(chat: Chat, *, name: str) -> None:
    """Call a chat otherwise where the audit tells that it was chosen, or not any more: of a skill, of
    what somebody is limited to. Such rows name it as it was called then."""
    for change in Change.objects.filter(changes__icontains=chat.key):
        for told in change.changes.values():
            if isinstance(told, dict) and isinstance(told.get("objects"), list):
                told["objects"] = [
                    name if one == chat.key or str(one).endswith(f"({chat.key})") else one
                    for one in told["objects"]
                ]
        change.save(update_fields=["changes"])

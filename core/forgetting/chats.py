"""Forgetting a chat: all that was said and done in it, and what was learned from it.

Its row stays, with what operators set and the budgets that it has used; consent to learning ends.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial

from django.contrib.auth.base_user import AbstractBaseUser
from django.db.models import Max, TextField
from django.db.models.functions import Cast

from core import audit, chatsettings
from core.database import ClockTimestamp
from core.forgetting import batches, registry
from core.leases import Held
from core.media import fetching, store
from core.models import (
    Chat,
    Decision,
    InboundItem,
    ItemMedia,
    Member,
    OutboxEntry,
    SentMessage,
    Turn,
)

FORGOTTEN = "forgotten"
"""The reason of what was under way when it was forgotten."""
_KEPT = re.compile(f"{fetching.KEPT}([0-9a-f]{{64}})")
_TURNS = 100  # their contexts are long


def forget(
    chat: Chat, *, by: AbstractBaseUser | None = None, with_row: bool = False
) -> Counter[str]:
    """Remove what is stored of a chat, up to now; how many rows of each kind.

    What is being sent at this moment is removed too: its answer finds nothing. `with_row` takes the
    chat itself along. Raises LeaseLost where the same is forgotten twice at once.
    """
    went: Counter[str] = Counter()
    with batches.work(chat.pk) as lease:
        with batches.step(lease) as held:
            if not with_row:  # that a row went is kept by itself
                _keep(held.chat, by)
            last = _close(held, by)
        steps: list[Callable[[], registry.Counts]] = [
            partial(_sent, chat.pk),
            partial(_gestures, chat.pk),
            partial(items, chat.pk, last),
            partial(_decisions, chat.pk),
            partial(_turns, chat.pk),
            partial(_members, chat.pk),
            *(partial(part.of_chat, chat.pk) for part in registry.parts()),
        ]
        for remove in steps:
            while True:
                with batches.step(lease):
                    removed = remove()
                if not any(removed.values()):
                    break
                went.update(removed)
        if with_row:
            with batches.step(lease) as held:
                # Nothing comes in any more: the row is locked.
                while any((removed := items(chat.pk)).values()):
                    went.update(removed)
                held.chat.delete()
                # That it went is kept too, under its name.
                batches.blank_log(Chat, [chat.pk])
                batches.rename_choice(chat, name="–")
    went["chats"] += 1
    return +went


def forget_all(chats: Iterable[Chat], *, by: AbstractBaseUser | None = None) -> Counter[str]:
    """Forget several chats, one after the other: a group in which several bots sit is one of each."""
    went: Counter[str] = Counter()
    for chat in chats:
        went.update(forget(chat, by=by))
    return went


def _close(held: Held, by: AbstractBaseUser | None) -> int:
    """Let nothing more leave or be judged, and clear the row; the last item that goes."""
    chat = held.chat
    OutboxEntry.objects.filter(chat=chat, state=OutboxEntry.State.PENDING).update(
        state=OutboxEntry.State.DISCARDED, reason=FORGOTTEN, settled_at=ClockTimestamp()
    )
    Turn.objects.filter(chat=chat, state=Turn.State.RUNNING).update(
        state=Turn.State.ABANDONED, error=FORGOTTEN, ended_at=held.now
    )
    last: int = InboundItem.objects.filter(chat=chat).aggregate(last=Max("pk"))["last"] or 0
    cleared = {
        "title": "",
        "messages": 0,
        "last_message_at": None,
        "turn_due_at": None,
        "addressed_at": None,
        "addressed_by": [],
        "hinted_at": None,
        "gap_after": None,
        "members_synced_at": None,
        # Numbers only rise, so that what comes next is judged, and named, as if nothing had gone.
        "judged_item_id": max(chat.judged_item_id, last),
    }
    if chat.sticker_learning:
        cleared |= {"sticker_learning": False, **chatsettings.consent(by)}
    Chat.objects.filter(pk=chat.pk).update(**cleared)
    # A private chat is called as its person is.
    name = "–" if chat.kind == Chat.Kind.PRIVATE else chat.key
    batches.blank_log(Chat, [chat.pk], name=name)
    batches.rename_choice(chat, name=name)
    return last


def _keep(chat: Chat, by: AbstractBaseUser | None) -> None:
    """Keep in the audit who forgot a chat, before its names are taken out of there."""
    changes: dict[str, tuple[object, object]] = {"messages": (chat.messages, 0)}
    if chat.sticker_learning:
        changes["sticker_learning"] = (True, False)
    audit.keep(chat, changes, by=by)


def _sent(chat_id: int) -> registry.Counts:
    messages = SentMessage.objects.filter(chat=chat_id).order_by("pk")
    keys = list(messages.values_list("pk", flat=True)[: batches.MOST])
    entries = OutboxEntry.objects.filter(message__in=keys)
    # Locked in the order in which whoever settles them does.
    locked = list(entries.select_for_update().order_by("pk").values_list("pk", flat=True))
    SentMessage.objects.filter(pk__in=keys).update(entry=None)
    OutboxEntry.objects.filter(pk__in=locked).only("pk").delete()
    SentMessage.objects.filter(pk__in=keys).delete()
    batches.blank_log(OutboxEntry, locked)
    batches.blank_log(SentMessage, keys)
    return {"sent_messages": len(keys)}


def _gestures(chat_id: int) -> registry.Counts:
    return {"gestures": batches.delete(OutboxEntry.objects.filter(chat=chat_id))}


def _decisions(chat_id: int) -> registry.Counts:
    return {"decisions": batches.delete(Decision.objects.filter(chat=chat_id))}


def _turns(chat_id: int) -> registry.Counts:
    return {"turns": batches.delete(Turn.objects.filter(chat=chat_id), _TURNS)}


def _members(chat_id: int) -> registry.Counts:
    return {"members": batches.delete(Member.objects.filter(chat=chat_id))}


def items(chat_id: int, last: int | None = None) -> registry.Counts:
    """Delete some of a chat's items, with what was fetched of them."""
    rows = InboundItem.objects.filter(chat=chat_id)
    if last is not None:
        rows = rows.filter(pk__lte=last)
    keys = list(rows.order_by("pk").values_list("pk", flat=True)[: batches.MOST])
    return delete_items(keys)


def delete_items(keys: list[int]) -> registry.Counts:
    """Delete items with what was fetched of them; files that nothing else uses go once that is
    committed."""
    # Who is just keeping what it fetched of one waits here, and then finds it gone.
    rows = InboundItem.objects.select_for_update().filter(pk__in=keys).order_by("pk")
    keys = list(rows.values_list("pk", flat=True))
    media = ItemMedia.objects.filter(item__in=keys)
    digests = {digest for row in media.values_list("sha256", "view") for digest in row if digest}
    said = InboundItem.objects.annotate(said=Cast("parts", TextField())).filter(pk__in=keys)
    for parts in said.filter(said__contains=fetching.KEPT).values_list("parts", flat=True):
        values = [str(value) for part in parts for value in part["data"].values()]
        # Of a part anything may come in; a digest is the name of a file.
        digests.update(found[1] for found in map(_KEPT.fullmatch, values) if found)
    fetched = media.count()
    media.delete()
    InboundItem.objects.filter(pk__in=keys).only("pk").delete()
    for digest in sorted(digests):
        store.remove(digest)
    return {"items": len(keys), "media": fetched}

"""What a person may reach in the console: everything, or chosen bots and chats alone.

The one place that says so: pages declare how their rows belong to chats or bots (a Rule), and lists,
pages, acts, search, choices and figures are all made of rows that went through `narrowed`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Model, Q, QuerySet

from core.models import Chat, PersonLimit

Row = TypeVar("Row", bound=Model)
Person = User | AnonymousUser
_KNOWN = "_reach"


@dataclass(frozen=True, slots=True)
class Reach:
    """The keys of the bots that a limited person reaches with all of their chats, and of the single
    chats besides."""

    bots: frozenset[int]
    chats: frozenset[int]

    def chat_keys(self) -> QuerySet[Any]:
        """The keys of all chats within reach, for use inside another query."""
        within = Q(pk__in=self.chats) | Q(bot__in=self.bots)
        return Chat.objects.filter(within).order_by().values("pk")


@dataclass(frozen=True, slots=True)
class Rule:
    """How the rows of a model belong to chats or bots: `narrow` leaves what is within a reach.

    With `may_edit=False` limited people only look at them.
    """

    narrow: Callable[[QuerySet[Any], Reach], QuerySet[Any]]
    may_edit: bool = True


def to_chat(path: str = "chat") -> Rule:
    """Rows whose `path` leads to their chat; `pk` for chats themselves."""
    return Rule(lambda rows, reach: rows.filter(**{f"{path}__in": reach.chat_keys()}))


def to_bot(path: str = "bot") -> Rule:
    """Rows whose `path` leads to their bot, and which tell of more than one chat of it; `pk` for bots
    themselves. Who reaches only some chats of a bot reaches none of them."""
    return Rule(lambda rows, reach: rows.filter(**{f"{path}__in": reach.bots}))


UNLIMITED_ALONE = Rule(lambda rows, _reach: rows.none(), may_edit=False)
"""Rows that concern the whole site: limited people don't see them."""


def of(person: Person) -> Reach | None:
    """What a person reaches; None: everything. Kept with the person, who lives for one request."""
    if person.is_superuser:
        return None
    if not hasattr(person, _KNOWN):
        setattr(person, _KNOWN, _load(person))
    known: Reach | None = getattr(person, _KNOWN)
    return known


def narrowed(rows: QuerySet[Row], rule: Rule, person: Person) -> QuerySet[Row]:
    """The rows that a person reaches."""
    reach = of(person)
    return rows if reach is None else rule.narrow(rows, reach)


def _load(person: Person) -> Reach | None:
    limit = PersonLimit.objects.filter(person=person.pk).first()
    if limit is None:
        return None
    bots, chats = limit.bots.values_list("pk", flat=True), limit.chats.values_list("pk", flat=True)
    return Reach(frozenset(bots), frozenset(chats))

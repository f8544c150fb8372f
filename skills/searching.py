"""Finding a chat's skills by words, where the index has no room for all of them."""

from functools import reduce
from operator import add, or_

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When
from django.db.models.functions import Collate

from skills.models import Skill

MOST_WORDS = 8
MOST_FOUND = 10
_FIELDS = (("name", 4), ("description", 2), ("body", 1))


def find(skills: QuerySet[Skill], query: str) -> QuerySet[Skill]:
    """The skills that have any word of the query: best first, those with more words before others.

    A word in the name counts more than one in the description, and that more than one in the text.
    Letters of either case are the same.
    """
    words = list(dict.fromkeys(query.split()))[:MOST_WORDS]
    if not words:
        return skills.none()
    hits = [
        (Q(**{f"{field}__icontains": word}), weight) for word in words for field, weight in _FIELDS
    ]
    score = reduce(
        add,
        (
            Case(When(hit, then=Value(w)), default=Value(0), output_field=IntegerField())
            for hit, w in hits
        ),
    )
    found = skills.filter(reduce(or_, (hit for hit, _ in hits))).annotate(score=score)
    return found.order_by("-score", Collate("name", "C"))

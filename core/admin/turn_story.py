"""What a turn's page tells, loaded with a fixed number of queries and laid out for its template."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from core.admin import conversation, display, holding, reasons, turn_time
from core.media import references
from core.models import (
    Chat,
    Decision,
    InboundItem,
    OutboxEntry,
    SentMessage,
    ToolCall,
    Turn,
    TurnStep,
)

_MOST_ITEMS = 100
# A picture inside a request is a wall of base64: the page says only that it was there.
_LONGEST_DATA_URL = 60


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a model request."""

    role: str
    text: str
    calls: str = ""
    pictures: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call with what the model was told."""

    name: str
    arguments: str
    result: str
    accepted: bool
    message: SentMessage | None


@dataclass(frozen=True, slots=True)
class Step:
    """One model call. `unsent` is text outside tools: nobody but the operator reads it."""

    row: TurnStep
    number: int
    added: Sequence[Said]
    unsent: str
    calls: Sequence[Call]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was gathered, and what the gate decided about it."""

    decision: Decision | None
    reason: reasons.Reason
    items: Sequence[InboundItem]
    lines: Sequence[conversation.Line]
    more_items_url: str


@dataclass(frozen=True, slots=True)
class Story:
    """A turn from what woke it to what became of its words."""

    turn: Turn
    judgement: Judgement
    spans: Sequence[turn_time.Span]
    context: Sequence[Said]
    tools: Sequence[tuple[str, str]]
    steps: Sequence[Step]
    messages: Sequence[SentMessage]
    entries: Sequence[OutboxEntry]
    took: str
    model_seconds: float
    retries: int


def find(turns: QuerySet[Turn], object_id: str) -> Turn | None:
    """The one of these turns that a page's address names, with its chat and bot."""
    if not object_id.isdecimal() or len(object_id) > 18:
        return None
    return turns.select_related("chat__bot").filter(pk=object_id).first()


def tell(turn: Turn) -> Story:
    """Load everything about `turn`."""
    decision = Decision.objects.filter(turn=turn).first()
    judgement = _judgement(turn.chat, decision, turn.first_item_id, turn.last_item_id)
    messages = turn.sent_messages.select_related("entry").defer("entry__payload").order_by("pk")
    rows = turn.step_set.prefetch_related("tool_calls").order_by("index")
    by_handle = {message.handle: message for message in messages}
    steps = [_step(row, by_handle) for row in rows]
    entries = list(turn.outbox.select_related("message").order_by("pk"))
    holding.give([*entries, *(message.entry for message in messages)])
    return Story(
        turn=turn,
        judgement=judgement,
        spans=turn_time.spans(turn, judgement.items, [step.row for step in steps], entries),
        context=[said(message, turn.pk) for message in turn.messages],
        tools=[(_tool_name(tool), display.pretty(tool)) for tool in turn.tools],
        steps=steps,
        messages=list(messages),
        entries=entries,
        took=duration(turn),
        model_seconds=sum(step.row.model_seconds for step in steps),
        retries=sum(step.row.retries for step in steps),
    )


def judgement(decision: Decision) -> Judgement:
    """What a decision was about."""
    return _judgement(decision.chat, decision, decision.first_item_id, decision.last_item_id)


def _judgement(chat: Chat, decision: Decision | None, first: int, last: int) -> Judgement:
    covered = InboundItem.objects.filter(chat=chat, pk__gte=first, pk__lte=last)
    items = list(covered.order_by("pk")[: _MOST_ITEMS + 1])
    more = display.list_url(InboundItem, chat=chat.pk, id__gte=first, id__lte=last)
    return Judgement(
        decision=decision,
        reason=reasons.told(decision.reason if decision else ""),
        items=items[:_MOST_ITEMS],
        lines=conversation.of_items(chat, items[:_MOST_ITEMS]),
        more_items_url=more if len(items) > _MOST_ITEMS else "",
    )


def said(message: Any, turn_id: int) -> Said:
    """Lay out one chat-completions message of a turn, whatever it is."""
    if not isinstance(message, dict):
        return Said("?", display.pretty(message))
    calls = message.get("tool_calls")
    return Said(
        role=str(message.get("role", "?")),
        text=text_of(message.get("content")),
        calls=display.pretty(calls) if calls else "",
        pictures=[
            reverse("admin:core_turn_picture", args=[turn_id, digest])
            for digest in digests([message])
        ],
    )


def digests(messages: Iterable[Any]) -> Sequence[str]:
    """The stored pictures that messages show, in their order."""
    contents = [message.get("content") for message in messages if isinstance(message, dict)]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return [found for part in parts if (found := references.digest(part))]


def text_of(content: Any) -> str:
    """The text of a message's content; parts that are no text are named."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_part(part) for part in content)
    return display.pretty(content)


def duration(turn: Turn) -> str:
    """How long the turn took, for a person."""
    if turn.ended_at is None:
        return ""
    seconds = (turn.ended_at - turn.started_at).total_seconds()
    return _("%(seconds).1f s") % {"seconds": seconds}


def _part(part: Any) -> str:
    if not isinstance(part, dict):
        return display.pretty(part)
    if part.get("type") == "text":
        return str(part.get("text", ""))
    picture = part.get("image_url")
    if isinstance(picture, dict):
        url = str(picture.get("url", ""))
        if url.startswith("data:") and len(url) > _LONGEST_DATA_URL:
            url = _("%(start)s… (%(count)d characters)") % {
                "start": url[:_LONGEST_DATA_URL],
                "count": len(url),
            }
        return f"[image {url}]"
    return display.pretty(part)


def _step(row: TurnStep, by_handle: dict[str, SentMessage]) -> Step:
    answer = row.answer if isinstance(row.answer, dict) else {}
    return Step(
        row=row,
        number=row.index + 1,
        added=[said(message, row.turn_id) for message in row.messages_added],
        unsent=text_of(answer.get("content")).strip(),
        calls=list(calls_of(row.tool_calls.all(), by_handle)),
    )


def calls_of(calls: Iterable[ToolCall], by_handle: Mapping[str, SentMessage]) -> Iterable[Call]:
    """Lay out the calls of one step."""
    for call in sorted(calls, key=lambda call: call.index):
        result = call.result if isinstance(call.result, dict) else {}
        yield Call(
            name=call.name,
            arguments=display.pretty(call.arguments),
            result=display.pretty(call.result),
            accepted=result.get("ok") is True,
            message=by_handle.get(str(result.get("handle", ""))),
        )


def _tool_name(tool: Any) -> str:
    function = tool.get("function") if isinstance(tool, dict) else None
    return str(function.get("name", "?")) if isinstance(function, dict) else "?"

"""`search_stickers`: the model finds a sticker by what it wants to say with it."""

from dataclasses import dataclass

from pydantic import Field

from core.errors import ModelFailure, ToolRefusal
from core.models import ToolCall
from core.text import one_line
from core.toolcalls import ToolContext
from core.tools import queries
from core.tools.registry import Arguments, Tool, ToolResult, register
from stickers import funnel, search
from stickers.models import Sticker

SEARCH = "search_stickers"
MOST_SEARCHES = 5
_LONGEST_SHOWN = 200


class SearchStickers(Arguments):
    query: str = Field(
        description="What you want to say or show with a sticker, in a few words of the language "
        "that the chat speaks: a mood, an answer, a joke."
    )


@dataclass(frozen=True, slots=True)
class Ready:
    """What was made ready: the embedded query, or None where the chat has nothing to search in."""

    query: search.Query | None


def prepare_search(context: ToolContext, arguments: SearchStickers) -> Ready:
    """Embed the query, before the step's transaction, where it is worth its price."""
    text = queries.clean(arguments.query)
    if not text:
        raise ToolRefusal("empty_query", "The query has no words; say what the sticker shall say.")
    if _searches(context) >= MOST_SEARCHES:
        raise ToolRefusal(
            "search_limit",
            f"You have searched {MOST_SEARCHES} times in this turn; take what you found, or words.",
        )
    if not Sticker.objects.filter(search.usable(context.chat)).exists():
        return Ready(None)
    try:
        return Ready(search.ask(context.chat, text))
    except ModelFailure as failure:
        raise ToolRefusal(
            "search_failed",
            f"Stickers can't be searched now ({failure.code}); say it in words.",
        ) from failure


def _searches(context: ToolContext) -> int:
    """Searches of this turn so far, those of the same step included."""
    done = ToolCall.objects.filter(step__turn=context.turn, name=SEARCH).count()
    return done + context.earlier.count(SEARCH)


def search_stickers(context: ToolContext, arguments: SearchStickers) -> ToolResult:
    """The refs and meanings of the stickers that fit, best first."""
    ready = context.prepared
    if not isinstance(ready, Ready) or ready.query is None:
        return ToolResult({"stickers": [], "message": "This chat has no stickers yet."})
    hits = search.find(context.chat, ready.query)
    if not hits:
        sentence = "No sticker fits that. Search for something else, or say it in words."
        return ToolResult({"stickers": [], "message": sentence})
    funnel.count(context.chat.pk, funnel.OFFERED, len(hits))
    return ToolResult({"stickers": [_told(hit.sticker) for hit in hits]})


def _told(sticker: Sticker) -> dict[str, str]:
    told = {
        "ref": sticker.ref,
        "meaning": sticker.meaning,
        "use_when": sticker.use_when,
        "avoid_when": sticker.avoid_when,
    }
    return {name: one_line(value, _LONGEST_SHOWN) for name, value in told.items() if value}


def load() -> None:
    """Register the tools; called once, when the app is ready."""
    register(
        Tool(
            name=SEARCH,
            description="Find stickers of this chat by what one says with them. Gives refs for the "
            "`sticker` of send_message, and what each means; none where nothing fits.",
            arguments=SearchStickers,
            apply=search_stickers,
            capability="sticker",
            prepare=prepare_search,
        )
    )

"""What a turn asked its model, for people who want to ask it themselves."""

import json
import shlex

from django.conf import settings

from core import journal, text
from core.admin import turn_story
from core.llm import client
from core.media import references
from core.models import Turn, TurnStep

OPENAI = "https://api.openai.com/v1"
"""Where the openai package asks when it is given no address."""
_END = "END_OF_REQUEST"


def curl(turn: Turn, index: int) -> str | None:
    """A shell command that asks what step `index` asked, word for word, with the key taken from the
    environment; None where there is no such step, or its words were forgotten.

    The body is one line of a quoted here-document: a picture makes it longer than any argument may be.
    """
    step = TurnStep.objects.filter(turn=turn, index=index).first()
    if step is None or turn.is_forgotten:
        return None
    messages = [*journal.request(turn, before_step=index), *step.messages_added]
    body = client.body(turn.model, references.filled(messages), turn.tools)
    return command(json.dumps(body, ensure_ascii=False))


def command(body: str) -> str:
    """The command that posts one line of JSON to the model's endpoint."""
    address = (settings.ARISE_MODEL_BASE_URL or OPENAI).rstrip("/") + "/chat/completions"
    return (
        f"curl -sS {shlex.quote(text.redact(address))} \\\n"
        '  -H "Authorization: Bearer $OPENAI_API_KEY" \\\n'
        "  -H 'Content-Type: application/json' \\\n"
        f"  --data-binary @- <<'{_END}'\n{body}\n{_END}\n"
    )


def shows(turn: Turn, sha256: str) -> bool:
    """Whether the turn's model was shown a picture."""
    added = TurnStep.objects.filter(turn=turn).values_list("messages_added", flat=True)
    messages = [*turn.messages, *(message for step in added for message in step)]
    return sha256 in turn_story.digests(messages)

"""What templates of the console ask for: where one is, and what stored codes mean.

The theme loads all libraries while its own classes are being made, on which core.admin is built: that
is imported when it is asked.
"""

from typing import Any, cast

from django import template
from django.template import Context
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag(takes_context=True)
def places(context: Context) -> Any:
    """The way that leads to the page (core.admin.trail)."""
    from core.admin import trail  # noqa: PLC0415

    return trail.leading_to(cast("dict[str, Any]", context.flatten()))


@register.filter
def told(code: str) -> SafeString | str:
    """Why a turn failed, or something was not answered."""
    from core.admin import display, reasons  # noqa: PLC0415

    return display.coded(reasons.told(code).said, code)


@register.filter
def told_of_entry(code: str) -> SafeString | str:
    """Why an Outbox entry ended as it did, or waits."""
    from core.admin import display, reasons  # noqa: PLC0415

    return display.coded(reasons.told_of_entry(code), code)


@register.filter
def waits(entry: Any) -> str:
    """Why an Outbox entry that is pending does not leave; empty for any other."""
    from core.admin import holding  # noqa: PLC0415

    return holding.reason(entry)


@register.filter
def in_brief(code: str) -> SafeString | str:
    """What holds the bot's words, in a word or two."""
    from core.admin import display, reasons  # noqa: PLC0415

    return display.coded(reasons.in_brief(code), code)


@register.filter
def ending(code: str) -> SafeString | str:
    """How a model call ended."""
    from core.admin import display, reasons  # noqa: PLC0415

    return display.coded(reasons.ending(code), code)


@register.filter
def speaker(code: str) -> SafeString | str:
    """Whose message of a model request one is."""
    from core.admin import display, reasons  # noqa: PLC0415

    return display.coded(reasons.speaker(code), code)


@register.filter
def said_in_history(entry: Any) -> str:
    """What one entry of the console's history says, its fields in the language of whoever reads it."""
    from core.admin import history  # noqa: PLC0415

    return history.said(entry)

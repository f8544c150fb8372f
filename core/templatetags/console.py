"""What templates of the console ask for: where one is.

The theme loads all libraries while its own classes are being made, on which core.admin is built: that
is imported when it is asked.
"""

from typing import Any, cast

from django import template
from django.template import Context

register = template.Library()


@register.simple_tag(takes_context=True)
def places(context: Context) -> Any:
    """The way that leads to the page (core.admin.trail)."""
    from core.admin import trail  # noqa: PLC0415

    return trail.leading_to(cast("dict[str, Any]", context.flatten()))

"""What templates of the gallery ask for. Loaded before the console's pages are made, which are therefore
imported when it is asked (see core.templatetags.console)."""

from django import template
from django.utils.safestring import SafeString

register = template.Library()


@register.filter
def why_not(code: str) -> SafeString | str:
    """Why a sticker is not kept."""
    from core.admin import display  # noqa: PLC0415
    from stickers.admin import reasons  # noqa: PLC0415

    return display.coded(reasons.told(code), code)

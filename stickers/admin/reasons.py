"""Why a sticker is not kept, in words; the reasons that core knows stand in core.admin.reasons."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.admin import reasons
from stickers.acts import BY_OPERATOR
from stickers.wishes import REASON as MEMBER_WISH

_GUARD = "guard_"
_KNOWN: Mapping[str, str | Promise] = {
    BY_OPERATOR: gettext_lazy("An operator decided so."),
    MEMBER_WISH: gettext_lazy("A member of the chat asked for it."),
    "learning_off": gettext_lazy("Learning was switched off meanwhile."),
    "no_outcome": gettext_lazy("Its worker died while it was being learned."),
    "not_kept": gettext_lazy("Its picture could not be stored."),
    "sensitive": gettext_lazy("The model finds this picture sensitive."),
    "no_verdict": gettext_lazy("The model did not say whether it is sensitive."),
    "no_meaning": gettext_lazy("The model gave no meaning that can be used."),
    "cut_off": gettext_lazy("The model's answer was cut off."),
    "no_call": gettext_lazy("The model answered without the tool."),
    "many_calls": gettext_lazy("The model answered more than once."),
    "other_tool": gettext_lazy("The model called another tool."),
    "broken_json": gettext_lazy("The model's answer can't be read."),
    "link": gettext_lazy("Its texts have a link in them."),
    "personal_data": gettext_lazy("Its texts have somebody's data in them."),
    "markup": gettext_lazy("Its texts have markup in them."),
    "tool": gettext_lazy("Its texts speak of tools."),
    "impersonation": gettext_lazy("Its texts speak as if they were the bot's."),
    "instruction": gettext_lazy("Its texts tell the bot what to do."),
    "guard_veto": gettext_lazy("The guard's model refused it."),
}


def told(code: str) -> str:
    """What a code means, in a sentence; one that has no words stands for itself."""
    if code in _KNOWN:
        return str(_KNOWN[code])
    if code.startswith(_GUARD):
        return _("The guard gave no answer that can be used. %(why)s") % {
            "why": told(code.removeprefix(_GUARD))
        }
    return str(reasons.told(code).said)

"""The words of the page's script, in the person's language; `{name}` stands for what it fills in."""

from django.utils.translation import gettext as _


def for_script() -> dict[str, str]:
    """Each text by its name in the script."""
    return {
        "connecting": _("Connecting…"),
        "connected": _("Connected"),
        "replaced": _("The playground was opened in another tab, which speaks now."),
        "withdrawn": _("You may not use the playground any more, or your session is over."),
        "lost": _("The connection is lost; it is tried again."),
        "refused": _("The connection was refused. Load the page again."),
        "take_over": _("Speak from this tab"),
        "decision": _("why"),
        "react": _("React"),
        "quote": _("Quote"),
        "recall": _("Recall"),
        "recalled": _("recalled"),
        "picture": _("picture"),
        "sticker": _("sticker"),
        "voice": _("voice"),
        "file": _("file {name}"),
        "poked": _("{who} pokes {whom}"),
        "liked": _("{who} likes the profile of {whom}"),
        "joined": _("{who} came into the group"),
        "left": _("{who} left the group"),
        "quotes": _("quotes"),
        "gone": _("a message that is not here any more"),
        "quoting": _("Quoting: {words}"),
        "private_with": _("In private with {who}"),
        "in_group": _("In the group"),
        "hint_group": _(
            "Nothing was said here yet. Say something below as one of the members: the bot answers who"
            " mentions it, quotes it or pokes it."
        ),
        "hint_private": _(
            "Nothing was said here yet. Say something below: in private the bot answers everything."
        ),
        "owner": _("owner"),
        "admin": _("administrator"),
        "member": _("member"),
        "too_large": _("That file is larger than 4 MiB."),
        "no_picture": _("That is no picture that can be shown."),
        "not_connected": _("Not sent: there is no connection."),
        "fault_error": _("An answer with an error was given: {what}"),
        "fault_late": _("The answer comes late: {what}"),
        "fault_silent": _("No answer is given: {what}"),
        "learns": _("Stickers are learned here."),
        "learns_not": _("Stickers are not learned here."),
        "chat_page": _("the chat's page"),
        "bot": _("bot"),
    }

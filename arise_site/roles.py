"""The four roles of people who work in the console: groups with rights, made by a migration.

Each has what the one before it has. Operators may change the groups afterwards: what a later migration
grants is only what is new in it.
"""

from typing import Any

from django.apps import apps as installed
from django.contrib.auth.management import create_permissions
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

VIEWER, MODERATOR, OPERATOR, OWNER = "viewer", "moderator", "operator", "owner"
ALL = ("add", "change", "delete", "view")

ADDED: dict[str, dict[str, tuple[str, ...]]] = {
    VIEWER: {
        "core.bot": ("view",),
        "core.chat": ("view",),
        "core.member": ("view",),
        "core.inbounditem": ("view",),
        "core.decision": ("view",),
        "core.turn": ("view",),
        "core.sentmessage": ("view",),
        "core.outboxentry": ("view",),
        "skills.skill": ("view",),
        "stickers.sticker": ("view",),
        "botgateway.connection": ("view",),
        "botgateway.refusedconnection": ("view",),
        "auditlog.logentry": ("view",),
    },
    MODERATOR: {
        "core.outboxentry": ("change", "settle", "moderate"),
        "stickers.sticker": ("change", "delete"),
    },
    OPERATOR: {
        "core.bot": ("add", "change", "delete"),
        "core.chat": ("change", "delete"),
        "skills.skill": ("add", "change", "delete"),
        "stickers.sticker": ("add",),
    },
    OWNER: {
        "auth.user": ALL,
        "auth.group": ALL,
        "core.personlimit": ALL,
    },
}
"""What each role has besides what the one before it has: model to acts."""


_TITLES = {
    VIEWER: pgettext_lazy("role", "viewer"),
    MODERATOR: pgettext_lazy("role", "moderator"),
    OPERATOR: pgettext_lazy("role", "operator"),
    OWNER: pgettext_lazy("role", "owner"),
}


def title(group: str) -> str:
    """What a role is called in the language of whoever reads it; another group by its own name."""
    return str(_TITLES.get(group, group))


def rights(role: str) -> frozenset[str]:
    """All rights of a role, as `core.view_chat`."""
    found: set[str] = set()
    for name, added in ADDED.items():
        for model, acts in added.items():
            app, model_name = model.split(".")
            found |= {f"{app}.{act}_{model_name}" for act in acts}
        if name == role:
            break
    return frozenset(found)


def told(right: Any) -> str:
    """A right in the language of whoever reads it; its row has Django's English words."""
    act = right.codename.partition("_")[0]
    standard = {
        "add": _("may add"),
        "change": _("may change"),
        "delete": _("may delete"),
        "view": _("may see"),
    }
    is_standard = act in standard and right.codename == f"{act}_{right.content_type.model}"
    return f"{right.content_type} | {standard[act] if is_standard else _(right.name)}"


def grant(apps: Any, only: frozenset[str] | None = None) -> None:
    """Make the groups and give them their rights, or `only` the named ones of these.

    `apps` are those of a migration, or the installed ones. Rights of models that are not there yet are
    left out. Django itself makes the rows of rights after all migrations: they are made here before.
    """
    for label in sorted({name.split(".")[0] for name in rights(OWNER)}):
        create_permissions(installed.get_app_config(label), verbosity=0, apps=apps)
    group_model, right_model = apps.get_model("auth.Group"), apps.get_model("auth.Permission")
    for role in ADDED:
        group, _made = group_model.objects.get_or_create(name=role)
        for name in rights(role) if only is None else rights(role) & only:
            app, codename = name.split(".")
            found = right_model.objects.filter(content_type__app_label=app, codename=codename)
            group.permissions.add(*found)

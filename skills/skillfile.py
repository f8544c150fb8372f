"""`SKILL.md`: YAML front matter with `name` and `description`, then the text."""

from typing import Any

import yaml
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from core.text import one_line
from skills import texts
from skills.errors import BadImport

NAME = "SKILL.md"
_LONGEST_FRONT_MATTER = 16 * 1024
_FENCE = "---"


class _TextLoader(yaml.SafeLoader):
    """YAML whose plain values are text: `name: 2048` and `description: yes` are what they look like.

    Tags that would build objects are an error, as the safe loader has it. So are anchors: with
    them a few lines unfold into gigabytes.
    """

    yaml_implicit_resolvers: dict[str, Any] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError(_("anchors are not taken"))
        return super().compose_node(parent, index)


def parse(content: bytes, path: str) -> tuple[str, str, str]:
    """Name, description and text of a SKILL.md, tidied; `path` names it in BadImport."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadImport(_("%(path)r is not UTF-8.") % {"path": path}) from None
    if "\0" in text:
        raise BadImport(_("%(path)r has a NUL in it, so it is no text.") % {"path": path})
    front_matter, body = _parted(texts.tidy_body(text), path)
    values = _values(front_matter, path)
    name, description = _line(values, "name", path), _line(values, "description", path)
    if len(name) > texts.LONGEST_NAME or len(description) > texts.LONGEST_DESCRIPTION:
        raise BadImport(
            _("%(path)r: a name has at most %(name)d characters, a description %(description)d.")
            % {
                "path": path,
                "name": texts.LONGEST_NAME,
                "description": texts.LONGEST_DESCRIPTION,
            }
        )
    try:
        texts.check_name(name)
    except ValidationError as error:
        raise BadImport(f"{path!r}: {' '.join(error.messages)}") from None
    return name, description, body


def _parted(text: str, path: str) -> tuple[str, str]:
    lines = text.split("\n")
    if lines[0].rstrip() == _FENCE:
        for number, line in enumerate(lines[1:], start=1):
            if line.rstrip() == _FENCE:
                body = texts.tidy_body("\n".join(lines[number + 1 :]))
                if not body.strip():
                    raise BadImport(_("%(path)r has no text.") % {"path": path})
                return "\n".join(lines[1:number]), body
    raise BadImport(
        _("%(path)r does not begin with front matter between two lines of ---.") % {"path": path}
    )


def _values(front_matter: str, path: str) -> dict[Any, Any]:
    if len(front_matter) > _LONGEST_FRONT_MATTER:
        raise BadImport(_("%(path)r: its front matter is too long.") % {"path": path})
    try:
        # A SafeLoader, made narrower still.
        values = yaml.load(front_matter, Loader=_TextLoader)  # noqa: S506
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        why = one_line(str(error), 200)
        raise BadImport(
            _("%(path)r: its front matter is not taken: %(why)s") % {"path": path, "why": why}
        ) from None
    return values if isinstance(values, dict) else {}


def _line(values: dict[Any, Any], key: str, path: str) -> str:
    value = values.get(key)
    line = texts.tidy_line(value) if isinstance(value, str) else ""
    if not line:
        raise BadImport(
            _("%(path)r: its front matter has no text as %(key)s.") % {"path": path, "key": key}
        )
    return line


def write(name: str, description: str, body: str) -> bytes:
    """The SKILL.md that `parse` reads back as these."""
    front_matter = yaml.safe_dump(
        {"name": name, "description": description},
        allow_unicode=True,
        sort_keys=False,
        width=1_000_000,
    )
    return f"{_FENCE}\n{front_matter}{_FENCE}\n\n{texts.tidy_body(body)}\n".encode()

"""The catalogue of translations: what it must have, read out of the code; and bringing it up to date.

`make messages` adds what is new to the .po with an empty translation, takes out what is gone and
compiles the .mo beside it, which is what the site reads. Needs no gettext on the machine.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_file
from babel.messages.mofile import read_mo, write_mo
from babel.messages.pofile import read_po, write_po
from django.apps import apps
from django.template.engine import Engine
from django.templatetags.i18n import BlockTranslateNode, TranslateNode

CHECKOUT = Path(__file__).parents[1]
FOLDER = CHECKOUT / "locale/zh_Hans/LC_MESSAGES"
ROOMS = ("arise_site", "botgateway", "core", "skills", "stickers")
WITHOUT_CHINESE = ("unfold", "auditlog")
"""Libraries whose words people see and that bring no Chinese: our catalogue has them too."""

Key = tuple[str, str | tuple[str, str]]
"""A message's context, empty for most, and its id: with a plural both forms."""

_CALLS: dict[str, tuple[int | tuple[int, str], ...] | None] = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
}
_PLAIN = {CHECKOUT / "botgateway/dialects.py": {"Cell": (2,), "_no": None}}
"""Modules that may not import Django: what is called with words that are translated elsewhere."""
_OF_OTHER_APPS = {"contrib", "unfold_crispy"}
"""Folders of libraries that are for apps which the site has not installed."""
_PLACEHOLDER = re.compile(r"%\(\w+\)[\d.]*[a-z]|\{\w*\}|(?<!%)%[sd]")


def wanted() -> dict[Key, set[str]]:
    """Every message there is to translate, with the files that have it."""
    found: dict[Key, set[str]] = {}
    for root in [*ROOMS, "templates"]:
        for key, path in of_folder(CHECKOUT / root):
            found.setdefault(key, set()).add(path.relative_to(CHECKOUT).as_posix())
    known = _of_django()
    for name in WITHOUT_CHINESE:
        package = Path(str(sys.modules[name].__file__)).parent
        for key, path in of_folder(package):
            place = path.relative_to(package).as_posix()
            if key not in known and not place.startswith("contrib/"):
                found.setdefault(key, set()).add(f"{name}/{place}")
    return found


def problems(wanted: dict[Key, set[str]], kept: Catalog, compiled: Catalog) -> list[str]:
    """What is wrong with a catalogue, a line each: what is missing, left over or doubtful in it."""
    messages = {key_of(message): message for message in kept if message.id}
    found = [f"not in the catalogue: {key[1]}" for key in wanted.keys() - messages.keys()]
    found += [f"no longer used: {key[1]}" for key in messages.keys() - wanted.keys()]
    found += [f"obsolete: {name}" for name in kept.obsolete]
    for key, message in messages.items():
        found += [f"{problem}: {key[1]}" for problem in _problems_of(message)]
    told = {key_of(message): _strings(message) for message in compiled if message.id}
    if told != {key: _strings(message) for key, message in messages.items()}:
        found.append("the .mo has other words than the .po: run `make messages`")
    return sorted(found)


def key_of(message: Message) -> Key:
    """How a message is told from others."""
    return message.context or "", _id(message.id)


def kept() -> Catalog:
    """The .po."""
    with (FOLDER / "django.po").open("rb") as file:
        return read_po(file, locale="zh_Hans")


def compiled() -> Catalog:
    """The .mo."""
    with (FOLDER / "django.mo").open("rb") as file:
        return read_mo(file)


def update() -> Catalog:
    """Bring the .po and the .mo up to date; translations are kept."""
    old = kept()
    new = Catalog(
        locale="zh_Hans",
        header_comment=old.header_comment,
        project="arise",
        creation_date=old.creation_date,
        revision_date=old.revision_date,
        fuzzy=False,
    )
    translated = {key_of(message): message.string for message in old if message.id}
    places = wanted()
    for key in sorted(places, key=lambda key: (min(places[key]), key[0], str(key[1]))):
        context, name = key
        string = translated.get(key) or (("",) if isinstance(name, tuple) else "")
        new.add(
            name,
            string,
            locations=[(place, 0) for place in sorted(places[key])],
            context=context or None,
        )
    with (FOLDER / "django.po").open("wb") as file:
        write_po(file, new, width=100, include_lineno=False)
    with (FOLDER / "django.mo").open("wb") as file:
        write_mo(file, kept())
    return new


def of_folder(folder: Path) -> Iterator[tuple[Key, Path]]:
    """Every message of the code and the templates under a folder."""
    engine = Engine.get_default()
    for path in sorted(folder.rglob("*.py")):
        calls = {**_CALLS, **_PLAIN.get(path, {})}
        for _line, found, _comments, context in extract_from_file("python", str(path), calls):
            yield (context or "", _id(found)), path
    for path in sorted(folder.rglob("*.html")):
        if _OF_OTHER_APPS & set(path.relative_to(folder).parts):
            continue
        nodes = engine.from_string(path.read_text()).nodelist
        for kind in (TranslateNode, BlockTranslateNode):
            yield from ((_of_node(node), path) for node in nodes.get_nodes_by_type(kind))


def _of_node(node: Any) -> Key:
    """The message of a `translate` or a `blocktranslate`; Django's stubs know neither."""
    context = str(node.message_context.resolve({})) if node.message_context else ""
    if isinstance(node, TranslateNode):
        return context, str(node.filter_expression.var.literal)
    name = node.render_token_list(node.singular)[0]
    return context, (name, node.render_token_list(node.plural)[0]) if node.plural else name


def _of_django() -> set[Key]:
    """What Django, as far as it is installed, has in Chinese."""
    places = [Path(django.__file__).parent / "conf"]
    places += [Path(app.path) for app in apps.get_app_configs() if app.name.startswith("django.")]
    found: set[Key] = set()
    for place in places:
        path = place / "locale/zh_Hans/LC_MESSAGES/django.mo"
        if not path.exists():
            continue
        with path.open("rb") as file:
            found |= {key_of(message) for message in read_mo(file) if message.id}
    return found


def _id(name: str | list[str] | tuple[str, ...]) -> str | tuple[str, str]:
    return name if isinstance(name, str) else (name[0], name[1])


def _strings(message: Message) -> list[str]:
    string = message.string or ""
    return [string] if isinstance(string, str) else list(string)


def _problems_of(message: Message) -> Iterator[str]:
    strings = _strings(message)
    if message.fuzzy:
        yield "fuzzy"
    if len(strings) != 1 or not strings[0].strip():
        yield "not translated"
        return
    name = message.id if isinstance(message.id, str) else message.id[-1]
    if sorted(set(_PLACEHOLDER.findall(strings[0]))) != sorted(set(_PLACEHOLDER.findall(name))):
        yield "other placeholders"
    if (name[:1].isspace(), name[-1:].isspace()) != (
        strings[0][:1].isspace(),
        strings[0][-1:].isspace(),
    ):
        yield "other spaces around it"


def main() -> None:
    """Bring the catalogue up to date, and say what is left to do."""
    django.setup()
    update()
    left = problems(wanted(), kept(), compiled())
    for line in left:
        sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"To do: {len(left)}.\n")


if __name__ == "__main__":
    main()

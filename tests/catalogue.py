"""The catalogues of translations: what they must have, read out of the code; and bringing them up to
date. One (django) is for what the server says, a small one (djangojs) for what scripts in pages say.

`make messages` adds what is new to the .po with an empty translation, takes out what is gone and
compiles the .mo beside it, which is what the site reads. Needs no gettext on the machine.
"""

import re
import sys
from collections.abc import Iterator
from importlib import import_module
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
DOMAINS = ("django", "djangojs")
WITHOUT_CHINESE = ("unfold", "auditlog", "django.contrib.admin", "django.contrib.auth")
"""Libraries whose words people see and that bring no Chinese, or not all of it: our catalogue has what
Django's has not."""
UNMARKED = {
    "django_otp.plugins.otp_totp.models": ("TOTP device",),
    "django_otp.models": ("confirmed",),
}
"""Words of libraries that these do not mark as to be translated; the console does where it shows them.
By module, which has to have them still."""

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
_JS_CALLS: dict[str, tuple[int | tuple[int, str], ...] | None] = {
    "gettext": None,
    "ngettext": (1, 2),
    "pgettext": ((1, "c"), 2),
}
_IN_EXPRESSION = re.compile(r"""\b_\((['"])(.+?)\1\)""")
"""`_("Save")` in a tag or a variable of a template."""
_HALF_WIDTH = re.compile(r"[\u4e00-\u9fff」』”’）][,.:;?!]")
_FULL_THEN_SPACE = re.compile(r"[，。：；？！、][ \t]")
_PLACEHOLDER = re.compile(r"%\(\w+\)[\d.]*[a-z]|\{\w*\}|(?<!%)%[sd]")


def wanted(domain: str = "django") -> dict[Key, set[str]]:
    """Every message there is to translate, with the files that have it."""
    known = _of_django(domain)
    found: dict[Key, set[str]] = {}
    for key, place in _places(domain):
        if key not in known:
            found.setdefault(key, set()).add(place)
    return found


def lost() -> list[str]:
    """The words in UNMARKED that their library has no longer."""
    return [
        f"{name} has no longer: {words}"
        for name, told in UNMARKED.items()
        for words in told
        if not re.search(rf"\b{re.escape(words)}\b", _source(name))
    ]


def _source(name: str) -> str:
    return Path(str(import_module(name).__file__)).read_text()


def _places(domain: str) -> Iterator[tuple[Key, str]]:
    """What is translated, and where it is said; what Django has in Chinese is among it."""
    collect = of_folder if domain == "django" else of_scripts
    for root in [*ROOMS, "templates"]:
        for key, path in collect(CHECKOUT / root):
            yield key, path.relative_to(CHECKOUT).as_posix()
    for name in WITHOUT_CHINESE:
        package = Path(str(sys.modules[name].__file__)).parent
        for key, path in collect(package):
            place = path.relative_to(package).as_posix()
            if not place.startswith("contrib/"):
                yield key, f"{name}/{place}"
    for name, told in UNMARKED.items() if domain == "django" else ():
        yield from ((("", words), name) for words in told)


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


def kept(domain: str = "django") -> Catalog:
    """The .po; an empty one where there is none."""
    path = FOLDER / f"{domain}.po"
    if not path.exists():
        return Catalog(locale="zh_Hans", fuzzy=False)
    with path.open("rb") as file:
        return read_po(file, locale="zh_Hans")


def compiled(domain: str = "django") -> Catalog:
    """The .mo."""
    with (FOLDER / f"{domain}.mo").open("rb") as file:
        return read_mo(file)


def update(domain: str = "django") -> Catalog:
    """Bring the .po and the .mo up to date; translations are kept."""
    old = kept(domain)
    new = Catalog(
        locale="zh_Hans",
        header_comment=old.header_comment,
        project="arise",
        creation_date=old.creation_date,
        revision_date=old.revision_date,
        fuzzy=False,
    )
    translated = {key_of(message): message.string for message in old if message.id}
    places = wanted(domain)
    for key in sorted(places, key=lambda key: (min(places[key]), key[0], str(key[1]))):
        context, name = key
        string = translated.get(key) or (("",) if isinstance(name, tuple) else "")
        new.add(
            name,
            string,
            locations=[(place, 0) for place in sorted(places[key])],
            context=context or None,
        )
    with (FOLDER / f"{domain}.po").open("wb") as file:
        write_po(file, new, width=100, include_lineno=False)
    with (FOLDER / f"{domain}.mo").open("wb") as file:
        write_mo(file, kept(domain))
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
        source = path.read_text()
        yield from ((("", found[2]), path) for found in _IN_EXPRESSION.finditer(source))
        nodes = engine.from_string(source).nodelist
        for kind in (TranslateNode, BlockTranslateNode):
            yield from ((_of_node(node), path) for node in nodes.get_nodes_by_type(kind))


def of_scripts(folder: Path) -> Iterator[tuple[Key, Path]]:
    """Every message of the scripts under a folder, but for those of others in `vendor`."""
    for path in sorted(folder.rglob("*.js")):
        if "vendor" not in path.parts:
            told = extract_from_file("javascript", str(path), _JS_CALLS)
            for _line, found, _comments, context in told:
                yield (context or "", _id(found)), path


def _of_node(node: Any) -> Key:
    """The message of a `translate` or a `blocktranslate`; Django's stubs know neither."""
    context = str(node.message_context.resolve({})) if node.message_context else ""
    if isinstance(node, TranslateNode):
        return context, str(node.filter_expression.var.literal)
    name = node.render_token_list(node.singular)[0]
    return context, (name, node.render_token_list(node.plural)[0]) if node.plural else name


def _of_django(domain: str) -> set[Key]:
    """What Django, as far as it is installed, has in Chinese."""
    places = [Path(django.__file__).parent / "conf"]
    places += [Path(app.path) for app in apps.get_app_configs() if app.name.startswith("django.")]
    found: set[Key] = set()
    for place in places:
        path = place / "locale/zh_Hans/LC_MESSAGES" / f"{domain}.mo"
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
    if _HALF_WIDTH.search(strings[0]):
        yield "half-width punctuation after Chinese"
    if _FULL_THEN_SPACE.search(strings[0]):
        yield "a space after full-width punctuation"
    around = [(words[:1].isspace(), words[-1:].isspace()) for words in (name, strings[0])]
    if around[0] != around[1] and any(map(str.isalnum, name)):
        yield "other spaces around it"


def main() -> None:
    """Bring the catalogue up to date, and say what is left to do."""
    django.setup()
    left = lost()
    for domain in DOMAINS:
        update(domain)
        left += problems(wanted(domain), kept(domain), compiled(domain))
    for line in left:
        sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"To do: {len(left)}.\n")


if __name__ == "__main__":
    main()

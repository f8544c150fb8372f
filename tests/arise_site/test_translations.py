"""Every word that people see is in Chinese, too: the catalogue has all of them, and nothing else."""

import json
import re
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from tests import bare, catalogue
from tests.catalogue import CHECKOUT, ROOMS, Key

MINE: dict[Key, set[str]] = {
    ("", "Hello, %(name)s."): {"room.py"},
    ("", ("%(count)d bot", "%(count)d bots")): {"room.py"},
}


def small(**other: str) -> Catalog:
    made = Catalog(locale="zh_Hans", fuzzy=False)
    made.add("Hello, %(name)s.", "你好，%(name)s。")
    made.add(("%(count)d bot", "%(count)d bots"), ("%(count)d 个机器人",))
    for name, string in other.items():
        made.add(name, string)
    return made


@pytest.mark.parametrize("domain", catalogue.DOMAINS)
def test_everything_is_translated(domain: str) -> None:
    found = catalogue.problems(
        catalogue.wanted(domain), catalogue.kept(domain), catalogue.compiled(domain)
    )
    assert found == [], "run `make messages` and translate what it names"


def test_words_that_are_translated_for_a_library_are_in_it_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert catalogue.lost() == []
    monkeypatch.setitem(catalogue.UNMARKED, "django_otp.models", ("confirmed", "gone away"))
    assert catalogue.lost() == ["django_otp.models has no longer: gone away"]


@pytest.mark.django_db
def test_scripts_of_libraries_speak_chinese(client: Client) -> None:
    address = reverse("admin:jsi18n")
    client.force_login(User.objects.create_superuser("admin"))
    said = client.get(address, headers={"accept-language": "zh-hans"}).content.decode()
    assert json.dumps("（点击清除）") in said


@pytest.mark.parametrize("root", [*ROOMS, "templates"])
def test_nothing_that_people_see_is_left_unmarked(root: str) -> None:
    assert list(bare.of_folder(CHECKOUT / root)) == []


def test_a_whole_catalogue_has_no_problems() -> None:
    assert catalogue.problems(MINE, small(), small()) == []


def test_a_new_string_is_missed() -> None:
    more = {**MINE, ("", "Goodbye."): {"room.py"}}
    assert catalogue.problems(more, small(), small()) == ["not in the catalogue: Goodbye."]


def test_what_is_gone_from_the_code_is_found() -> None:
    has_more = small(Goodbye="再见")
    assert catalogue.problems(MINE, has_more, has_more) == ["no longer used: Goodbye"]


@pytest.mark.parametrize(
    ("string", "problem"),
    [
        ("", "not translated"),
        ("你好。", "other placeholders"),
        ("你好，%(named)s。", "other placeholders"),
        (" 你好，%(name)s。", "other spaces around it"),
        ("你好, %(name)s。", "half-width punctuation after Chinese"),
        ("“你好”: %(name)s。", "half-width punctuation after Chinese"),
        ("你好， %(name)s。", "a space after full-width punctuation"),
    ],
)
def test_a_doubtful_translation_is_found(string: str, problem: str) -> None:
    doubtful = small()
    doubtful["Hello, %(name)s."].string = string
    assert f"{problem}: Hello, %(name)s." in catalogue.problems(MINE, doubtful, doubtful)


def test_a_stale_compiled_file_is_found() -> None:
    newer = small()
    newer["Hello, %(name)s."].string = "您好，%(name)s。"
    assert catalogue.problems(MINE, newer, small()) == [
        "the .mo has other words than the .po: run `make messages`"
    ]


def test_messages_are_read_out_of_code_and_templates(tmp_path: Path) -> None:
    (tmp_path / "room.py").write_text('_("Hello") or ngettext("one", "many", 2) or gettext(name)')
    (tmp_path / "page.html").write_text(
        '{% load i18n %}{% translate "Save" %}{{ x|default:_("Nothing") }}{% blocktranslate trimmed %}\n to  \n {{ x }}'
        "{% endblocktranslate %}"
    )
    assert {key for key, _path in catalogue.of_folder(tmp_path)} == {
        ("", "Hello"),
        ("", ("one", "many")),
        ("", "Save"),
        ("", "Nothing"),
        ("", "to %(x)s"),
    }


def test_messages_are_read_out_of_scripts_but_not_of_others_in_them(tmp_path: Path) -> None:
    (tmp_path / "vendor").mkdir()
    for place in ("own.js", "vendor/other.js"):
        (tmp_path / place).write_text(f"interpolate(gettext('All %s of {place}'), [name])")
    assert [key for key, _path in catalogue.of_scripts(tmp_path)] == [("", "All %s of own.js")]


PUT_TOGETHER = re.compile(r"(?:%}|}}|</\w+>) ?[:,.;](?= |<|{|$)")
"""Punctuation of a page behind what is translated or told: other languages have other marks."""


NOT_SHOWN = re.compile(r'{% blocktranslate.*?endblocktranslate %}|value="[^"]*"', re.DOTALL)


def test_no_page_puts_marks_behind_words_itself() -> None:
    found = [
        f"{path.relative_to(CHECKOUT)}: {line.strip()}"
        for path in sorted((CHECKOUT / "templates").rglob("*.html"))
        for line in NOT_SHOWN.sub("", path.read_text()).splitlines()
        if PUT_TOGETHER.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("words", ["{{ title }}: {{ x }}", "</a>, ", '{% translate "Tools" %}:'])
def test_marks_behind_words_are_found(words: str) -> None:
    assert PUT_TOGETHER.search(words)


@pytest.mark.parametrize(
    "code",
    [
        'name = CharField(verbose_name="shown")',
        'name = CharField(help_text=f"shown {x}")',
        'messages.error(request, "shown")',
        'raise CommandError("shown" % x)',
        '@admin.display(description="shown")\ndef f(): ...',
        'class Meta:\n    verbose_name = "shown"',
        'class State(TextChoices):\n    OPEN = "open", "shown"',
        'self.stdout.write(f"shown {x}")',
    ],
)
def test_bare_words_in_code_are_found(code: str) -> None:
    assert len(bare.in_python(code)) == 1


def test_words_for_programs_are_let_be() -> None:
    assert bare.in_python('log.error("x y")\nraise ValueError("abc")\nf(name="abc")') == []


@pytest.mark.parametrize(
    "page",
    [
        "<p>shown</p>",
        '<input placeholder="shown">',
        '<img alt="shown">',
        "{% if x %}shown{% endif %}",
    ],
)
def test_bare_words_in_templates_are_found(page: str) -> None:
    assert bare.in_template(page) == ["shown"]


def test_marked_words_in_templates_are_let_be() -> None:
    page = (
        '{% comment %}a b{% endcomment %}<p class="wide">{% translate "Save" %} {{ x }} → 7'
        "{% blocktranslate %}all of it{% endblocktranslate %}</p><code>manage.py</code>"
    )
    assert bare.in_template(page) == []

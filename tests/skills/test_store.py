"""The history of a skill's text."""

from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from skills import store
from skills.models import Skill
from tests.factories import make_skill

pytestmark = pytest.mark.django_db


def history(skill: Skill) -> list[tuple[int, str, str]]:
    return [(v.number, v.body, v.source) for v in skill.versions.all()]


def test_an_edit_keeps_the_old_text_and_who_changed_it() -> None:
    ann = User.objects.create(username="ann")
    skill = make_skill(body="old")
    skill.body = "new"
    store.save(skill, by=ann)
    assert history(skill) == [(2, "new", "console"), (1, "old", "console")]
    assert [version.made_by for version in skill.versions.all()] == [ann, None]


def test_switching_a_skill_makes_no_version() -> None:
    skill = make_skill()
    skill.enabled = False
    assert store.save(skill) is None
    assert Skill.objects.get().enabled is False
    assert skill.versions.count() == 1


def test_an_old_text_comes_back_as_a_new_version() -> None:
    skill = make_skill(body="old", description="first")
    skill.body, skill.description = "new", "second"
    store.save(skill)
    store.restore(skill.versions.get(number=1))
    skill.refresh_from_db()
    assert (skill.body, skill.description) == ("old", "first")
    assert history(skill) == [(3, "old", "restore"), (2, "new", "console"), (1, "old", "console")]
    assert store.restore(skill.versions.get(number=1)) is None


def test_the_history_outlives_whoever_made_it() -> None:
    ann = User.objects.create(username="ann")
    skill = make_skill()
    skill.body = "new"
    store.save(skill, by=ann)
    ann.delete()
    assert [version.made_by for version in skill.versions.all()] == [None, None]


def test_two_skills_never_differ_in_the_case_of_letters_alone() -> None:
    make_skill("Tea")
    with pytest.raises(IntegrityError), transaction.atomic():
        make_skill("tea")


def test_texts_from_before_there_was_a_history_begin_one() -> None:
    Skill.objects.create(name="old", description="d", body="text")
    make_skill("new")
    import_module("skills.migrations.0003_first_versions").make_first_versions(apps, None)
    assert history(Skill.objects.get(name="old")) == [(1, "text", "console")]
    assert Skill.objects.get(name="new").versions.count() == 1

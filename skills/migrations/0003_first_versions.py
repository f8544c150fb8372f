"""Texts from before there was a history become their skills' first version."""

from django.db import migrations


def make_first_versions(apps, schema_editor):
    Skill = apps.get_model("skills", "Skill")
    SkillVersion = apps.get_model("skills", "SkillVersion")
    for skill in Skill.objects.filter(versions__isnull=True).iterator():
        SkillVersion.objects.create(
            skill=skill,
            number=1,
            description=skill.description,
            body=skill.body,
            source="console",
        )


class Migration(migrations.Migration):
    dependencies = [("skills", "0002_scope_history_and_use")]
    operations = [migrations.RunPython(make_first_versions, migrations.RunPython.noop)]

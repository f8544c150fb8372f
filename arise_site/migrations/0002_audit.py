from django.db import migrations

from arise_site import roles


def let_viewers_see_it(apps, schema_editor):
    roles.grant(apps, frozenset({"auditlog.view_logentry"}))


def index(name):
    """The last changes of a chat or a bot are on its page, found by a key inside a JSON column."""
    return migrations.RunSQL(
        f"CREATE INDEX audit_of_{name} ON auditlog_logentry ((additional_data -> '{name}'), id)",
        f"DROP INDEX audit_of_{name}",
    )


class Migration(migrations.Migration):

    dependencies = [
        ("arise_site", "0001_roles"),
        ("auditlog", "0017_add_actor_email"),
    ]

    operations = [
        index("chat"),
        index("bot"),
        migrations.RunPython(let_viewers_see_it, migrations.RunPython.noop),
    ]

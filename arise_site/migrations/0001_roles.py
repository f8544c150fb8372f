from django.conf import settings
from django.db import migrations

from arise_site import roles


def make_roles(apps, schema_editor):
    roles.grant(apps)


class Migration(migrations.Migration):

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("core", "0007_settling"),
        ("skills", "0003_first_versions"),
        ("stickers", "0003_learning"),
        ("botgateway", "0002_reports_own"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    # Groups stay when it is taken back: people are in them.
    operations = [migrations.RunPython(make_roles, migrations.RunPython.noop)]

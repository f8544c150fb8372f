from django.db import migrations


class Migration(migrations.Migration):
    """Keep vectors in their rows: a search reads all of a scope, and each vector that lies outside of
    its row costs a look-up of its own. What does not fit a page still goes outside."""

    dependencies = [("stickers", "0005_claimed_in")]
    operations = [
        migrations.RunSQL(
            "ALTER TABLE stickers_stickervector ALTER COLUMN vector SET STORAGE MAIN",
            "ALTER TABLE stickers_stickervector ALTER COLUMN vector SET STORAGE EXTERNAL",
        )
    ]

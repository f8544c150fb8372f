from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0003_gestures'),
    ]

    operations = [
        migrations.AddField(
            model_name='chat',
            name='gap_after',
            field=models.BigIntegerField(editable=False, help_text='Words above this sequence may be missing: they were said between connections.', null=True),
        ),
    ]

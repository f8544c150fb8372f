from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0012_figures'),
    ]

    operations = [
        migrations.AddField(
            model_name='bot',
            name='is_playground',
            field=models.BooleanField(default=False, editable=False, help_text='An invented account, for one operator to try the bot with invented people.', verbose_name='playground'),
        ),
    ]

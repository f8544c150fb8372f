from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('botgateway', '0001_first'),
    ]

    operations = [
        migrations.AddField(
            model_name='connection',
            name='reports_own',
            field=models.BooleanField(help_text="Whether its events tell of the bot's own messages (NapCat, LLOneBot: reportSelfMessage); empty: not known yet.", null=True, verbose_name='reports own messages'),
        ),
    ]

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0002_own_words'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='bot',
            name='is_logged_out',
            field=models.BooleanField(default=False, editable=False, help_text="The platform has logged the account out: it can't speak anywhere.", verbose_name='logged out'),
        ),
        migrations.AddField(
            model_name='capabilitysetting',
            name='bot',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='capability_settings', to='core.bot', verbose_name='bot'),
        ),
        migrations.AddField(
            model_name='chat',
            name='members_synced_at',
            field=models.DateTimeField(editable=False, help_text='When the platform last told all members.', null=True),
        ),
        migrations.AddField(
            model_name='chat',
            name='silence_reason',
            field=models.CharField(blank=True, editable=False, help_text='Why the bot may not speak here now: muted, removed …; empty: it may.', max_length=40, verbose_name='may not speak'),
        ),
        migrations.AddField(
            model_name='chat',
            name='silenced_until',
            field=models.DateTimeField(editable=False, help_text='When that ends by itself; empty: when the platform says so.', null=True, verbose_name='silent until'),
        ),
        migrations.AddField(
            model_name='member',
            name='left_at',
            field=models.DateTimeField(blank=True, null=True, verbose_name='left'),
        ),
        migrations.AddField(
            model_name='outboxentry',
            name='payload',
            field=models.BinaryField(blank=True, help_text='The bytes of a voice or a file, as they were when it was written.', null=True),
        ),
        migrations.AddField(
            model_name='outboxentry',
            name='subject',
            field=models.CharField(blank=True, help_text='Whom a poke or a like is for, which message a reaction is under.', max_length=128, verbose_name='subject'),
        ),
        migrations.AddField(
            model_name='turn',
            name='gestures',
            field=models.PositiveIntegerField(default=0, verbose_name='gestures'),
        ),
        migrations.AlterField(
            model_name='capabilitysetting',
            name='chat',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='capability_settings', to='core.chat', verbose_name='chat'),
        ),
        migrations.AlterField(
            model_name='member',
            name='last_seen_at',
            field=models.DateTimeField(blank=True, help_text='Empty: listed, and never seen to speak.', null=True, verbose_name='last seen'),
        ),
        migrations.AlterField(
            model_name='outboxentry',
            name='action',
            field=models.CharField(choices=[('send', 'send'), ('recall', 'recall'), ('edit', 'edit'), ('poke', 'poke'), ('reaction', 'reaction'), ('like', 'profile like')], max_length=10, verbose_name='action'),
        ),
        migrations.AddIndex(
            model_name='outboxentry',
            index=models.Index(condition=models.Q(('subject', ''), _negated=True), fields=['bot', 'subject', '-id'], name='outbox_gestures'),
        ),
        migrations.AddConstraint(
            model_name='capabilitysetting',
            constraint=models.UniqueConstraint(fields=('bot', 'target', 'name'), name='capability_setting_once_per_bot'),
        ),
        migrations.AddConstraint(
            model_name='capabilitysetting',
            constraint=models.CheckConstraint(condition=models.Q(('chat__isnull', True), ('bot__isnull', True), _connector='XOR'), name='capability_setting_of_a_chat_or_a_bot'),
        ),
    ]

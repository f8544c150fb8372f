import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0001_first'),
    ]

    operations = [
        migrations.AddField(
            model_name='bot',
            name='platform',
            field=models.JSONField(blank=True, default=dict, editable=False, help_text='What the gateway knows of its implementation; core never reads it.'),
        ),
        migrations.AddField(
            model_name='chat',
            name='bot_role',
            field=models.CharField(blank=True, editable=False, help_text='owner, admin or member, as the platform last told; empty: not known.', max_length=20, verbose_name="the bot's role"),
        ),
        migrations.AddField(
            model_name='outboxentry',
            name='content',
            field=models.TextField(blank=True, help_text='As the model wrote it; a recall has none.', verbose_name='content'),
        ),
        migrations.AddField(
            model_name='outboxentry',
            name='evidence_until',
            field=models.DateTimeField(blank=True, help_text="While its outcome is unknown: the chat's later messages wait until then. Empty: the wait begins when the bot is connected again.", null=True),
        ),
        migrations.AddField(
            model_name='outboxentry',
            name='history_asked',
            field=models.PositiveSmallIntegerField(default=0, help_text="How often the chat's history was asked for it."),
        ),
        migrations.AddField(
            model_name='outboxentry',
            name='history_asked_at',
            field=models.DateTimeField(blank=True, help_text="When the chat's history was last asked for it.", null=True),
        ),
        migrations.AddField(
            model_name='outboxentry',
            name='history_lacked',
            field=models.PositiveSmallIntegerField(default=0, help_text='How many of those reached back before it and lacked it.'),
        ),
        migrations.AddField(
            model_name='outboxentry',
            name='recalled_at',
            field=models.DateTimeField(blank=True, null=True, verbose_name='recalled'),
        ),
        migrations.AddField(
            model_name='outboxentry',
            name='target',
            field=models.ForeignKey(blank=True, help_text='The entry whose message it takes back or edits.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='followers', to='core.outboxentry', verbose_name='of'),
        ),
        migrations.AddField(
            model_name='outboxentry',
            name='told_state',
            field=models.CharField(blank=True, help_text='The state that the model knows of, where it was told one.', max_length=10),
        ),
        migrations.AddField(
            model_name='outboxentry',
            name='waits_for',
            field=models.ForeignKey(blank=True, help_text='The recall that has to be confirmed before this is sent.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='waiting', to='core.outboxentry', verbose_name='after'),
        ),
        migrations.AddField(
            model_name='sentmessage',
            name='recall_asked',
            field=models.BooleanField(default=False, help_text='Whether the model asked to take it back, which it may once.', verbose_name='recall asked'),
        ),
        migrations.AlterField(
            model_name='outboxentry',
            name='action',
            field=models.CharField(choices=[('send', 'send'), ('recall', 'recall'), ('edit', 'edit')], max_length=10, verbose_name='action'),
        ),
        migrations.AlterField(
            model_name='sentmessage',
            name='edits',
            field=models.PositiveIntegerField(default=0, help_text='Edits that were accepted, whatever became of them.', verbose_name='edits'),
        ),
        migrations.RunSQL(
            """
            UPDATE core_outboxentry entry SET content = message.content
              FROM core_sentmessage message WHERE message.id = entry.message_id;
            UPDATE core_outboxentry SET evidence_until = settled_at WHERE state = 'unknown';
            UPDATE core_outboxentry SET told_state = state WHERE state NOT IN ('pending', 'sending');
            -- Rows that were written twice here wait to be checked, and indexes can't be made meanwhile.
            SET CONSTRAINTS ALL IMMEDIATE
            """,
            """
            UPDATE core_sentmessage message SET content = entry.content
              FROM core_outboxentry entry WHERE entry.id = message.entry_id
            """,
        ),
        # Going back, the column is made again, and needs something to be filled with until it is.
        migrations.AlterField(
            model_name='sentmessage',
            name='content',
            field=models.TextField(default='', help_text='As the model wrote it.', verbose_name='content'),
        ),
        migrations.RemoveField(
            model_name='sentmessage',
            name='content',
        ),
    ]

from django.db import migrations

# The history told of an edit by hand what was said before it, in the language of whoever did it;
# forgetting did not look there.
TAKE_WORDS_OUT = """
UPDATE django_admin_log
   SET change_message = regexp_replace(
           regexp_replace(change_message, ', instead of: .*$', '.'), '，原来是：.*$', '。'
       )
  FROM django_content_type AS of
 WHERE of.id = content_type_id AND of.app_label = 'core'
   AND of.model IN ('outboxentry', 'sentmessage')
   AND change_message ~ '(, instead of: |，原来是：)'
"""


class Migration(migrations.Migration):

    dependencies = [
        ("arise_site", "0003_person_settings"),
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [migrations.RunSQL(TAKE_WORDS_OUT, migrations.RunSQL.noop)]

from django.db import migrations
from pgvector.django import VectorExtension


class Migration(migrations.Migration):
    """The extension stands alone: on a server where our role may not create it, only this one fails."""

    dependencies = []
    operations = [VectorExtension()]

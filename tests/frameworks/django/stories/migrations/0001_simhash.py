from django.db import migrations

from pg_simhash.django import SimhashExtension


class Migration(migrations.Migration):
    initial = True
    operations = [SimhashExtension()]

from django.db import migrations, models

from pg_simhash.django import FingerprintField, SimHash, band_indexes, block_indexes


def key():
    return "id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    initial = True
    dependencies = [("articles", "0001_simhash")]
    operations = [
        migrations.CreateModel(name="Letter", fields=[key(), ("body", models.TextField())]),
        migrations.CreateModel(
            name="Note",
            fields=[
                key(),
                ("url", models.URLField(unique=True)),
                ("body", models.TextField()),
                (
                    "fingerprint",
                    models.GeneratedField(
                        expression=SimHash("body"), output_field=FingerprintField(), db_persist=True, null=True
                    ),
                ),
            ],
            options={
                "indexes": [
                    *band_indexes("body", name="note_body"),
                    *block_indexes("fingerprint", name="note_simhash"),
                ]
            },
        ),
    ]

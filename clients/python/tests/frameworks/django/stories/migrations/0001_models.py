"""What makemigrations writes for the models, with less repetition."""

import uuid

from django.db import migrations, models

from pg_simhash.django import FingerprintField, SimHash, simhash_indexes


def key():
    return ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"))


def fingerprint(*simhash_options, **options):
    field = models.GeneratedField(
        expression=SimHash("body", *simhash_options),
        output_field=FingerprintField(),
        db_persist=True,
        null=True,
        **options,
    )
    return ("fingerprint", field)


def story(name, *fields):
    return migrations.CreateModel(
        name,
        [
            key(),
            ("slug", models.SlugField(unique=True)),
            ("body", models.TextField()),
            ("views", models.IntegerField(default=0)),
            fingerprint(),
            *fields,
        ],
        {"abstract": False, "indexes": simhash_indexes("fingerprint", name=f"{name.lower()}_simhash")},
    )


class Migration(migrations.Migration):
    initial = True
    dependencies = [("articles", "0001_simhash")]
    operations = [
        migrations.CreateModel(
            "SkippedNote",
            [
                ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ("body", models.TextField()),
            ],
        ),
        migrations.CreateModel("Tenant", [key(), ("name", models.TextField())]),
        story("FreeStory"),
        story("RejectedStory"),
        story("SkippedStory"),
        story(
            "MarkedStory",
            (
                "near",
                models.ForeignKey("stories.markedstory", editable=False, null=True, on_delete=models.SET_NULL),
            ),
        ),
        migrations.CreateModel(
            "QuotedStory",
            [
                key(),
                ("body", models.TextField(db_column="The body")),
                ("owner", models.TextField(db_column="Owner of it")),
                fingerprint({"ngram": 2}, db_column="Finger print"),
            ],
            {"db_table": "Editor's stories", "indexes": simhash_indexes("fingerprint", name="Editor's story")},
        ),
        migrations.CreateModel(
            "TenantStory",
            [
                key(),
                ("body", models.TextField()),
                fingerprint(),
                ("tenant", models.ForeignKey("stories.tenant", on_delete=models.CASCADE)),
            ],
            {
                "indexes": [
                    *simhash_indexes("fingerprint", name="tenantstory_simhash"),
                    *simhash_indexes("fingerprint", name="tenantstory_scoped", blocks=3, scope=["tenant"]),
                ]
            },
        ),
        migrations.CreateModel(
            "NumberedStory",
            [
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "tenant_id", "number", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("number", models.IntegerField()),
                ("body", models.TextField()),
                ("near_number", models.IntegerField(editable=False, null=True)),
                fingerprint(),
                ("tenant", models.ForeignKey("stories.tenant", on_delete=models.CASCADE)),
                (
                    "near",
                    models.ForeignObject(
                        "stories.numberedstory",
                        editable=False,
                        from_fields=["tenant", "near_number"],
                        null=True,
                        on_delete=models.DO_NOTHING,
                        related_name="copies",
                        to_fields=["tenant", "number"],
                    ),
                ),
            ],
            {"indexes": simhash_indexes("fingerprint", name="numberedstory_simhash")},
        ),
        migrations.CreateModel(
            "DatedStory",
            [
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "day", "number", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("day", models.DateField()),
                ("number", models.IntegerField()),
                ("body", models.TextField()),
                ("near", models.JSONField(editable=False, null=True)),
                fingerprint(),
            ],
            {"indexes": simhash_indexes("fingerprint", name="datedstory_simhash")},
        ),
    ]

"""Models with a guard of each action, with a guard for each tenant, and with names that need quotes."""

import uuid

from django.db import models

from pg_simhash.django import FingerprintField, SimHash, simhash_indexes


class Story(models.Model):
    slug = models.SlugField(unique=True)
    body = models.TextField()
    views = models.IntegerField(default=0)
    fingerprint = models.GeneratedField(
        expression=SimHash("body"), output_field=FingerprintField(), db_persist=True, null=True
    )

    class Meta:
        abstract = True
        indexes = [*simhash_indexes("fingerprint", name="%(class)s_simhash")]


class FreeStory(Story):
    """A story without a guard."""


class RejectedStory(Story):
    pass


class SkippedStory(Story):
    pass


class MarkedStory(Story):
    near = models.ForeignKey("self", null=True, editable=False, on_delete=models.SET_NULL)


class SkippedNote(models.Model):
    """A note with a key from Python, and with attached columns that the model does not know."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    body = models.TextField()


class Tenant(models.Model):
    name = models.TextField()


class TenantStory(models.Model):
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE)
    body = models.TextField()
    fingerprint = models.GeneratedField(
        expression=SimHash("body"), output_field=FingerprintField(), db_persist=True, null=True
    )

    class Meta:
        indexes = [
            *simhash_indexes("fingerprint", name="tenantstory_simhash"),
            *simhash_indexes("fingerprint", name="tenantstory_scoped", blocks=3, scope=["tenant"]),
        ]


class NumberedStory(models.Model):
    """A story with a key of several columns. All of them but the number are in the guard's scope."""

    pk = models.CompositePrimaryKey("tenant_id", "number")
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE)
    number = models.IntegerField()
    body = models.TextField()
    near_number = models.IntegerField(null=True, editable=False)
    near = models.ForeignObject(
        "self",
        from_fields=["tenant", "near_number"],
        to_fields=["tenant", "number"],
        null=True,
        editable=False,
        on_delete=models.DO_NOTHING,
        related_name="copies",
    )
    fingerprint = models.GeneratedField(
        expression=SimHash("body"), output_field=FingerprintField(), db_persist=True, null=True
    )

    class Meta:
        indexes = [*simhash_indexes("fingerprint", name="numberedstory_simhash")]


class DatedStory(models.Model):
    """A story whose mark is the whole key."""

    pk = models.CompositePrimaryKey("day", "number")
    day = models.DateField()
    number = models.IntegerField()
    body = models.TextField()
    near = models.JSONField(null=True, editable=False)
    fingerprint = models.GeneratedField(
        expression=SimHash("body"), output_field=FingerprintField(), db_persist=True, null=True
    )

    class Meta:
        indexes = [*simhash_indexes("fingerprint", name="datedstory_simhash")]


class QuotedStory(models.Model):
    """Fingerprints with options, and names with capitals, spaces and quotes."""

    body = models.TextField(db_column="The body")
    owner = models.TextField(db_column="Owner of it")
    fingerprint = models.GeneratedField(
        expression=SimHash("body", {"ngram": 2}),
        output_field=FingerprintField(),
        db_persist=True,
        null=True,
        db_column="Finger print",
    )

    class Meta:
        db_table = "Editor's stories"
        indexes = [*simhash_indexes("fingerprint", name="Editor's story")]

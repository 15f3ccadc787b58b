"""A table that exists before it gets fingerprints: the page replaces this file."""

from django.db import models


class Letter(models.Model):
    body = models.TextField()

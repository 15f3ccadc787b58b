"""A table that exists before it gets fingerprints: the page has its second migration."""

from django.db import models


class Letter(models.Model):
    body = models.TextField()

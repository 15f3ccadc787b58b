"""The model of a guard's log."""

from django.db import models


class GuardLog(models.Model):
    """A row for each row that a guard has skipped or marked. Inherit from it for a table that ``log_to`` names::

        class SkippedArticle(GuardLog):
            pass

    The operation is then ``Guard("Article", "skip", log_to="SkippedArticle", log_fields=["url"])``. The database writes
    the rows, in the transaction of the skipped row.
    """

    logged_at = models.DateTimeField()
    target = models.TextField(help_text="The guarded table, with its schema.")
    action = models.TextField()
    key = models.JSONField(null=True, help_text="The primary key of the near row.")
    distance = models.IntegerField()
    resemblance = models.FloatField(null=True, help_text="NULL if the guard compares no texts.")
    new_row = models.JSONField(help_text="The columns of log_fields of the row that was skipped or marked.")

    class Meta:
        abstract = True
        get_latest_by = "logged_at"

from django.db import migrations

from pg_simhash.django import Attach, Guard


class Migration(migrations.Migration):
    dependencies = [("stories", "0001_models")]
    operations = [
        Guard("RejectedStory", fingerprint="fingerprint"),
        Guard("SkippedStory", "skip", fingerprint="fingerprint"),
        Attach("SkippedNote", "body"),
        Guard("SkippedNote", "skip"),
        Guard("MarkedStory", "mark", mark_field="near", fingerprint="fingerprint"),
        Guard("TenantStory", scope=["tenant"], fingerprint="fingerprint", criterion={"resemblance": 0.9}),
        Guard("NumberedStory", "mark", scope=["tenant"], mark_field="near_number", fingerprint="fingerprint"),
        Guard("DatedStory", "mark", mark_field="near", fingerprint="fingerprint"),
        Guard("QuotedStory", scope=["owner"], fingerprint="fingerprint", criterion={"resemblance": None}),
    ]

"""What makemigrations would write for the models, from the models themselves."""

from django.apps import apps
from django.db import migrations
from django.db.migrations.state import ModelState


def created(model):
    state = ModelState.from_model(model)
    return migrations.CreateModel(state.name, list(state.fields.items()), state.options, state.bases)


class Migration(migrations.Migration):
    initial = True
    dependencies = [("articles", "0001_simhash")]
    operations = [created(model) for model in apps.get_app_config("stories").get_models()]

"""Settings for the tests. The server is that of psql's environment (PGHOST and so on)."""

import os

SECRET_KEY = "tests"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = ["django.contrib.postgres", "stories", "articles", "archive"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": os.environ["PGHOST"],
        "PORT": os.environ["PGPORT"],
        "USER": os.environ["PGUSER"],
        "NAME": "django",
        # Parameters are bound by the server in one run of the tests, and merged by the client in the other.
        "OPTIONS": {"server_side_binding": os.environ.get("SERVER_SIDE_BINDING") == "yes"},
    },
    # A database without the tables of the applications.
    "elsewhere": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"},
}
DATABASE_ROUTERS = ["routers.OnlyDefault"]

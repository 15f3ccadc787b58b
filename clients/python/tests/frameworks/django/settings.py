"""Settings for the tests. The server is that of psql's environment (PGHOST and so on)."""

import os

SECRET_KEY = "tests"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    *(f"django.contrib.{name}" for name in ("admin", "auth", "contenttypes", "messages", "postgres", "sessions")),
    "articles",
    "archive",
]
# What the admin needs.
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
PROCESSORS = [
    "django.template.context_processors.request",
    "django.contrib.auth.context_processors.auth",
    "django.contrib.messages.context_processors.messages",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": PROCESSORS},
    }
]
ROOT_URLCONF = "urls"
STATIC_URL = "static/"
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
}

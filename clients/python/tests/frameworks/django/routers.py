"""Database routers for the tests."""


class OnlyDefault:
    """All tables are in the database `default`."""

    def allow_migrate(self, db, app_label, **hints):
        return db == "default"


class Nowhere:
    """No table is in any database."""

    def allow_migrate(self, db, app_label, **hints):
        return False

"""pg_simhash in Alembic: operations for migrations, and a filter for autogenerate.

Importing this module, best in ``env.py``, registers the operations of ``pg_simhash.alembic.operations`` with
``alembic.op``. ``include_object`` keeps autogenerate from touching what ``simhash_attach`` made:

    from pg_simhash.alembic import include_object

    context.configure(connection=connection, target_metadata=metadata, include_object=include_object)
"""

from pg_simhash.alembic import operations
from pg_simhash.alembic.autogenerate import include_object

__all__ = ["include_object", "operations"]

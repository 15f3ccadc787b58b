"""Migration operations. Each can be reversed, and is shown by sqlmigrate.

Operations on tables obey ``allow_migrate`` of the database routers, and do nothing on databases other than PostgreSQL.
"""

from .extension import SimhashExtension
from .guard import Guard, Unguard
from .index import IndexConcurrently

__all__ = [
    "Guard",
    "IndexConcurrently",
    "SimhashExtension",
    "Unguard",
]

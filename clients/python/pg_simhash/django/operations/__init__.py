"""Migration operations. Each can be reversed, and is shown by sqlmigrate.

Operations on tables obey ``allow_migrate`` of the database routers, and do nothing on databases other than PostgreSQL.
"""

from .attach import Attach, Detach
from .extension import SimhashExtension
from .guard import Guard, Unguard
from .index import IndexConcurrently
from .online import AttachOnline, DetachOnline

__all__ = [
    "Attach",
    "AttachOnline",
    "Detach",
    "DetachOnline",
    "Guard",
    "IndexConcurrently",
    "SimhashExtension",
    "Unguard",
]

//! Opens tables and indexes, and reads their rows of pg_class.

use std::mem::ManuallyDrop;
use std::ops::Deref;

use pgrx::PgRelation;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use crate::error::{ErrorReport, Result, user_error};
use crate::list::{nodes, oids};
use crate::server_string::server_string_from_c;

/// A mode in which relations are locked. A larger number is a stronger mode.
pub type Lock = pg_sys::LOCKMODE;
pub const NO_LOCK: Lock = pg_sys::NoLock as Lock;
pub const ACCESS_SHARE: Lock = pg_sys::AccessShareLock as Lock;
pub const ROW_SHARE: Lock = pg_sys::RowShareLock as Lock;
pub const SHARE_ROW_EXCLUSIVE: Lock = pg_sys::ShareRowExclusiveLock as Lock;
pub const EXCLUSIVE: Lock = pg_sys::ExclusiveLock as Lock;
pub const ACCESS_EXCLUSIVE: Lock = pg_sys::AccessExclusiveLock as Lock;

/// An open relation. While it is open, its definition stays in memory and does not change.
///
/// | opened by | locked in mode | until | if it does not exist |
/// | --- | --- | --- | --- |
/// | `open` | ACCESS SHARE | it is closed | the caller prevents this |
/// | `open_while_used` | `lock` | it is closed | error |
/// | `open_until_end` | `lock` | the transaction ends | None |
/// | `open_locked`, `opened_by_server` | none: it is locked already | | |
pub struct Relation(ManuallyDrop<PgRelation>);

impl Relation {
    fn new(relation: PgRelation) -> Self {
        Self(ManuallyDrop::new(relation))
    }

    /// Opens a relation that cannot be dropped: the caller holds a lock on it, on its table or on a table above it.
    pub fn open(relation: Oid) -> Self {
        Self::open_while_used(relation, ACCESS_SHARE)
    }

    pub fn open_while_used(relation: Oid, lock: Lock) -> Self {
        // SAFETY: any OID may be opened. PostgreSQL raises an error if the relation does not exist.
        Self::new(unsafe { PgRelation::with_lock(relation, lock) })
    }

    pub fn open_until_end(relation: Oid, lock: Lock) -> Option<Self> {
        // SAFETY: any OID may be opened under a lock, which stays when the result is closed.
        unsafe {
            let relation = pg_sys::try_relation_open(relation, lock);
            (!relation.is_null()).then(|| Self::new(PgRelation::from_pg_owned(relation)))
        }
    }

    /// Opens a relation that the caller has locked, such as a table of a query that is being planned.
    pub fn open_locked(relation: Oid) -> Self {
        Self::open_while_used(relation, NO_LOCK)
    }

    /// A relation that PostgreSQL has opened.
    ///
    /// # Safety
    /// The relation is open, and stays open as long as the result is used.
    pub unsafe fn opened_by_server(relation: pg_sys::Relation) -> Self {
        Self::new(unsafe { PgRelation::from_pg(relation) })
    }

    fn class(&self) -> &pg_sys::FormData_pg_class {
        // SAFETY: an open relation has its row of pg_class.
        unsafe { &*self.rd_rel }
    }

    pub fn name(&self) -> Result<String> {
        // SAFETY: `relname` is NUL-terminated.
        unsafe { server_string_from_c(self.class().relname.data.as_ptr()) }
    }

    pub fn schema(&self) -> Oid {
        self.class().relnamespace
    }

    pub fn owner(&self) -> Oid {
        self.class().relowner
    }

    /// `relkind` of pg_class.
    pub fn relkind(&self) -> u8 {
        self.class().relkind as u8
    }

    pub fn is_partitioned(&self) -> bool {
        self.relkind() == pg_sys::RELKIND_PARTITIONED_TABLE
    }

    pub fn is_partition(&self) -> bool {
        self.class().relispartition
    }

    /// Whether this is a temporary table of another session, whose rows cannot be read.
    pub fn is_temporary_elsewhere(&self) -> bool {
        self.class().relpersistence as u8 == pg_sys::RELPERSISTENCE_TEMP && !self.rd_islocaltemp
    }

    /// Whether the access method is PostgreSQL's own `heap`.
    pub fn is_heap(&self) -> bool {
        // SAFETY: GetHeapamTableAmRoutine returns a constant.
        std::ptr::eq(self.rd_tableam, unsafe { pg_sys::GetHeapamTableAmRoutine() })
    }

    pub fn is_btree(&self) -> bool {
        self.class().relam == pg_sys::BTREE_AM_OID
    }

    /// The indexes of a table, except those that are being dropped.
    pub fn indexes(&self) -> Vec<Oid> {
        // SAFETY: the table is open. The list is a copy.
        unsafe { oids(pg_sys::RelationGetIndexList(self.as_ptr())) }
    }

    /// Opens the indexes of a table, except those that are being dropped, as the planner does.
    pub fn open_indexes(&self) -> impl Iterator<Item = Self> {
        self.indexes().into_iter().filter_map(|index| Self::open_until_end(index, ACCESS_SHARE))
    }

    /// Whether the relation has files. A partitioned table has none. On a standby, an unlogged table has none:
    /// PostgreSQL raises its own error if the table is read.
    fn has_files(&self) -> bool {
        let is_logged = self.class().relpersistence as u8 == pg_sys::RELPERSISTENCE_PERMANENT;
        // SAFETY: the function takes no arguments, and only reads a variable.
        !self.is_partitioned() && (is_logged || !unsafe { pg_sys::RecoveryInProgress() })
    }

    /// The planner's estimate of the number of rows in the table itself, without inheritors; 0 if it has no files.
    pub fn estimated_rows(&self) -> f64 {
        if !self.has_files() {
            return 0.0;
        }
        let (no_widths, mut pages, mut rows, mut visible) = (std::ptr::null_mut(), 0, 0.0, 0.0);
        // SAFETY: the table is open, and the results are written to the three numbers.
        unsafe { pg_sys::estimate_rel_size(self.as_ptr(), no_widths, &mut pages, &mut rows, &mut visible) };
        rows
    }

    /// The number of pages of the relation itself; 0 if it has no files.
    pub fn page_count(&self) -> u32 {
        if !self.has_files() {
            return 0;
        }
        // SAFETY: the table is open, and has files.
        unsafe { pg_sys::RelationGetNumberOfBlocksInFork(self.as_ptr(), pg_sys::ForkNumber::MAIN_FORKNUM) }
    }
}

/// The name of a relation that need not be open; None if it does not exist.
pub fn relation_name(relation: Oid) -> Result<Option<String>> {
    // SAFETY: a look-up in a system cache, which returns a NUL-terminated name or null.
    unsafe {
        let name = pg_sys::get_rel_name(relation);
        if name.is_null() { Ok(None) } else { server_string_from_c(name).map(Some) }
    }
}

/// `relkind` of a relation that need not be open; 0 if it does not exist.
pub fn relkind_of(relation: Oid) -> u8 {
    // SAFETY: a look-up in a system cache.
    unsafe { pg_sys::get_rel_relkind(relation) as u8 }
}

pub fn is_foreign(relation: Oid) -> bool {
    relkind_of(relation) == pg_sys::RELKIND_FOREIGN_TABLE
}

/// The name of the server of a foreign table, which the caller has locked.
pub fn foreign_server_name(table: Oid) -> Result<String> {
    // SAFETY: a foreign table has a server, which cannot be dropped while the table exists; its name is NUL-terminated.
    unsafe { server_string_from_c((*pg_sys::GetForeignServer((*pg_sys::GetForeignTable(table)).serverid)).servername) }
}

/// Whether row-level security may hide rows of a table from a role; None stands for the current user.
pub fn hides_rows(table: Oid, role: Option<Oid>) -> bool {
    // SAFETY: a look-up in system caches.
    let security = unsafe { pg_sys::check_enable_rls(table, role.unwrap_or(Oid::INVALID), true) };
    security == pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32
}

/// The privilege SELECT, as PostgreSQL's functions take it.
pub const RIGHT_TO_SELECT: pg_sys::AclMode = pg_sys::ACL_SELECT as pg_sys::AclMode;

/// Whether the current user may select all columns in every row of a table.
pub fn may_select_rows(table: Oid) -> bool {
    // SAFETY: a look-up in system caches.
    let result = unsafe { pg_sys::pg_class_aclcheck(table, pg_sys::GetUserId(), RIGHT_TO_SELECT) };
    result == pg_sys::AclResult::ACLCHECK_OK && !hides_rows(table, None)
}

/// The error for a relation that does not exist, or no longer exists.
pub fn no_such_relation(relation: Oid) -> ErrorReport {
    let message = format!("relation with OID {} does not exist", relation.to_u32());
    user_error(PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE, message)
}

/// A foreign key of a table.
pub struct ForeignKey {
    pub columns: Vec<i16>,
    pub referenced: Oid,
}

pub fn foreign_keys(table: &Relation) -> Vec<ForeignKey> {
    // SAFETY: the list is valid while the table is open. The first `nkeys` columns of each key are set.
    unsafe {
        let keys = nodes::<pg_sys::ForeignKeyCacheInfo>(pg_sys::RelationGetFKeyList(table.as_ptr()));
        let columns_of = |key: &pg_sys::ForeignKeyCacheInfo| key.conkey[..key.nkeys as usize].to_vec();
        keys.into_iter().map(|key| ForeignKey { columns: columns_of(&*key), referenced: (*key).confrelid }).collect()
    }
}

impl Drop for Relation {
    fn drop(&mut self) {
        // After a PostgreSQL error, PostgreSQL itself closes the relation when it ends the (sub)transaction. Until
        // then, the current resource owner may be another one than that of the relation: closing it would be an error.
        if !std::thread::panicking() {
            // SAFETY: the relation is dropped only here.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}

impl Deref for Relation {
    type Target = PgRelation;

    fn deref(&self) -> &PgRelation {
        &self.0
    }
}

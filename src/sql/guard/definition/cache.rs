//! A cache of guards between statements.
//!
//! Without the cache, making the guard for a statement that inserts one row took as long as the search and the
//! insertion. PostgreSQL reports when the definition of a relation, a function or an enum may have changed. The next
//! look-up then drops the guards that may depend on it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_int;
use std::rc::Rc;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;
use postgres::catalog::relation::ACCESS_SHARE;
use postgres::error::Result;
use postgres::trigger::RowEvent;

use super::guard::{Guard, GuardIdentity};

/// The limit on the triggers in the cache: enough for the partitions of several tables. Beyond it, the cache is
/// emptied.
const MAX_CACHED_TRIGGERS: usize = 4096;

thread_local! {
    /// Guards by the OIDs of their triggers. A replaced trigger has several guards while a running statement fires the
    /// old definition. The triggers of one table's partitions share a guard.
    static GUARDS: RefCell<HashMap<Oid, Vec<Rc<Guard>>>> = RefCell::default();
    /// Whether PostgreSQL has the callbacks below.
    static HAS_CALLBACKS: Cell<bool> = const { Cell::new(false) };
    /// The relations whose definition may have changed since the last look-up; the invalid OID stands for all.
    static CHANGED_RELATIONS: RefCell<Vec<Oid>> = const { RefCell::new(Vec::new()) };
}

/// The guard of the event's trigger, which executes `function`. The tables that the guard searches are locked until the
/// transaction ends, so that neither these tables nor their indexes are dropped. `previous` is a guard that this
/// statement has obtained before: its tables are locked already.
pub fn guard_of_trigger(function: Oid, event: &RowEvent, previous: Option<&Rc<Guard>>) -> Result<Rc<Guard>> {
    let mut guard = find_or_make(function, event)?;
    if previous.is_some_and(|previous| Rc::ptr_eq(previous, &guard)) {
        return Ok(guard);
    }
    // A table may change while this waits for a lock: then the guard is made again, and its tables are locked.
    loop {
        // A table without partitions needs no lock here: the statement that writes to it has locked it.
        if guard.relations.len() > 1 {
            for &relation in &guard.relations {
                // SAFETY: any OID may be locked.
                unsafe { pg_sys::LockRelationOid(relation, ACCESS_SHARE) };
            }
        }
        let latest = find_or_make(function, event)?;
        // If it is another guard of the same tables, it was made when they were locked. So this ends, however often
        // PostgreSQL reports changes: with debug_discard_caches, each look-up in a catalog does.
        if guard.relations == latest.relations {
            return Ok(latest);
        }
        guard = latest;
    }
}

/// The guard of the trigger: the cached guard of the trigger with these arguments; otherwise the cached guard of
/// another trigger with the same identity; otherwise a new guard. Its tables are not locked.
///
/// A replaced trigger has the same OID, and a running statement still fires the old trigger: the arguments distinguish
/// the two.
fn find_or_make(function: Oid, event: &RowEvent) -> Result<Rc<Guard>> {
    if !HAS_CALLBACKS.replace(true) {
        use pg_sys::SysCacheIdentifier::{ENUMOID, PROCOID};
        // SAFETY: the callbacks are functions of this library, which is never unloaded.
        unsafe {
            pg_sys::CacheRegisterRelcacheCallback(Some(relation_changed), Datum::null());
            for cache in [PROCOID, ENUMOID] {
                pg_sys::CacheRegisterSyscacheCallback(cache as _, Some(function_or_enum_changed), Datum::null());
            }
        }
    }
    drop_outdated();
    let trigger = event.trigger().tgoid;
    let has_arguments = |guard: &&Rc<Guard>| guard.identity.has_arguments_of(event);
    if let Some(guard) = GUARDS.with_borrow(|guards| guards.get(&trigger)?.iter().find(has_arguments).cloned()) {
        return Ok(guard);
    }
    let identity = GuardIdentity::from_event(event)?;
    let has_identity = |guard: &&Rc<Guard>| guard.identity == identity;
    let shared = GUARDS.with_borrow(|guards| guards.values().flatten().find(has_identity).cloned());
    let guard = shared.map_or_else(|| Guard::new(function, identity, event).map(Rc::new), Ok)?;
    GUARDS.with_borrow_mut(|guards| {
        if guards.len() >= MAX_CACHED_TRIGGERS {
            guards.clear();
        }
        guards.entry(trigger).or_default().push(guard.clone());
    });
    Ok(guard)
}

/// Drops the guards that depend on relations whose definition may have changed.
fn drop_outdated() {
    let changed = CHANGED_RELATIONS.take();
    if changed.is_empty() {
        return;
    }
    let is_unchanged = |guard: &Rc<Guard>| {
        !changed.contains(&Oid::INVALID) && !guard.relations.iter().any(|relation| changed.contains(relation))
    };
    GUARDS.with_borrow_mut(|guards| {
        guards.retain(|_, trigger_guards| {
            trigger_guards.retain(is_unchanged);
            !trigger_guards.is_empty()
        });
    });
}

/// PostgreSQL calls this for each relation whose definition may have changed; with the invalid OID, for all.
#[pg_guard]
unsafe extern "C-unwind" fn relation_changed(_argument: Datum, relation: Oid) {
    /// If more relations than this have changed, drop all guards.
    const MAX_CHANGED_RELATIONS: usize = 64;
    CHANGED_RELATIONS.with_borrow_mut(|changed| {
        if changed.len() == MAX_CHANGED_RELATIONS {
            *changed = vec![Oid::INVALID];
        } else if !changed.contains(&relation) {
            changed.push(relation);
        }
    });
}

/// PostgreSQL calls this if a function or a label of an enum may have changed, which an expression of any guard may
/// name.
#[pg_guard]
unsafe extern "C-unwind" fn function_or_enum_changed(_argument: Datum, _cache: c_int, _hash: u32) {
    CHANGED_RELATIONS.set(vec![Oid::INVALID]);
}

//! A cache of guards between statements.
//!
//! For a statement that inserts one row, making the guard took as long as the search and the insertion. A guard is
//! dropped as soon as PostgreSQL reports that the definition of one of its tables may have changed.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::rc::Rc;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

/// The limit on the triggers in the cache: enough for the partitions of several tables.
const MAX_CACHED_TRIGGERS: usize = 4096;

/// Cached values by key, and by the OIDs of the triggers that share a value: the triggers of one table's partitions.
pub struct Cache<K: 'static, T: 'static> {
    cached: RefCell<Cached<K, T>>,
    has_callback: Cell<bool>,
}

struct Cached<K, T> {
    values: HashMap<K, (Rc<T>, Tables)>,
    by_trigger: HashMap<Oid, Rc<T>>,
}

/// The tables that a value depends on.
type Tables = HashSet<Oid>;

/// The tables whose definition may have changed since the last look-up.
enum Changed {
    Tables(Vec<Oid>),
    All,
}

thread_local! {
    static CHANGED: RefCell<Changed> = const { RefCell::new(Changed::Tables(Vec::new())) };
}

impl<K: Eq + Hash + Clone, T> Cache<K, T> {
    pub fn new() -> Self {
        let cached = Cached { values: HashMap::new(), by_trigger: HashMap::new() };
        Self { cached: RefCell::new(cached), has_callback: Cell::new(false) }
    }

    /// Returns the value for a trigger. If the trigger has no entry, or `is_its` rejects its value, `identify` computes
    /// the key; if the key has no entry either, `make` makes the value and lists the tables that it depends on.
    ///
    /// A replaced trigger has the same OID, and a running statement still fires the old trigger: `is_its` distinguishes
    /// the two.
    pub fn get<E>(
        &self,
        trigger: Oid,
        is_its: impl FnOnce(&T) -> bool,
        identify: impl FnOnce() -> K,
        make: impl FnOnce(&K) -> Result<(T, Tables), E>,
    ) -> Result<Rc<T>, E> {
        if !self.has_callback.replace(true) {
            // SAFETY: the callback is a function of this library, which is never unloaded.
            unsafe { pg_sys::CacheRegisterRelcacheCallback(Some(changed), Datum::null()) };
        }
        self.drop_changed();
        if let Some(known) = self.cached.borrow().by_trigger.get(&trigger)
            && is_its(known)
        {
            return Ok(known.clone());
        }
        let key = identify();
        if self.cached.borrow().by_trigger.len() >= MAX_CACHED_TRIGGERS {
            self.drop_all();
        }
        let known = self.cached.borrow().values.get(&key).map(|(value, _)| value.clone());
        let value = match known {
            Some(value) => value,
            None => {
                let (value, tables) = make(&key)?;
                let value = Rc::new(value);
                self.cached.borrow_mut().values.insert(key, (value.clone(), tables));
                value
            }
        };
        self.cached.borrow_mut().by_trigger.insert(trigger, value.clone());
        Ok(value)
    }

    fn drop_all(&self) {
        let mut cached = self.cached.borrow_mut();
        cached.values.clear();
        cached.by_trigger.clear();
    }

    /// Drops the values that depend on tables whose definition may have changed.
    fn drop_changed(&self) {
        let changed = match CHANGED.replace(Changed::Tables(Vec::new())) {
            Changed::Tables(tables) if tables.is_empty() => return,
            Changed::Tables(tables) => tables,
            Changed::All => return self.drop_all(),
        };
        let Cached { values, by_trigger } = &mut *self.cached.borrow_mut();
        values.retain(|_, (value, tables)| {
            let is_unchanged = !changed.iter().any(|table| tables.contains(table));
            if !is_unchanged {
                by_trigger.retain(|_, shared| !Rc::ptr_eq(shared, value));
            }
            is_unchanged
        });
    }
}

/// PostgreSQL calls this for each table whose definition may have changed; with the invalid OID, for all tables.
#[pg_guard]
unsafe extern "C-unwind" fn changed(_argument: Datum, table: Oid) {
    /// If more tables than this have changed, drop all values.
    const MAX_CHANGED_TABLES: usize = 64;
    CHANGED.with_borrow_mut(|changed| match changed {
        Changed::Tables(tables) if table != Oid::INVALID && tables.len() < MAX_CHANGED_TABLES => {
            if !tables.contains(&table) {
                tables.push(table);
            }
        }
        _ => *changed = Changed::All,
    });
}

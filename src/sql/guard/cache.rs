//! What guards know about their tables, cached between statements.
//!
//! For a statement that inserts one row, reading these facts took as long as searching and inserting. An entry is
//! dropped as soon as PostgreSQL reports that the definition of one of its tables may have changed.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::rc::Rc;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

/// The most triggers that the cache holds: enough for the partitions of several tables.
const MAX_CACHED_TRIGGERS: usize = 4096;

/// Cached values by key, and by the OIDs of the triggers that share them: the triggers of one table's partitions.
pub struct Cache<K: 'static, T: 'static> {
    remembered: RefCell<Remembered<K, T>>,
    is_registered: Cell<bool>,
}

struct Remembered<K, T> {
    values: HashMap<K, (Rc<T>, Tables)>,
    by_trigger: HashMap<Oid, Rc<T>>,
}

/// The tables that a value depends on.
type Tables = HashSet<Oid>;

thread_local! {
    /// The tables whose definition may have changed since the last look-up; None for all tables.
    static CHANGED: RefCell<Option<Vec<Oid>>> = const { RefCell::new(Some(Vec::new())) };
}

impl<K: Eq + Hash + Clone, T> Cache<K, T> {
    pub fn new() -> Self {
        let remembered = Remembered { values: HashMap::new(), by_trigger: HashMap::new() };
        Self { remembered: RefCell::new(remembered), is_registered: Cell::new(false) }
    }

    /// Returns the value for a trigger. If the trigger has no entry, or `is_its` rejects its value, `identify` computes
    /// the key; if the key has no entry either, `make` makes the value and lists the tables that it depends on.
    ///
    /// A trigger that is replaced keeps its OID, and a running statement keeps the triggers that it began with:
    /// `is_its` tells the old trigger from the new one.
    pub fn get<E>(
        &self,
        trigger: Oid,
        is_its: impl FnOnce(&T) -> bool,
        identify: impl FnOnce() -> K,
        make: impl FnOnce(&K) -> Result<(T, Tables), E>,
    ) -> Result<Rc<T>, E> {
        if !self.is_registered.replace(true) {
            // SAFETY: the callback is a function of this library, which is never unloaded.
            unsafe { pg_sys::CacheRegisterRelcacheCallback(Some(changed), Datum::null()) };
        }
        self.forget_changed();
        if let Some(known) = self.remembered.borrow().by_trigger.get(&trigger)
            && is_its(known)
        {
            return Ok(known.clone());
        }
        let key = identify();
        if self.remembered.borrow().by_trigger.len() >= MAX_CACHED_TRIGGERS {
            self.forget_all();
        }
        let known = self.remembered.borrow().values.get(&key).map(|(value, _)| value.clone());
        let value = match known {
            Some(value) => value,
            None => {
                let (value, tables) = make(&key)?;
                let value = Rc::new(value);
                self.remembered.borrow_mut().values.insert(key, (value.clone(), tables));
                value
            }
        };
        self.remembered.borrow_mut().by_trigger.insert(trigger, value.clone());
        Ok(value)
    }

    fn forget_all(&self) {
        let mut remembered = self.remembered.borrow_mut();
        remembered.values.clear();
        remembered.by_trigger.clear();
    }

    fn forget_changed(&self) {
        let changed = CHANGED.with_borrow_mut(|changed| match changed {
            Some(tables) if tables.is_empty() => None,
            _ => Some(changed.replace(Vec::new())),
        });
        let Some(changed) = changed else { return };
        let Some(changed) = changed else { return self.forget_all() };
        let Remembered { values, by_trigger } = &mut *self.remembered.borrow_mut();
        values.retain(|_, (value, tables)| {
            let is_as_it_was = !changed.iter().any(|table| tables.contains(table));
            if !is_as_it_was {
                by_trigger.retain(|_, shared| !Rc::ptr_eq(shared, value));
            }
            is_as_it_was
        });
    }
}

/// PostgreSQL calls this for each table whose definition may have changed; with the invalid OID, for all tables.
#[pg_guard]
unsafe extern "C-unwind" fn changed(_argument: Datum, table: Oid) {
    /// Beyond this many changed tables, forget all.
    const MOST_CHANGED: usize = 64;
    CHANGED.with_borrow_mut(|changed| match changed {
        Some(tables) if table != Oid::INVALID && tables.len() < MOST_CHANGED => {
            if !tables.contains(&table) {
                tables.push(table);
            }
        }
        _ => *changed = None,
    });
}

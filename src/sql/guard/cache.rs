//! What a guard has found out about its tables, remembered from statement to statement.
//!
//! For a statement that inserts one row, to find out took as long as to search and to insert. It is forgotten as soon as
//! PostgreSQL says that the definition of one of the tables may have changed.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

/// Guards that are remembered. A backend rarely writes to more.
const MOST: usize = 64;

/// Values by the trigger that they are of, and the tables that they depend on.
pub struct Cache<T: 'static> {
    values: RefCell<HashMap<Oid, Remembered<T>>>,
    is_registered: Cell<bool>,
}

struct Remembered<T> {
    value: Rc<T>,
    /// What it depends on.
    tables: Vec<Oid>,
}

thread_local! {
    /// The tables whose definition may have changed since anybody looked. None: all.
    static CHANGED: RefCell<Option<Vec<Oid>>> = const { RefCell::new(Some(Vec::new())) };
}

impl<T> Cache<T> {
    pub fn new() -> Self {
        Self { values: RefCell::new(HashMap::new()), is_registered: Cell::new(false) }
    }

    /// The value of a trigger; it is made, with the tables that it depends on, if it is not known.
    pub fn get<E>(&self, trigger: Oid, make: impl FnOnce() -> Result<(T, Vec<Oid>), E>) -> Result<Rc<T>, E> {
        if !self.is_registered.replace(true) {
            // SAFETY: the callback is a function of this library, which is never unloaded.
            unsafe { pg_sys::CacheRegisterRelcacheCallback(Some(changed), Datum::null()) };
        }
        let mut values = self.values.borrow_mut();
        match CHANGED.replace(Some(Vec::new())) {
            Some(changed) => {
                values.retain(|_, remembered| !remembered.tables.iter().any(|table| changed.contains(table)));
            }
            None => values.clear(),
        }
        if let Some(remembered) = values.get(&trigger) {
            return Ok(remembered.value.clone());
        }
        drop(values);
        let (value, tables) = make()?;
        let value = Rc::new(value);
        let mut values = self.values.borrow_mut();
        if values.len() >= MOST {
            values.clear();
        }
        values.insert(trigger, Remembered { value: value.clone(), tables });
        Ok(value)
    }
}

/// PostgreSQL calls it for each table whose definition may have changed; for all, with the invalid OID.
#[pg_guard]
unsafe extern "C-unwind" fn changed(_argument: Datum, table: Oid) {
    /// Beyond, it is as well to forget all.
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

//! A parsed statement that the caller can inspect before it runs.
//!
//! A statement is text, and names its tables. The owner of a schema can rename it at any time, so the parser may find
//! another table by a name. So the caller checks the parsed query before anything is evaluated, and exactly this query
//! is planned and run.

use std::ffi::CString;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use super::error::{ErrorReport, Result, user_error};
use super::expression::Expression;
use super::list::nodes;
use super::owner::without_forced_policies;

/// A parsed SELECT: names are resolved; views, rules and policies are not expanded yet.
pub struct Query {
    text: CString,
    tree: *mut pg_sys::Query,
}

impl Query {
    /// Parses a statement in the server's encoding; an error unless it is one SELECT.
    pub fn parse(text: CString) -> Result<Self> {
        // SAFETY: the text is NUL-terminated and lives as long as the trees, which are in the current memory context.
        unsafe {
            let statements = nodes::<pg_sys::RawStmt>(pg_sys::pg_parse_query(text.as_ptr()));
            let [statement] = statements[..] else { return Err(not_one_select()) };
            let (types, environment) = (std::ptr::null_mut(), std::ptr::null_mut());
            let tree = pg_sys::parse_analyze_fixedparams(statement, text.as_ptr(), types, 0, environment);
            if (*tree).commandType != pg_sys::CmdType::CMD_SELECT {
                return Err(not_one_select());
            }
            Ok(Self { text, tree })
        }
    }

    /// The only relation of the query's FROM, which may also be a view or a foreign table; None if there are several
    /// items, or another one. Relations in sub-selects do not count.
    pub fn only_relation(&self) -> Option<Oid> {
        // SAFETY: the query is valid; its range table is a list of entries, or null.
        unsafe {
            let [entry] = nodes::<pg_sys::RangeTblEntry>((*self.tree).rtable)[..] else { return None };
            ((*entry).rtekind == pg_sys::RTEKind::RTE_RELATION).then_some((*entry).relid)
        }
    }

    /// The expressions that the query returns in its columns.
    pub fn output_expressions(&self) -> Vec<Expression> {
        // SAFETY: the query is valid; it has a list of target entries, each with an expression.
        unsafe {
            let entries = nodes::<pg_sys::TargetEntry>((*self.tree).targetList);
            entries.into_iter().filter_map(|entry| Expression::new((*entry).expr)).collect()
        }
    }

    /// Plans and runs the query with the rights of the current user, and calls `use_value` with each value of its first
    /// column that is not NULL. A value that is passed by reference is valid only during this call. Reads all rows of
    /// the current user's tables: a sample without some would be none.
    pub fn for_each_value(self, mut use_value: impl FnMut(Datum)) -> Result<()> {
        let mut receiver = Receiver {
            // SAFETY: None_Receiver is PostgreSQL's receiver that does nothing. It is valid at all times.
            base: pg_sys::DestReceiver { receiveSlot: Some(receive), ..unsafe { *pg_sys::None_Receiver } },
            use_value: &mut use_value,
        };
        // SAFETY: the query is valid, without parameters. The receiver outlives the run, and a running function has an
        // active snapshot. After an error, PostgreSQL releases the executor's resources.
        unsafe {
            let rewritten = without_forced_policies(|| nodes::<pg_sys::Query>(pg_sys::pg_rewrite_query(self.tree)));
            let [query] = rewritten[..] else { return Err(not_one_select()) };
            let (text, parameters) = (self.text.as_ptr(), std::ptr::null_mut());
            #[cfg(not(feature = "pg19"))]
            let statement = pg_sys::pg_plan_query(query, text, 0, parameters);
            #[cfg(feature = "pg19")]
            let statement = pg_sys::pg_plan_query(query, text, 0, parameters, std::ptr::null_mut());
            let execution = pg_sys::CreateQueryDesc(
                statement,
                text,
                pg_sys::GetActiveSnapshot(),
                std::ptr::null_mut(),
                (&raw mut receiver).cast(),
                parameters,
                std::ptr::null_mut(),
                0,
            );
            let forward = pg_sys::ScanDirection::ForwardScanDirection;
            pg_sys::ExecutorStart(execution, 0);
            #[cfg(not(any(feature = "pg18", feature = "pg19")))]
            pg_sys::ExecutorRun(execution, forward, 0, true);
            #[cfg(any(feature = "pg18", feature = "pg19"))]
            pg_sys::ExecutorRun(execution, forward, 0);
            pg_sys::ExecutorFinish(execution);
            pg_sys::ExecutorEnd(execution);
            pg_sys::FreeQueryDesc(execution);
        }
        Ok(())
    }
}

fn not_one_select() -> ErrorReport {
    user_error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, "a query must be one SELECT statement")
}

/// Where the executor sends the rows of the query.
#[repr(C)]
struct Receiver<'a> {
    /// Must be the first field, to which PostgreSQL's pointer to a receiver points.
    base: pg_sys::DestReceiver,
    use_value: &'a mut dyn FnMut(Datum),
}

#[pg_guard]
unsafe extern "C-unwind" fn receive(slot: *mut pg_sys::TupleTableSlot, receiver: *mut pg_sys::DestReceiver) -> bool {
    let mut is_null = false;
    // SAFETY: the executor passes a row of one column or more, and the receiver that it was given.
    unsafe {
        let value = pg_sys::slot_getattr(slot, 1, &mut is_null);
        if !is_null {
            ((*receiver.cast::<Receiver>()).use_value)(value);
        }
    }
    true
}

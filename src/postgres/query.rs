//! Statements whose tables and functions are checked between parsing and planning.
//!
//! A statement is text, and names its tables. The owner of a schema can rename it at any time, so a name may mean
//! another table when it is looked up. So the parser's result is checked, and exactly this result is planned and run.
//! Nothing is evaluated before that.

use std::ffi::{CString, c_int};

use pgrx::pg_guard;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use super::error::user_error;
use super::expression::Expression;
use super::list::nodes;

/// A parsed SELECT or INSERT: names are resolved; views, rules and policies are not expanded yet.
pub struct Query {
    text: CString,
    tree: *mut pg_sys::Query,
}

/// A planned statement, which can be run more than once. It lives in the memory context in which it was planned.
pub struct QueryPlan {
    text: CString,
    statement: *mut pg_sys::PlannedStmt,
    /// The types of the parameters.
    parameters: Vec<Oid>,
}

impl Query {
    /// Parses a statement in the server's encoding; an error unless it is one SELECT.
    pub fn parse(text: CString) -> Result<Self, ErrorReport> {
        Self::parse_command(text, pg_sys::CmdType::CMD_SELECT, &[])
    }

    /// Parses and plans an INSERT in the server's encoding, whose parameters have these types. `check` gets the parsed
    /// query. An error unless it is one INSERT, before and after rules are applied.
    pub fn plan_insert(
        text: CString,
        parameters: Vec<Oid>,
        check: impl FnOnce(&Self) -> Result<(), ErrorReport>,
    ) -> Result<QueryPlan, ErrorReport> {
        let query = Self::parse_command(text, pg_sys::CmdType::CMD_INSERT, &parameters)?;
        check(&query)?;
        query.plan(parameters)
    }

    fn parse_command(text: CString, command: pg_sys::CmdType::Type, parameters: &[Oid]) -> Result<Self, ErrorReport> {
        // SAFETY: the text is NUL-terminated and lives as long as the trees, which are in the current memory context.
        unsafe {
            let statements = pg_sys::pg_parse_query(text.as_ptr());
            if statements.is_null() || (*statements).length != 1 {
                return Err(not_one_statement());
            }
            let statement = pg_sys::list_nth(statements, 0).cast::<pg_sys::RawStmt>();
            let (types, count) = (parameters.as_ptr().cast_mut(), parameters.len() as c_int);
            let environment = std::ptr::null_mut();
            let tree = pg_sys::parse_analyze_fixedparams(statement, text.as_ptr(), types, count, environment);
            if (*tree).commandType != command {
                return Err(not_one_statement());
            }
            Ok(Self { text, tree })
        }
    }

    fn plan(self, parameters: Vec<Oid>) -> Result<QueryPlan, ErrorReport> {
        // SAFETY: the query is valid; the rewriter returns a list of queries, or null.
        unsafe {
            let rewritten = pg_sys::pg_rewrite_query(self.tree);
            if rewritten.is_null() || (*rewritten).length != 1 {
                return Err(not_one_statement());
            }
            let query = pg_sys::list_nth(rewritten, 0).cast::<pg_sys::Query>();
            let (text, parameter_values) = (self.text.as_ptr(), std::ptr::null_mut());
            #[cfg(not(feature = "pg19"))]
            let statement = pg_sys::pg_plan_query(query, text, 0, parameter_values);
            #[cfg(feature = "pg19")]
            let statement = pg_sys::pg_plan_query(query, text, 0, parameter_values, std::ptr::null_mut());
            Ok(QueryPlan { text: self.text, statement, parameters })
        }
    }

    /// The table in the query's FROM, or the table that it inserts into; None if the query names several relations, or
    /// one that is not a table.
    pub fn table(&self) -> Option<Oid> {
        // SAFETY: the query is valid; its range table is a list of entries, or null.
        unsafe {
            let entries = (*self.tree).rtable;
            if entries.is_null() || (*entries).length != 1 {
                return None;
            }
            let entry = &*pg_sys::list_nth(entries, 0).cast::<pg_sys::RangeTblEntry>();
            (entry.rtekind == pg_sys::RTEKind::RTE_RELATION).then_some(entry.relid)
        }
    }

    /// The expressions that the query returns in its columns.
    pub fn returned(&self) -> Vec<Expression> {
        // SAFETY: the query is valid; it has a list of target entries, each with an expression.
        unsafe {
            let entries = nodes::<pg_sys::TargetEntry>((*self.tree).targetList);
            entries.into_iter().filter_map(|entry| Expression::new((*entry).expr)).collect()
        }
    }

    /// Plans and runs the query with the rights of the current user, and calls `take` with each value of its first
    /// column that is not NULL. A value that is passed by reference is valid only during this call.
    pub fn each_value(self, mut take: impl FnMut(Datum)) -> Result<(), ErrorReport> {
        let mut receiver = Receiver {
            base: pg_sys::DestReceiver {
                receiveSlot: Some(receive),
                rStartup: Some(start),
                rShutdown: Some(nothing),
                rDestroy: Some(nothing),
                mydest: pg_sys::CommandDest::DestNone,
            },
            take: &mut take,
        };
        let plan = self.plan(Vec::new())?;
        // SAFETY: the receiver outlives the run, and the statement has no parameters.
        unsafe { plan.execute((&raw mut receiver).cast(), std::ptr::null_mut()) };
        Ok(())
    }
}

impl QueryPlan {
    /// Runs the statement with the rights of the current user.
    ///
    /// # Safety
    /// The memory context in which the statement was planned still exists. The values are of the parameters' types.
    pub unsafe fn run(&self, values: &[Option<Datum>]) {
        // SAFETY: makeParamList allocates as many parameters, which are set here. The receiver discards rows.
        unsafe {
            let list = pg_sys::makeParamList(self.parameters.len() as c_int);
            let parameters = (*list).params.as_mut_slice(self.parameters.len());
            for ((parameter, &data_type), value) in parameters.iter_mut().zip(&self.parameters).zip(values) {
                *parameter = pg_sys::ParamExternData {
                    value: value.unwrap_or_else(Datum::null),
                    isnull: value.is_none(),
                    pflags: pg_sys::PARAM_FLAG_CONST as u16,
                    ptype: data_type,
                };
            }
            self.execute(pg_sys::CreateDestReceiver(pg_sys::CommandDest::DestNone), list);
        }
    }

    /// # Safety
    /// As for [`QueryPlan::run`]; and the receiver is valid.
    unsafe fn execute(&self, receiver: *mut pg_sys::DestReceiver, parameters: pg_sys::ParamListInfo) {
        // SAFETY: the caller passes a valid receiver and the statement's parameters; a running function has an active
        // snapshot. After an error, PostgreSQL releases the executor's resources.
        unsafe {
            let running = pg_sys::CreateQueryDesc(
                self.statement,
                self.text.as_ptr(),
                pg_sys::GetActiveSnapshot(),
                std::ptr::null_mut(),
                receiver,
                parameters,
                std::ptr::null_mut(),
                0,
            );
            let forward = pg_sys::ScanDirection::ForwardScanDirection;
            pg_sys::ExecutorStart(running, 0);
            #[cfg(not(any(feature = "pg18", feature = "pg19")))]
            pg_sys::ExecutorRun(running, forward, 0, true);
            #[cfg(any(feature = "pg18", feature = "pg19"))]
            pg_sys::ExecutorRun(running, forward, 0);
            pg_sys::ExecutorFinish(running);
            pg_sys::ExecutorEnd(running);
            pg_sys::FreeQueryDesc(running);
        }
    }
}

fn not_one_statement() -> ErrorReport {
    user_error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, "a query must be one statement")
}

/// Receives the rows of a running query.
#[repr(C)]
struct Receiver<'a> {
    /// Must be the first field: PostgreSQL knows only this part of the receiver.
    base: pg_sys::DestReceiver,
    take: &'a mut dyn FnMut(Datum),
}

#[pg_guard]
unsafe extern "C-unwind" fn receive(slot: *mut pg_sys::TupleTableSlot, receiver: *mut pg_sys::DestReceiver) -> bool {
    let mut is_null = false;
    // SAFETY: the executor passes a row of one column or more, and the receiver that it was given.
    unsafe {
        let value = pg_sys::slot_getattr(slot, 1, &mut is_null);
        if !is_null {
            ((*receiver.cast::<Receiver>()).take)(value);
        }
    }
    true
}

#[pg_guard]
unsafe extern "C-unwind" fn start(_receiver: *mut pg_sys::DestReceiver, _operation: c_int, _row: pg_sys::TupleDesc) {}

#[pg_guard]
unsafe extern "C-unwind" fn nothing(_receiver: *mut pg_sys::DestReceiver) {}

//! The report about a near-duplicate: its key, and the resemblance of the texts or the distance of the fingerprints.
//!
//! Each is reported only to users who may select the columns that it comes from. Otherwise, a user could try texts, and
//! derive a hidden text from the resemblances, word by word, or a hidden fingerprint from the distances, bit by bit.

use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use postgres::catalog::column::{Column, attnum_of};
use postgres::catalog::partition::ancestors;
use postgres::catalog::relation::{RIGHT_TO_SELECT, Relation, hides_rows, may_select_rows};
use postgres::error::Result;
use postgres::json;

use super::near_rows::NearDuplicate;
use super::search::Closeness;

/// The report for the current user.
pub struct Disclosure {
    /// The key, as PostgreSQL writes it in its messages and as JSON; None if it may not be shown, or there is none.
    key: Option<(String, String)>,
    /// None if it may not be shown.
    closeness: Option<Closeness>,
    /// Whether texts are compared.
    is_of_texts: bool,
    /// Whether row-level security hides rows of the table from the user.
    has_hidden_rows: bool,
}

/// The limit on the length of a key as JSON, in bytes.
const MAX_KEY_BYTES: usize = 8192;

impl Disclosure {
    pub fn new(nearest: &NearDuplicate) -> Result<Self> {
        let searched = nearest.searched;
        let table = Relation::open(searched.oid);
        let tables: Vec<_> = std::iter::once(searched.oid).chain(ancestors(&table)).collect();
        let may_show = |attnums: &[i16]| {
            let columns: Vec<_> = attnums.iter().filter_map(|&attnum| Column::at(&table, attnum)).collect();
            tables.iter().any(|&table| may_select(table, &columns))
        };
        let primary_key = &searched.primary_key;
        let key = if may_show(&primary_key.columns().map(|column| column.attnum).collect::<Vec<_>>()) {
            primary_key.describe(&nearest.primary_key)?.zip(primary_key.to_json(&nearest.primary_key)?)
        } else {
            None
        };
        Ok(Self {
            key,
            closeness: may_show(&searched.expressions.source.stored_row_columns).then_some(nearest.closeness),
            is_of_texts: matches!(nearest.closeness, Closeness::Resemblance(_)),
            has_hidden_rows: tables.iter().any(|&table| hides_rows(table, None)),
        })
    }

    /// The report as a sentence for people.
    pub fn to_sentence(&self) -> String {
        let key = self.key.as_ref().map(|(key, _)| format!("key {key}"));
        let other = key.as_deref().unwrap_or("another row");
        match (self.closeness, &key) {
            (Some(Closeness::Resemblance(resemblance)), _) => {
                format!("The text has a resemblance of {resemblance:.3} to that of {other}.")
            }
            (Some(Closeness::Distance(distance)), _) => {
                let bits = if distance == 1 { "bit" } else { "bits" };
                format!("The fingerprint differs in {distance} {bits} from that of {other}.")
            }
            (None, Some(_)) if self.is_of_texts => format!("The text resembles that of {other}."),
            (None, Some(_)) => format!("The fingerprint is near that of {other}."),
            (None, None) if self.has_hidden_rows => "Row-level security hides which row it is near.".to_owned(),
            (None, None) => "Only users with SELECT on its key can see which row it is near.".to_owned(),
        }
    }

    /// The report as a JSON object for programs, in ASCII: `{"key": {"id": 42}, "resemblance": 0.980}`, or with the
    /// member `distance`. Members that may not be reported are left out, as is a key that is too long.
    pub fn to_json(&self) -> String {
        let key = self.key.as_ref().map(|(_, key)| json::to_ascii(key)).filter(|key| key.len() <= MAX_KEY_BYTES);
        let closeness = self.closeness.map(|closeness| match closeness {
            Closeness::Resemblance(resemblance) => ("resemblance", format!("{resemblance:.3}")),
            Closeness::Distance(distance) => ("distance", distance.to_string()),
        });
        json::object(key.map(|key| ("key", key)).into_iter().chain(closeness))
    }
}

/// Whether the current user may select these columns in every row of `table`, which is the table of the columns, or a
/// partitioned table above it with columns of the same names.
fn may_select(table: Oid, columns: &[Column]) -> bool {
    let may_select_column = |column: &Column| {
        let Some(attnum) = attnum_of(table, column.raw_name()) else { return false };
        // SAFETY: a look-up in system caches.
        let result = unsafe { pg_sys::pg_attribute_aclcheck(table, attnum, pg_sys::GetUserId(), RIGHT_TO_SELECT) };
        result == pg_sys::AclResult::ACLCHECK_OK
    };
    may_select_rows(table) || !hides_rows(table, None) && columns.iter().all(may_select_column)
}

//! Recognises `simhash_near(a, b, criterion)` of two texts. A table with indexes on the bands of one of them can be
//! searched by a [`TextCondition`].

use pgrx::pg_sys;
use postgres::expression::Expression;
use postgres::interrupts::tick;
use postgres::planner::base_relation::{BaseRelation, Condition, Outer};
use simhash::criterion::TextCriterion;
use simhash::fingerprint::options::Options;

use crate::sql::fingerprint::options::read_text_criterion;
use crate::sql::functions::ExtensionSchema;
use crate::sql::indexed::recognise::constant_document;

/// The condition that two texts are near-duplicates by a constant criterion.
#[derive(Clone)]
pub struct NearTexts {
    texts: [Expression; 2],
    /// The criterion, a constant, as the query has it.
    pub document: Expression,
    pub criterion: TextCriterion,
    pub options: Options,
}

impl NearTexts {
    /// Reads a condition; None if it is not such a call, or if its criterion is not known when the query is planned.
    pub fn read(condition: Expression) -> Option<Self> {
        let (function, arguments) = condition.call()?;
        let &[a, b, document] = &arguments[..] else { return None };
        let types = [pg_sys::TEXTOID, pg_sys::TEXTOID, document.value_type()];
        ExtensionSchema::of_own_function(function, c"simhash_near", &types, c"simhash_near_support")?;
        let (criterion, options) = read_text_criterion(constant_document(document)?).ok()?;
        Some(Self { texts: [a, b], document, criterion, options })
    }
}

/// A condition that a text of a table is near another text.
pub struct TextCondition {
    /// The condition of the query that contains this one, or this condition itself.
    pub query_condition: Condition,
    /// Whether this is the whole condition of the query, not a part within OR or NOT. Only then can indexes serve it.
    pub is_whole: bool,
    pub near: NearTexts,
    /// The text of the table.
    pub text: Expression,
    /// The other text.
    pub query: Expression,
    /// The other relations that the other text refers to.
    pub outer: Outer,
}

impl TextCondition {
    /// The conditions on texts of a relation. If `includes_parts`, also the conditions within its other conditions.
    ///
    /// Under row-level security, other conditions must be evaluated before the texts are compared. Indexes may be used
    /// before: the comparison of their keys is leakproof, and the values that are looked up do not depend on the
    /// relation's rows.
    pub fn all_of(relation: BaseRelation, includes_parts: bool) -> Vec<Self> {
        let mut all = Vec::new();
        for condition in relation.all_conditions() {
            let whole = condition.expression;
            let parts = if includes_parts { whole.parts() } else { vec![whole] };
            for part in parts {
                tick();
                let Some(near) = NearTexts::read(part) else { continue };
                let [a, b] = near.texts;
                for (text, query) in [(a, b), (b, a)] {
                    let outer = relation.outer([query]).filter(|_| relation.owns(text) && !text.is_volatile());
                    let Some(outer) = outer else { continue };
                    let (is_whole, near) = (part.is_same_node(whole), near.clone());
                    all.push(Self { query_condition: condition, is_whole, near, text, query, outer });
                }
            }
        }
        all
    }
}

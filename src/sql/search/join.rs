//! Lets the planner see what a join compares. In a semi-join or anti-join, as of EXISTS and NOT EXISTS, PostgreSQL
//! expects a hash join to find a match at once, so that it would prefer one that compares all rows of a tenant with
//! each other to a search for each row.

use postgres::planner::semi_join::on_semi_joins;

use super::condition::is_near_condition;

/// Sets the hook. Called once, when the library is loaded.
pub fn initialise() {
    on_semi_joins(|join| {
        if join.conditions().into_iter().any(|condition| is_near_condition(condition.expression)) {
            join.charge_hash_joins();
        }
    });
}

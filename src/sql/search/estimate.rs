//! Estimates for the planner: how many rows are within a distance.

use postgres::expression::Expression;
use postgres::planner::planner_info::Planner;
use simhash::distance::{hamming, share_within};

/// The number of near rows that the planner expects for a fingerprint, in addition to rows that are near by
/// chance. With more than one, the planner would prefer a sequential scan for `LIMIT 1`, which it would expect to end
/// early.
const EXPECTED_NEAR_ROWS: f64 = 1.0;
/// The least share of rows that the planner expects to have a near row: PostgreSQL's default for a semi-join.
pub const MIN_SHARE_WITH_NEAR_ROW: f64 = 0.5;

/// An estimate of the rows whose fingerprint is near another fingerprint.
#[derive(Clone, Copy)]
pub struct Estimate {
    /// The share of uniform fingerprints that are near; 0 if none can be near.
    by_chance: f64,
    /// The share of rows whose fingerprint is a most common value and is near.
    common: f64,
    /// The share of rows whose fingerprint is neither a most common value nor NULL; 1 if neither fingerprint's value is
    /// known.
    rest: f64,
}

impl Estimate {
    /// The estimate for a condition on two fingerprints. If the value of one fingerprint is known, the common values of
    /// the other one that are near this value are counted.
    pub fn new(planner: Planner, [a, b]: [Expression; 2], max_distance: i32) -> Self {
        let by_chance = share_within(max_distance);
        let known_query = |(fingerprint, query)| Some((fingerprint, planner.known_value(query)?.value::<i64>()?));
        let Some((fingerprint, query)) = [(a, b), (b, a)].into_iter().find_map(known_query) else {
            return Self { by_chance, common: 0.0, rest: 1.0 };
        };
        let statistics = planner.common_values(fingerprint);
        let is_near = |value: i64| hamming(value.cast_unsigned(), query.cast_unsigned()).cast_signed() <= max_distance;
        let near_values = statistics.values.iter().filter(|(value, _)| is_near(*value));
        let common = near_values.map(|(_, share)| share).sum();
        let all_common: f64 = statistics.values.iter().map(|(_, share)| share).sum();
        Self { by_chance, common, rest: (1.0 - all_common - statistics.null_share).max(0.0) }
    }

    /// The share of rows that are near, among `rows` rows of a table or of a scope.
    pub fn share(&self, rows: f64) -> f64 {
        if self.by_chance == 0.0 {
            return 0.0;
        }
        (self.common + self.rest * (self.by_chance + EXPECTED_NEAR_ROWS / rows.max(1.0))).min(1.0)
    }

    /// The share of rows for which a near row exists among `rows` rows.
    pub fn share_with_near_row(&self, rows: f64) -> f64 {
        if self.by_chance == 0.0 { 0.0 } else { (rows * self.by_chance).clamp(MIN_SHARE_WITH_NEAR_ROW, 1.0) }
    }
}

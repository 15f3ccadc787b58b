//! The groups of sampled rows, which are the rows of the result of `simhash_preview`.

use std::collections::BTreeMap;

/// The groups in the order of the result.
pub type PreviewGroups = BTreeMap<GroupKey, PreviewGroup>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupKey {
    pub kind: GroupKind,
    /// The distance to the earlier row; None if there is none.
    pub distance: Option<u32>,
}

/// The kinds of groups, in the order of the result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupKind {
    Duplicates,
    /// Rows that are near an earlier row, but do not resemble it.
    Refuted,
    Alone,
}

#[derive(Default)]
pub struct PreviewGroup {
    pub rows: i64,
    /// The row whose resemblance is nearest to the criterion's resemblance.
    pub example: Example,
}

/// A sampled row, and the earlier row that it is near.
#[derive(Default)]
pub struct Example {
    pub resemblance: Option<f64>,
    /// The primary keys of the two rows, or their tids.
    pub keys: [Option<String>; 2],
    /// The beginnings of their texts, decoded.
    pub texts: [Option<String>; 2],
}

//! A check that a criterion makes of two texts, for people to read: a row of SQL's `simhash_explain`.

use crate::error::shorten;

/// A check of one property of two texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Check {
    /// The name of the property, such as "size".
    pub what: &'static str,
    /// The property's value in each of the texts, if they have one each. For lists, the parts in which they differ.
    pub of_texts: [Option<String>; 2],
    /// The property's value for both texts together, such as their resemblance.
    pub found: Option<String>,
    /// The required value, such as "at least 0.84"; None if nothing is required.
    pub required: Option<String>,
    /// Whether the value is as required; None if nothing is required, or if a text has no feature.
    pub holds: Option<bool>,
}

/// The check that two lists, with an element on each line, are the same. `holds` is the result, which the caller knows.
/// If they differ, the check shows the differing parts.
pub fn check_same(what: &'static str, lists: [&str; 2], holds: bool) -> Check {
    let count_common_bytes = |lines: &mut dyn Iterator<Item = (&str, &str)>| {
        lines.take_while(|(a, b)| a == b).map(|(line, _)| line.len() + 1).sum::<usize>()
    };
    let start = count_common_bytes(&mut lists[0].lines().zip(lists[1].lines()));
    let [a, b] = lists.map(|list| &list[start..]);
    let end = count_common_bytes(&mut a.lines().rev().zip(b.lines().rev()));
    let differing = |list: &str| shorten(list[..list.len() - end].trim()).replace('\n', ", ");
    let of_texts = [a, b].map(|list| Some(differing(list)).filter(|_| !holds));
    Check { what, of_texts, required: Some("the same".to_owned()), holds: Some(holds), ..Check::default() }
}

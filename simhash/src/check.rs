//! A check that a criterion makes of two texts, for people to read.

use crate::error::shorten;

/// What a criterion looks at in two texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Check {
    pub what: &'static str,
    /// What each of the texts has.
    pub of_texts: [Option<String>; 2],
    /// What is found of both.
    pub found: Option<String>,
    pub required: Option<String>,
    /// Whether it is as required; None if nothing is required, or if a text has no feature.
    pub holds: Option<bool>,
}

/// The check that two lists, which have each element in a line, are the same. It has the parts in which they differ.
pub fn same(what: &'static str, lists: [&str; 2], holds: bool) -> Check {
    let common = |lines: &mut dyn Iterator<Item = (&str, &str)>| {
        lines.take_while(|(a, b)| a == b).map(|(line, _)| line.len() + 1).sum::<usize>()
    };
    let start = common(&mut lists[0].lines().zip(lists[1].lines()));
    let [a, b] = lists.map(|list| &list[start..]);
    let end = common(&mut a.lines().rev().zip(b.lines().rev()));
    let differing = |list: &str| shorten(list[..list.len() - end].trim()).replace('\n', ", ");
    let of_texts = [a, b].map(|list| Some(differing(list)).filter(|_| !holds));
    Check { what, of_texts, required: Some("the same".to_owned()), holds: Some(holds), ..Check::default() }
}

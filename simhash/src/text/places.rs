//! Where the parts of a text stand in the text that it was made from.

use std::ops::Range;

use crate::error::Result;
use crate::memory::push;

/// The steps by which a text was made from a source, the first one first.
#[derive(Debug, Default)]
pub struct Places(Vec<Edits>);

/// Where a text differs from the one that it was made from: all else was copied. In order.
#[derive(Debug, Default)]
pub struct Edits(Vec<Edit>);

/// A part of the old text, and what stands in its place; both may be empty. 32 bits are enough for offsets in a text.
#[derive(Debug)]
struct Edit {
    old: Range<u32>,
    new: Range<u32>,
}

impl Edits {
    pub fn push(&mut self, old: Range<usize>, new: Range<usize>) -> Result<()> {
        let [old, new] = [old, new].map(|range| range.start as u32..range.end as u32);
        push(&mut self.0, Edit { old, new })
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// What a part of the new text was made from: whole edits, if it begins or ends within them.
    fn old(&self, new: Range<usize>) -> Range<usize> {
        let [start, end] = [new.start, new.end].map(|offset| offset as u32);
        let before = self.0.partition_point(|edit| edit.new.end <= start);
        let start = match self.0.get(before) {
            Some(edit) if edit.new.start <= start => edit.old.start,
            _ => self.moved(before, start),
        };
        let until = self.0.partition_point(|edit| edit.new.start < end);
        let end = match until.checked_sub(1).map(|last| &self.0[last]) {
            Some(edit) if edit.new.end >= end => edit.old.end,
            _ => self.moved(until, end),
        };
        start as usize..end as usize
    }

    /// The old offset of a place that is copied, after so many edits.
    fn moved(&self, edits: usize, offset: u32) -> u32 {
        edits.checked_sub(1).map_or(offset, |last| offset - self.0[last].new.end + self.0[last].old.end)
    }
}

impl Places {
    /// Begins the next step.
    pub fn step(&mut self) -> Result<&mut Edits> {
        push(&mut self.0, Edits::default())?;
        let last = self.0.len() - 1;
        Ok(&mut self.0[last])
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Where a part of the text stands in the source. A character of the source that has become several is one place.
    pub fn source(&self, part: Range<usize>) -> Range<usize> {
        self.0.iter().rev().fold(part, |part, edits| edits.old(part))
    }
}

/// Makes a text from another one by replacing parts of it, in order.
pub struct Rewriting<'a> {
    old: &'a str,
    copied: usize,
    new: &'a mut String,
    edits: Option<&'a mut Edits>,
}

/// Replaces parts of a text.
pub type Step = fn(&str, &mut Rewriting<'_>, &dyn Fn()) -> Result<()>;

/// Takes a step, and adds it to `places`. Needs memory for another copy of the text.
pub fn rewrite(text: &mut String, step: Step, places: Option<&mut Places>, tick: &dyn Fn()) -> Result<()> {
    let mut new = String::new();
    new.try_reserve(text.len())?;
    let edits = places.map(Places::step).transpose()?;
    let mut rewriting = Rewriting { old: text, copied: 0, new: &mut new, edits };
    step(text, &mut rewriting, tick)?;
    let copied = rewriting.copied;
    new.push_str(&text[copied..]);
    *text = new;
    Ok(())
}

impl Rewriting<'_> {
    /// Copies what stands before a part of the old text, and puts another text in its place.
    pub fn replace(&mut self, part: Range<usize>, with: &str) -> Result<()> {
        self.new.try_reserve(with.len() + self.old.len() - self.copied)?;
        self.new.push_str(&self.old[self.copied..part.start]);
        let start = self.new.len();
        self.new.push_str(with);
        self.copied = part.end;
        match &mut self.edits {
            None => Ok(()),
            Some(edits) => edits.push(part, start..self.new.len()),
        }
    }
}

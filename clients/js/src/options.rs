//! Options, as the JSON of SQL's options.

use simhash::Options;

use crate::input::text;
use crate::output::Failed;

/// The options of a document; the defaults if there is none.
pub fn read(document: &[u8]) -> Result<Options, Failed> {
    if document.is_empty() { Ok(Options::default()) } else { Ok(Options::from_json(text(document)?)?) }
}

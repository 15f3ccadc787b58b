//! Options and criteria, from the JSON that the SQL functions take too.

use simhash::{CriterionDocument, Options};

use crate::input::text;
use crate::output::Exception;

/// The options of a document; the defaults if there is none.
pub fn read_options(document: &[u8]) -> Result<Options, Exception> {
    if document.is_empty() { Ok(Options::default()) } else { Ok(Options::from_json(text(document)?)?) }
}

/// The criterion of a document; the default if there is none.
pub fn read_criterion(document: &[u8]) -> Result<CriterionDocument, Exception> {
    let document = if document.is_empty() { "{}" } else { text(document)? };
    let criterion = CriterionDocument::from_json(document)?;
    if criterion.weights_of_table {
        return Err(Exception::Range(
            "There is no table here to learn weights from. SQL's functions learn them.".to_owned(),
        ));
    }
    Ok(criterion)
}

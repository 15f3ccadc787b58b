//! The criterion of near-duplicates: as a user asks for it, and complete, as an argument of a guard's trigger.

use postgres::error::{Result, invalid_parameter};
use postgres::json::{RawJsonb, to_json_text};
use postgres::text::to_server;
use simhash::criterion::{Criterion, CriterionDocument};
use simhash::fingerprint::options::Options;
use simhash::search::nearness::Nearness;

use crate::sql::fingerprint::options::{
    OptionsDocument, laid_over, read_criterion_of_table, with_weights, without_table,
};
use crate::sql::indexed::recognise::FingerprintCall;

#[derive(Clone, Debug, PartialEq)]
pub struct GuardCriterion {
    pub near: Nearness,
    /// The smallest resemblance of the texts; None if texts are not compared.
    pub resemblance: Option<f64>,
    /// The options with which texts are compared.
    pub options: Options,
    /// The options as JSON, among the other keys of a criterion.
    pub document: String,
    /// Whether the weights of the table are still to be learnt.
    pub weights_of_table: bool,
}

impl GuardCriterion {
    pub fn parse(argument: &str) -> Result<Self> {
        let document = read_text(argument).and_then(without_table)?;
        Ok(Self::new(document.of_texts(), &document, argument))
    }

    fn new(criterion: Criterion, document: &CriterionDocument, json: &str) -> Self {
        let Criterion { near, resemblance } = criterion;
        let (options, weights_of_table) = (document.options.clone(), document.weights_of_table);
        Self { near, resemblance, options, document: json.to_owned(), weights_of_table }
    }

    /// The criterion with the weights of the table, as JSON.
    pub fn with_weights(&self, weights: &str) -> Result<Self> {
        let document = laid_over(&format!(r#"{{"weights": {weights}}}"#), &self.document)?;
        let options = with_weights(&self.options, weights)?;
        Ok(Self { options, document, weights_of_table: false, ..self.clone() })
    }

    /// The criterion as JSON. Only options are left to a default, and these are those of `simhash(text)`.
    pub fn to_json(&self) -> Result<String> {
        let Self { near, resemblance, .. } = *self;
        laid_over(&Criterion { near, resemblance }.to_json(), &self.document)
    }
}

fn read_text(json: &str) -> Result<CriterionDocument> {
    read_criterion_of_table(OptionsDocument::Text(to_server(json)?.to_bytes()))
}

/// The criterion that a user asks for, as JSON. The defaults depend on the table.
pub struct AskedCriterion(String);

impl AskedCriterion {
    pub fn read(document: RawJsonb<'_>) -> Result<Self> {
        read_criterion_of_table(OptionsDocument::Jsonb(document))?;
        // SAFETY: an argument or a constant of type jsonb.
        Ok(Self(unsafe { to_json_text(document) }?))
    }

    /// The criteria for rows whose fingerprints are made from this text, if they are made from one: at least one, in
    /// order of preference. A guard gets the first one whose layout its table has indexed.
    pub fn of_rows(&self, source: Option<&FingerprintCall>) -> Result<Vec<GuardCriterion>> {
        let of_source = source.map_or(Ok("{}".to_owned()), FingerprintCall::options_json)?;
        let json = laid_over(&self.0, &of_source)?;
        let document = read_text(&json)?;
        let options = source.map_or(Options::default(), |source| source.options.clone());
        let first = document.of_rows(source.is_some());
        let for_texts = document.options != options || document.weights_of_table || document.has_flips();
        if first.resemblance.is_none() && for_texts {
            return Err(invalid_parameter("options and flips are for comparing texts, and no texts are compared")
                .set_detail("The fingerprints are made with the options of simhash_attach.")
                .set_hint("Give a resemblance, or leave them out."));
        }
        let criteria = std::iter::once(first).chain(document.of_rows_by_other_layouts(source.is_some()));
        Ok(criteria.map(|criterion| GuardCriterion::new(criterion, &document, &json)).collect())
    }
}

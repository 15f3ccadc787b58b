//! The fingerprints of rows, as the package returns them: a list, a NumPy array or a series of pandas.

use ::simhash::error::Error;

/// Fingerprints in the form of arrays.
#[derive(Default)]
pub struct FingerprintValues {
    /// 0 for a row without a fingerprint.
    pub values: Vec<i64>,
    /// Whether a row has no fingerprint.
    pub is_missing: Vec<bool>,
}

impl FingerprintValues {
    pub fn push(&mut self, fingerprint: Option<u64>) -> Result<(), Error> {
        self.values.try_reserve(1)?;
        self.is_missing.try_reserve(1)?;
        self.values.push(fingerprint.unwrap_or_default().cast_signed());
        self.is_missing.push(fingerprint.is_none());
        Ok(())
    }

    pub fn into_options(self) -> Vec<Option<i64>> {
        self.values.into_iter().zip(self.is_missing).map(|(value, is_missing)| (!is_missing).then_some(value)).collect()
    }
}

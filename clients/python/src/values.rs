//! The fingerprints of rows, as the package returns them.

use ::simhash::error::Error;

#[derive(Default)]
pub struct FingerprintValues {
    /// 0 for a row without a fingerprint.
    pub values: Vec<i64>,
    /// Whether a row has no fingerprint.
    pub is_missing: Vec<bool>,
}

impl FingerprintValues {
    pub fn push(&mut self, fingerprint: Option<i64>) -> Result<(), Error> {
        self.values.try_reserve(1)?;
        self.is_missing.try_reserve(1)?;
        self.values.push(fingerprint.unwrap_or_default());
        self.is_missing.push(fingerprint.is_none());
        Ok(())
    }

    pub fn into_options(self) -> Vec<Option<i64>> {
        let option = |(value, is_missing)| if is_missing { None } else { Some(value) };
        self.values.into_iter().zip(self.is_missing).map(option).collect()
    }
}

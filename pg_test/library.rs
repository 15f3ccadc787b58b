//! The name and version that PostgreSQL 18 and later show for the library.

#[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17")))]
mod tests {
    use pgrx::prelude::*;

    #[pg_extern(sql = false)]
    fn name_and_version_match() {
        let shown = Spi::get_one::<String>(
            "SELECT module_name || ' ' || version FROM pg_get_loaded_modules() WHERE file_name LIKE 'pg_simhash%'",
        );
        assert_eq!(shown.as_ref().map(Option::as_deref), Ok(Some(concat!("pg_simhash ", env!("CARGO_PKG_VERSION")))));
    }
}

//! Replays fuzz/cases: what the fuzz targets found, and what they start from. Each case is named for what it shows.
//! `make fuzz` makes up new inputs.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The targets, in the order of their names, and their checks.
const TARGETS: [(&str, fn(&[u8])); 2] =
    [("markup", fuzz_checks::markup::check), ("tsvector", fuzz_checks::tsvector::check)];

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
}

#[test]
fn cases_are_replayed() {
    for (target, check) in TARGETS {
        let cases = files(&project().join("fuzz/cases").join(target));
        assert!(cases.len() >= 5, "only {} cases of {target}", cases.len());
        for case in cases {
            let input = fs::read(&case).expect("a readable case");
            assert!(catch_unwind(|| check(&input)).is_ok(), "{} fails", case.display());
        }
    }
    for folder in ["fuzz/cases", "fuzz/fuzz_targets"] {
        let mut found = files(&project().join(folder));
        found.sort_unstable();
        let names = found.iter().map(|path| path.file_stem().expect("a name").to_string_lossy());
        assert!(names.eq(TARGETS.map(|(target, _)| target)), "{folder}: {found:?}");
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(project().join(path)).expect("a file of Cargo's")
}

/// Checks that what is fuzzed, and the packages for other languages, have the same crates as the extension.
#[test]
fn lock_files_match() {
    for path in ["fuzz/Cargo.lock", "clients/python/Cargo.lock", "clients/js/Cargo.lock"] {
        assert!(compare_locks(path) > 20, "{path}");
    }
}

/// Compares the packages of a lock file that the project's lock file has too; returns their number.
fn compare_locks(path: &str) -> usize {
    let (lock, other_lock) = (read("Cargo.lock"), read(path));
    // Name, version and checksum, since some names occur in two versions.
    let packages = |lock: &str| -> Vec<[String; 3]> {
        let entries = lock.split("[[package]]").skip(1);
        let field = |entry: &str, name: &str| {
            let line = entry.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
            line.unwrap_or_default().to_owned()
        };
        entries.map(|entry| ["name", "version", "checksum"].map(|name| field(entry, name))).collect()
    };
    let shipped = packages(&lock);
    let mut compared = 0;
    for package in packages(&other_lock) {
        let [name, version, _] = &package;
        if shipped.iter().any(|other| other[0] == *name) {
            assert!(shipped.contains(&package), "{path} has {name} {version}, Cargo.lock another");
            compared += 1;
        }
    }
    compared
}

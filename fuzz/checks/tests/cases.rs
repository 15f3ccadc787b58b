//! Replays fuzz/cases: what the fuzz targets found, and what they start from. Each case is named for what it shows.
//! `make fuzz` makes up new inputs.

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Runs the check of a target on each of its cases.
fn replay(target: &str, check: fn(&[u8])) {
    let folder = project().join("fuzz/cases").join(target);
    let mut cases = 0;
    for case in fs::read_dir(&folder).expect("the target has cases") {
        let case = case.expect("a case").path();
        let input = fs::read(&case).expect("a readable case");
        assert!(catch_unwind(|| check(&input)).is_ok(), "{} fails", case.display());
        cases += 1;
    }
    assert!(cases >= 5, "only {cases} cases in {}", folder.display());
}

macro_rules! targets {
    ($($target:ident),*) => {
        $(#[test]
        fn $target() {
            replay(stringify!($target), fuzz_checks::$target::check);
        })*

        #[test]
        fn every_target_is_replayed() {
            let mut targets: Vec<&str> = vec![$(stringify!($target)),*];
            targets.sort_unstable();
            for folder in ["fuzz/cases", "fuzz/fuzz_targets"] {
                let folder = project().join(folder);
                let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
                let mut found: Vec<String> =
                    entries.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
                found.sort_unstable();
                assert_eq!(found, targets);
            }
        }
    };
}

targets!(markup, tsvector);

fn read(path: &str) -> String {
    fs::read_to_string(project().join(path)).expect("a file of Cargo's")
}

/// Checks that the fuzzed code is the shipped code: both lock files have the same versions.
#[test]
fn fuzz_lock_file_matches() {
    assert!(compare_locks("fuzz/Cargo.lock") > 20);
}

/// Checks that the Python package computes fingerprints with the same crates.
#[test]
fn python_lock_file_matches() {
    assert!(compare_locks("clients/python/Cargo.lock") > 20);
}

/// Checks that the JavaScript package computes fingerprints with the same crates.
#[test]
fn javascript_lock_file_matches() {
    assert!(compare_locks("clients/js/Cargo.lock") > 20);
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

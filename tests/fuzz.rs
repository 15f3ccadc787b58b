//! What the fuzz targets found and what they start from: fuzz/cases, each named for what it shows. `make fuzz` makes up
//! new ones.

#[path = "../fuzz/checks/mod.rs"]
mod checks;

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

/// The cases of a target, each by its name.
fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/cases").join(target);
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
            replay(stringify!($target), checks::$target::check);
        })*

        #[test]
        fn every_target_is_replayed() {
            let mut targets: Vec<&str> = vec![$(stringify!($target)),*];
            targets.sort_unstable();
            for folder in ["fuzz/cases", "fuzz/fuzz_targets"] {
                let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
                let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
                let mut found: Vec<String> =
                    entries.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
                found.sort_unstable();
                assert_eq!(found, targets);
            }
        }
    };
}

targets!(arrays, options, pairs, places, text, tsvector);

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a file of Cargo's")
}

/// What is fuzzed is what is shipped.
#[test]
fn the_fuzz_crate_has_the_same_dependencies() {
    let (manifest, fuzz) = (read("Cargo.toml"), read("fuzz/Cargo.toml"));
    let requirements = |manifest: &str, section: &str| -> Vec<String> {
        let lines = manifest.lines().skip_while(|line| *line != section).skip(1);
        lines.take_while(|line| !line.starts_with('[')).filter(|line| line.contains(" = ")).map(str::to_owned).collect()
    };
    for section in ["[dependencies]", "[build-dependencies]"] {
        let fuzz = requirements(&fuzz, section);
        for requirement in requirements(&manifest, section).into_iter().filter(|line| !line.starts_with("pgrx ")) {
            assert!(fuzz.contains(&requirement), "fuzz/Cargo.toml lacks {requirement}");
        }
    }
}

/// In the same versions, and those of what they depend on.
#[test]
fn the_fuzz_crate_is_locked_to_the_same_versions() {
    let (lock, fuzz) = (read("Cargo.lock"), read("fuzz/Cargo.lock"));
    // Name, version and source; some names are there in two versions.
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
    for package in packages(&fuzz) {
        let [name, version, _] = &package;
        if shipped.iter().any(|other| other[0] == *name) {
            assert!(shipped.contains(&package), "fuzz/Cargo.lock has {name} {version}, Cargo.lock another");
            compared += 1;
        }
    }
    assert!(compared > 20, "only {compared} packages are compared");
}

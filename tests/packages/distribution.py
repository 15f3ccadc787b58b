"""Checks the source distribution: META.json follows the PGXN Meta Spec 1.0.0 and agrees with Cargo.toml, and only
Cargo.toml states the version (clients/python/Cargo.toml repeats it).

Usage: distribution.py DISTRIBUTION.zip VERSION POSTGRESQL...   (the major versions that Cargo.toml has a feature for)
"""

import json
import re
import sys
import zipfile

REQUIRED = {"name", "version", "abstract", "maintainer", "license", "provides", "meta-spec"}

# These may state a version: documents, upgrade scripts, tests, and Cargo's files.
MAY_STATE_VERSION = re.compile(
    r"(clients/python/)?Cargo\.toml|(.*/)?Cargo\.lock|META\.json|.*\.md|(sql|benches|tests|clients/\w+/tests)/.*"
)


def main():
    path, version, *postgres = sys.argv[1:]
    prefix = f"pg_simhash-{version}/"
    with zipfile.ZipFile(path) as distribution:
        names = [name for name in distribution.namelist() if not name.endswith("/")]
        if outside := [name for name in names if not name.startswith(prefix)]:
            sys.exit(f"not in {prefix}: {outside}")
        files = {name.removeprefix(prefix): distribution.read(name) for name in names}
    faults = find_faults(files, json.loads(files["META.json"]), version, postgres)
    print(f"{path.rpartition('/')[2]}: {len(files)} files, {len(faults)} faults", *faults, sep="\n")
    sys.exit(bool(faults))


def find_faults(files, meta, version, postgres):
    oldest, *_, newest = sorted(map(int, postgres))
    provides = meta["provides"].get("pg_simhash", {})
    maturin_pins = [
        set(re.findall(r"maturin==[\d.]+", files[f"clients/python/{name}"].decode()))
        for name in ("pyproject.toml", "requirements.txt")
    ]
    faults = {
        "missing in META.json": sorted(REQUIRED - meta.keys()),
        "files that .gitattributes leaves out": sorted({"META.json.in", ".gitignore"} & files.keys()),
        "provided, and not in the distribution": [
            provides[key] for key in ("file", "docfile") if provides.get(key, "META.json") not in files
        ],
        "files other than Cargo.toml that state the version": [
            name
            for name, content in files.items()
            if version.encode() in content and not MAY_STATE_VERSION.fullmatch(name)
        ],
        "versions of maturin": maturin_pins if len(set.union(*maturin_pins)) != 1 else [],
    }
    for key, expected, actual in (
        ("meta-spec", "1.0.0", meta["meta-spec"]["version"]),
        ("license", "postgresql", meta["license"]),
        ("version", version, meta["version"]),
        ("extensions", ["pg_simhash"], list(meta["provides"])),
        ("version of the extension", version, provides.get("version")),
        ("PostgreSQL", f">= {oldest}.0.0, < {newest + 1}.0.0", meta["prereqs"]["runtime"]["requires"]["PostgreSQL"]),
    ):
        faults[f"{key}, not {expected}"] = [] if actual == expected else [actual]
    if f'\nversion = "{version}"' not in files["clients/python/Cargo.toml"].decode():
        faults["another version"] = ["clients/python/Cargo.toml"]
    return [f"{fault}: {items}" for fault, items in faults.items() if items]


if __name__ == "__main__":
    main()

"""The source distribution: its META.json has what the PGXN Meta Spec 1.0.0 asks for, and agrees with Cargo.toml, which
alone says what the version is. clients/python/Cargo.toml repeats it, for a distribution of its own.

Usage: distribution.py DISTRIBUTION.zip VERSION POSTGRESQL...   (the major versions that Cargo.toml has a feature for)
"""

import json
import re
import sys
import zipfile

REQUIRED = {"name", "version", "abstract", "maintainer", "license", "provides", "meta-spec"}

# Documents tell of versions past and present, scripts lead from one to another, and Cargo.lock is Cargo's.
MAY_SAY_VERSION = re.compile(
    r"(clients/python/)?Cargo\.(toml|lock)|META\.json|.*\.md|(sql|benches|tests|clients/\w+/tests)/.*"
)

wrong = []


def check(condition, message):
    if not condition:
        wrong.append(message)


def check_specification(meta, files):
    check(meta["meta-spec"]["version"] == "1.0.0", "meta-spec is not 1.0.0")
    check(meta["license"] == "postgresql", "license is not postgresql")
    for extension in meta["provides"].values():
        for key in extension.keys() & {"file", "docfile"}:
            check(extension[key] in files, f"provides: {extension[key]} is not in the distribution")


def check_agreement(meta, version, postgres):
    check(meta["version"] == version, f"version is {meta['version']}, not {version}")
    check(list(meta["provides"]) == ["pg_simhash"], "provides is not pg_simhash alone")
    check(meta["provides"]["pg_simhash"]["version"] == version, "provides has another version")
    oldest, newest = min(map(int, postgres)), max(map(int, postgres))
    expected = f">= {oldest}.0.0, < {newest + 1}.0.0"
    check(meta["prereqs"]["runtime"]["requires"]["PostgreSQL"] == expected, f"PostgreSQL is not {expected}")


def check_python_package(files, version):
    manifest = files["clients/python/Cargo.toml"].decode()
    check(f'\nversion = "{version}"' in manifest, f"the version of clients/python/Cargo.toml is not {version}")
    lists = {
        name: sorted(re.findall(r"maturin==[\d.]+", files[f"clients/python/{name}"].decode()))
        for name in ("pyproject.toml", "requirements.txt")
    }
    check(lists["pyproject.toml"], "clients/python/pyproject.toml states no version of maturin")
    check(len(set(map(tuple, lists.values()))) == 1, f"the versions of maturin differ: {lists}")


def check_single_version(files, version):
    for name, content in files.items():
        if not MAY_SAY_VERSION.fullmatch(name):
            check(version.encode() not in content, f"{name} says {version}, which is for Cargo.toml to say")


def main():
    path, version, *postgres = sys.argv[1:]
    prefix = f"pg_simhash-{version}/"
    with zipfile.ZipFile(path) as distribution:
        names = [name for name in distribution.namelist() if not name.endswith("/")]
        check(all(name.startswith(prefix) for name in names), f"not all files are in {prefix}")
        files = {name.removeprefix(prefix): distribution.read(name) for name in names}
    check(not {"META.json.in", ".gitignore"} & files.keys(), "what .gitattributes leaves out is there")
    meta = json.loads(files["META.json"])
    missing = sorted(REQUIRED - meta.keys())
    check(not missing, f"META.json: missing {', '.join(missing)}")
    if not missing:
        check_specification(meta, files)
        check_agreement(meta, version, postgres)
    check_python_package(files, version)
    check_single_version(files, version)
    for message in wrong:
        print(message, file=sys.stderr)
    print(f"{path.rpartition('/')[2]}: {len(files)} files, {len(wrong)} remarks")
    sys.exit(1 if wrong else 0)


main()

"""The source distribution: its META.json is what the PGXN Meta Spec 1.0.0 asks for, and agrees with Cargo.toml, which
alone says what the version is. clients/python/Cargo.toml repeats it, for a distribution of its own.

Usage: distribution.py DISTRIBUTION.zip VERSION POSTGRESQL...   (the major versions that Cargo.toml has a feature for)
"""

import json
import re
import sys
import zipfile

SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
RANGE = re.compile(r"(<=?|>=?|[!=]=)?\s*(\S+)")
TERM = re.compile(r"[^\s/\\\x00-\x1f]{2,}")
TAG = re.compile(r"[^/\\\x00-\x1f]{1,255}")
LICENCES = "agpl_3 apache_1_1 apache_2_0 artistic_1 artistic_2 bsd freebsd gfdl_1_2 gfdl_1_3 gpl_1 gpl_2 gpl_3 lgpl_2_1"
LICENCES += " lgpl_3_0 mit mozilla_1_0 mozilla_1_1 openssl perl_5 postgresql qpl_1_0 ssleay sun zlib"
LICENCES += " open_source restricted unrestricted unknown"
REQUIRED = {"name", "version", "abstract", "maintainer", "license", "provides", "meta-spec"}
OPTIONAL = {"description", "generated_by", "no_index", "prereqs", "release_status", "resources", "tags"}

# Documents tell of versions past and present, scripts lead from one to another, and Cargo.lock is Cargo's.
MAY_SAY_VERSION = re.compile(
    r"(clients/python/)?Cargo\.(toml|lock)|META\.json|.*\.md|(sql|benches|tests|clients/\w+/tests)/.*"
)

wrong = []


def check(condition, message):
    if not condition:
        wrong.append(message)


def is_text(value):
    return isinstance(value, str) and value.strip() != ""


def is_version(value):
    return isinstance(value, str) and SEMVER.fullmatch(value) is not None


def is_range(value):
    """`0` for any; or a version, or conditions on it."""
    if value == 0:
        return True
    conditions = [RANGE.fullmatch(condition.strip()) for condition in str(value).split(",")]
    return all(condition and is_version(condition.group(2)) for condition in conditions)


def check_specification(meta, files):
    unknown = {key for key in meta.keys() - REQUIRED - OPTIONAL if not key.lower().startswith("x_")}
    check(not unknown, f"unknown: {unknown}")
    check(isinstance(meta["name"], str) and TERM.fullmatch(meta["name"]), "name is no term")
    check(is_version(meta["version"]), "version is not semantic")
    check(is_text(meta["abstract"]), "abstract is empty")
    check(is_text(meta.get("description", "-")), "description is empty")
    maintainers = meta["maintainer"] if isinstance(meta["maintainer"], list) else [meta["maintainer"]]
    check(maintainers and all(map(is_text, maintainers)), "maintainer is empty")
    check(meta["license"] in LICENCES.split(), "license is not one of the specification's names")
    check(meta["meta-spec"].get("version") == "1.0.0", "meta-spec is not 1.0.0")
    check(re.fullmatch(r"https?://pgxn\.org/meta/spec\.txt", meta["meta-spec"].get("url", "")), "meta-spec has no URL")
    check(meta["provides"], "provides nothing")
    for name, extension in meta["provides"].items():
        check(TERM.fullmatch(name), f"provides: {name} is no term")
        check({"file", "version"} <= extension.keys(), f"provides: {name} has no file or version")
        check(extension.keys() <= {"file", "version", "abstract", "docfile"}, f"provides: {name} has unknown keys")
        check(is_version(extension["version"]), f"provides: the version of {name} is not semantic")
        for key in extension.keys() & {"file", "docfile"}:
            check(extension[key] in files, f"provides: {extension[key]} is not in the distribution")
    for phase, relations in meta.get("prereqs", {}).items():
        check(phase in ("configure", "runtime", "build", "test", "develop"), f"prereqs: unknown phase {phase}")
        for relation, extensions in relations.items():
            check(relation in ("requires", "recommends", "suggests", "conflicts"), f"prereqs: unknown {relation}")
            for name, versions in extensions.items():
                check(is_range(versions), f"prereqs: {name} has no range of versions: {versions}")
    tags = meta.get("tags", [])
    check(all(isinstance(tag, str) and TAG.fullmatch(tag) for tag in tags), "tags are no tags")
    check(len(set(tags)) == len(tags), "a tag is there twice")


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

"""tools/lint-cycles finds the circles of small crates, and only these. Run it by `python3 tests/lints/cycles_test.py`."""

import subprocess
import tempfile
import unittest
from pathlib import Path

LINT = Path(__file__).parents[2] / "tools" / "lint-cycles"


def lint(files):
    """The exit status and the output for a crate of these files, with their paths relative to src."""
    with tempfile.TemporaryDirectory() as directory:
        for name, source in files.items():
            file = Path(directory, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(source)
        done = subprocess.run([LINT, "lib.rs"], cwd=directory, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class Cycles(unittest.TestCase):
    def circle(self, files, *imports):
        status, output = lint(files)
        self.assertEqual(status, 1, output)
        for line in imports:
            self.assertIn(line, output)

    def no_circle(self, files):
        status, output = lint(files)
        self.assertEqual(status, 0, output)

    def test_two_files(self):
        self.circle(
            {
                "lib.rs": "mod a;\nmod b;\n",
                "a.rs": "use crate::b::B;\npub struct A(B);\n",
                "b.rs": "\nuse super::a::A;\npub struct B(A);\n",
            },
            "a.rs:1 imports b.rs",
            "b.rs:2 imports a.rs",
        )

    def test_one_direction(self):
        self.no_circle(
            {
                "lib.rs": "mod a;\nmod b;\n",
                "a.rs": "use crate::b::B;\npub struct A(B);\n",
                "b.rs": "pub struct B;\n",
            }
        )

    def test_three_files_by_paths_in_the_code(self):
        self.circle(
            {
                "lib.rs": "mod a;\nmod b;\nmod c;\n",
                "a.rs": "pub fn a() { crate::b::b() }",
                "b.rs": "pub fn b() { super::c::c() }",
                "c.rs": "use super::a;\npub fn c() { a::a() }",
            },
            "a circle of 3 files",
        )

    def test_parent_with_code(self):
        self.circle(
            {
                "lib.rs": "mod a;\n",
                "a/mod.rs": "mod b;\nuse b::b;\npub const LIMIT: u8 = 1;\npub fn a() { b() }",
                "a/b.rs": "pub fn b() { let _ = super::LIMIT; }",
            },
            "a/b.rs:1 imports a/mod.rs",
        )

    def test_parent_that_only_re_exports(self):
        self.no_circle(
            {
                "lib.rs": "mod a;\n",
                "a/mod.rs": "//! Module.\nmod b;\nmod c;\npub(crate) use b::{self, B};\npub use c::C;\n",
                "a/b.rs": "use super::C;\npub struct B(C);\n",
                "a/c.rs": "pub struct C;\n",
            }
        )

    def test_circle_through_re_exports(self):
        self.circle(
            {
                "lib.rs": "mod a;\npub use a::B;\n",
                "a/mod.rs": "mod b;\nmod c;\npub use b::*;\npub use c::C as D;\n",
                "a/b.rs": "use super::D;\npub struct B(D);\n",
                "a/c.rs": "use crate::B;\npub struct C(B);\n",
            },
            "a/b.rs:1 imports a/c.rs",
            "a/c.rs:1 imports a/b.rs",
        )

    def test_tests_comments_and_strings_do_not_count(self):
        self.no_circle(
            {
                "lib.rs": "mod a;\nmod b;\n#[cfg(any(test, feature = \"t\"))]\nmod missing;\n",
                "a.rs": "use crate::b::B;\npub struct A<'a>(B, &'a ());\n",
                "b.rs": "//! See [`crate::a`].\n/* crate::a::A /* nested */ crate::a::A */\n"
                "pub struct B;\nconst _: (char, &str) = ('\"', r#\"crate::a::A\"#);\n"
                "#[cfg(test)]\nuse crate::a::A;\n"
                "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n    fn f() { let _ = [A, A]; }\n}\n",
            }
        )

    def test_modules_in_braces_belong_to_their_file(self):
        self.no_circle({"lib.rs": "mod a;\n", "a.rs": "pub struct A;\nmod inner { use super::A; pub fn f() -> A { A } }\n"})
        self.circle(
            {
                "lib.rs": "mod a;\nmod b;\n",
                "a.rs": "pub struct A;\npub mod inner { pub fn f() { super::super::b::b() } }\n",
                "b.rs": "pub fn b() { crate::a::inner::f() }\n",
            }
        )

    def test_file_named_by_an_attribute(self):
        self.circle(
            {
                "lib.rs": '#[path = "elsewhere/x.rs"]\nmod a;\nmod b;\n',
                "elsewhere/x.rs": "pub fn a() { crate::b::b() }",
                "b.rs": "pub fn b() { crate::a::a() }",
            },
            "elsewhere/x.rs:1 imports b.rs",
        )


if __name__ == "__main__":
    unittest.main()

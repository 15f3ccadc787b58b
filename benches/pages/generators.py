"""Site generators, each with its usual templates. Each renders the same documents.

Needs from PyPI mkdocs, mkdocs-cinder, mkdocs-gitbook, mkdocs-material, mkdocs-terminal, sphinx, furo, sphinx_rtd_theme
and myst-parser; from Debian jekyll, jekyll-theme-minima, pandoc, asciidoctor, docbook-xsl and xsltproc; from npm, in
NODE_MODULES, hexo, its renderers ejs, stylus and marked, hexo-theme-landscape, and honkit. A generator that is missing
is skipped.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

NODE = Path(os.environ.get("NODE_MODULES", "node_modules")).resolve()


@dataclass
class Job:
    """What a generator gets. `site` has the title and the Markdown of each document, by its name. The folder is new.
    Generators that render pages one by one render only those of `names`."""

    site: dict[str, tuple[str, str]]
    names: list[str]
    folder: Path
    theme: str


def write_markdown(site, folder, front_matter=""):
    folder.mkdir(parents=True, exist_ok=True)
    for name, (title, body) in site.items():
        (folder / f"{name}.md").write_text(f'---\ntitle: "{title}"\n{front_matter}---\n\n{body}\n')


def run(*command, **options):
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if process.returncode:
        raise ChildProcessError(f"{command[0]} ended with {process.returncode}: {process.stdout.decode()[-500:]}")


def mkdocs(job):
    write_markdown(job.site, job.folder / "docs")
    (job.folder / "mkdocs.yml").write_text(f"site_name: Documentation\ntheme: {{name: {job.theme}}}\nplugins: []\n")
    run(sys.executable, "-m", "mkdocs", "build", "-q", "-d", "site", cwd=job.folder)


def sphinx(job):
    write_markdown(job.site, job.folder / "source")
    (job.folder / "source/index.rst").write_text(
        "Documentation\n=============\n\n.. toctree::\n   :glob:\n   :titlesonly:\n\n   d*\n")
    (job.folder / "source/conf.py").write_text(
        "extensions = ['myst_parser']\nmyst_title_to_header = True\nproject = 'Documentation'\n"
        f"html_theme = {job.theme!r}\nhtml_copy_source = False\n")
    run(sys.executable, "-m", "sphinx", "-q", job.folder / "source", job.folder / "site")


def jekyll(job):
    write_markdown(job.site, job.folder / "source", front_matter="layout: page\nrender_with_liquid: false\n")
    (job.folder / "source/_config.yml").write_text(f"title: Documentation\ntheme: {job.theme}\n")
    run("jekyll", "build", "-s", job.folder / "source", "-d", job.folder / "site")


def hexo(job):
    write_markdown(job.site, job.folder / "source/_posts", front_matter="disableNunjucks: true\ndate: 2026-01-01\n")
    plugins = ", ".join(f'"hexo-renderer-{name}": "*"' for name in ("ejs", "stylus", "marked"))
    (job.folder / "package.json").write_text(f'{{"hexo": {{"version": ""}}, "dependencies": {{{plugins}}}}}')
    (job.folder / "_config.yml").write_text(f"title: Documentation\ntheme: {job.theme}\npermalink: :title/\n")
    (job.folder / "node_modules").symlink_to(NODE)
    run(NODE / ".bin/hexo", "generate", cwd=job.folder)


def honkit(job):
    source = job.folder / "source"
    write_markdown({name: (title, f"# {title}\n\n{{% raw %}}\n{body}\n{{% endraw %}}")
                    for name, (title, body) in job.site.items()}, source)
    (source / "README.md").write_text("# Documentation\n")
    (source / "SUMMARY.md").write_text("".join(f"* [{title}]({name}.md)\n" for name, (title, _) in job.site.items()))
    run(NODE / ".bin/honkit", "build", source, job.folder / "site")


def pandoc_to(path, body, *arguments):
    """Converts Markdown, unless an argument names another form of the body."""
    run("pandoc", "-f", "gfm", *arguments, "-o", path, input=body.encode())


def pandoc(job):
    for name in job.names:
        title, body = job.site[name]
        pandoc_to(job.folder / f"{name}.html", body, "-s", "--toc", "-M", f"title={title}")


def asciidoctor(job):
    for name in job.names:
        title, body = job.site[name]
        pandoc_to(job.folder / f"{name}.adoc", body, "-t", "asciidoc", "-s", "-M", f"title={title}")
    run("asciidoctor", "-a", "toc=left", *job.folder.glob("*.adoc"))


def docbook(job):
    chapters = ""
    fragment, converted = job.folder / "fragment", job.folder / "converted"
    for name in job.names:
        title, body = job.site[name]
        # From HTML, because pandoc then leaves out elements that DocBook lacks.
        pandoc_to(fragment, body, "-t", "html")
        pandoc_to(converted, fragment.read_text(), "-f", "html", "-t", "docbook4")
        chapter = re.sub(r' id="[^"]*"', "", converted.read_text())
        chapters += f'<chapter id="{name}"><title>{title}</title>{chapter}</chapter>\n'
    (job.folder / "book.xml").write_text(f"<book><title>Documentation</title>\n{chapters}</book>\n")
    run("xsltproc", "--stringparam", "use.id.as.filename", "1", "--stringparam", "chunk.section.depth", "0",
        "/usr/share/xml/docbook/stylesheet/docbook-xsl/xhtml/chunk.xsl", "book.xml", cwd=job.folder)


GENERATORS = {generator.__name__: generator
              for generator in (mkdocs, sphinx, jekyll, hexo, honkit, pandoc, asciidoctor, docbook)}
TEMPLATES = ["mkdocs mkdocs", "mkdocs readthedocs", "mkdocs material", "mkdocs cinder", "mkdocs gitbook",
             "mkdocs terminal", "sphinx alabaster", "sphinx furo", "sphinx sphinx_rtd_theme", "jekyll minima",
             "hexo landscape", "honkit", "pandoc", "asciidoctor", "docbook"]

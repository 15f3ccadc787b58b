"""Site generators, each with its usual templates. Each renders the same documents.

Needs from PyPI mkdocs, mkdocs-cinder, mkdocs-gitbook, mkdocs-material, mkdocs-terminal, sphinx, furo, sphinx_rtd_theme
and myst-parser; from Debian jekyll, jekyll-theme-minima, pandoc, asciidoctor, docbook-xsl and xsltproc; from npm, in
NODE_MODULES, hexo, its renderers ejs, stylus and marked, hexo-theme-landscape, and honkit. A generator that is missing
is skipped.

A generator is called with the site (a dictionary of names to titles and Markdown), the names of the pages to render if
it renders pages one by one, a new folder, and a theme.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

NODE = Path(os.environ.get("NODE_MODULES", "node_modules")).resolve()


def write_markdown(site, folder, front_matter=""):
    folder.mkdir(parents=True, exist_ok=True)
    for name, (title, body) in site.items():
        (folder / f"{name}.md").write_text(f'---\ntitle: "{title}"\n{front_matter}---\n\n{body}\n')


def run(*command, **options):
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if process.returncode:
        raise ChildProcessError(f"{command[0]} ended with {process.returncode}: {process.stdout.decode()[-500:]}")


def mkdocs(site, names, out, theme):
    write_markdown(site, out / "docs")
    (out / "mkdocs.yml").write_text(f"site_name: Documentation\ntheme: {{name: {theme}}}\nplugins: []\n")
    run(sys.executable, "-m", "mkdocs", "build", "-q", "-d", "site", cwd=out)


def sphinx(site, names, out, theme):
    write_markdown(site, out / "source")
    index = "Documentation\n=============\n\n.. toctree::\n   :glob:\n   :titlesonly:\n\n   d*\n"
    (out / "source/index.rst").write_text(index)
    (out / "source/conf.py").write_text(
        "extensions = ['myst_parser']\nmyst_title_to_header = True\nproject = 'Documentation'\n"
        f"html_theme = {theme!r}\nhtml_copy_source = False\n")
    run(sys.executable, "-m", "sphinx", "-q", out / "source", out / "site")


def jekyll(site, names, out, theme):
    write_markdown(site, out / "source", front_matter="layout: page\nrender_with_liquid: false\n")
    (out / "source/_config.yml").write_text(f"title: Documentation\ntheme: {theme}\n")
    run("jekyll", "build", "-s", out / "source", "-d", out / "site")


def hexo(site, names, out, theme):
    write_markdown(site, out / "source/_posts", front_matter="disableNunjucks: true\ndate: 2026-01-01\n")
    plugins = ", ".join(f'"hexo-renderer-{name}": "*"' for name in ("ejs", "stylus", "marked"))
    (out / "package.json").write_text(f'{{"hexo": {{"version": ""}}, "dependencies": {{{plugins}}}}}')
    (out / "_config.yml").write_text(f"title: Documentation\ntheme: {theme}\npermalink: :title/\n")
    (out / "node_modules").symlink_to(NODE)
    run(NODE / ".bin/hexo", "generate", cwd=out)


def honkit(site, names, out, theme):
    raw = {name: (title, f"# {title}\n\n{{% raw %}}\n{body}\n{{% endraw %}}") for name, (title, body) in site.items()}
    write_markdown(raw, out / "source")
    (out / "source/README.md").write_text("# Documentation\n")
    (out / "source/SUMMARY.md").write_text("".join(f"* [{title}]({name}.md)\n" for name, (title, _) in site.items()))
    run(NODE / ".bin/honkit", "build", out / "source", out / "site")


def pandoc(site, names, out, theme):
    for name in names:
        title, body = site[name]
        run("pandoc", "-f", "gfm", "-s", "--toc", "-M", f"title={title}", "-o", out / f"{name}.html",
            input=body.encode())


def asciidoctor(site, names, out, theme):
    for name in names:
        title, body = site[name]
        run("pandoc", "-f", "gfm", "-t", "asciidoc", "-s", "-M", f"title={title}", "-o", out / f"{name}.adoc",
            input=body.encode())
    run("asciidoctor", "-a", "toc=left", *out.glob("*.adoc"))


def docbook(site, names, out, theme):
    chapters = ""
    for name in names:
        title, body = site[name]
        # pandoc drops elements that DocBook lacks.
        run("sh", "-c", 'pandoc -f gfm -t html | pandoc -f html -t docbook4 -o "$0"', out / f"{name}.xml",
            input=body.encode())
        chapter = re.sub(r' id="[^"]*"', "", (out / f"{name}.xml").read_text())
        chapters += f'<chapter id="{name}"><title>{title}</title>{chapter}</chapter>\n'
    (out / "book.xml").write_text(f"<book><title>Documentation</title>\n{chapters}</book>\n")
    run("xsltproc", "--stringparam", "use.id.as.filename", "1", "--stringparam", "chunk.section.depth", "0",
        "/usr/share/xml/docbook/stylesheet/docbook-xsl/xhtml/chunk.xsl", "book.xml", cwd=out)


GENERATORS = {generator.__name__: generator
              for generator in (mkdocs, sphinx, jekyll, hexo, honkit, pandoc, asciidoctor, docbook)}
TEMPLATES = ["mkdocs mkdocs", "mkdocs readthedocs", "mkdocs material", "mkdocs cinder", "mkdocs gitbook",
             "mkdocs terminal", "sphinx alabaster", "sphinx furo", "sphinx sphinx_rtd_theme", "jekyll minima",
             "hexo landscape", "honkit", "pandoc", "asciidoctor", "docbook"]

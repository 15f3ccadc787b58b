"""The site that tools/site builds in a folder, the argument: each link leads to a file and an anchor, each page fits a
phone and a desktop in Chromium, and its search finds pages."""

import functools
import http.server
import re
import sys
import tempfile
import threading
import unittest
import urllib.parse
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "clients/python/tests/report"))
from browser import set_width, start_chromium
from selenium.webdriver.support.ui import WebDriverWait

SITE = Path(sys.argv.pop()).resolve()
PAGES = {page: page.read_text(encoding="utf-8") for page in SITE.rglob("*.html") if page.stem not in ("404", "toc")}
WIDTHS = 390, 1280
WIDE_TABLES = """return Array.from(document.querySelectorAll(".table-wrapper"))
    .filter(table => table.scrollWidth > table.clientWidth).map(table => table.innerText)"""
FOUND_PAGES = 'return Array.from(document.querySelectorAll("#mdbook-searchresults a"), link => link.href)'


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Links(unittest.TestCase):
    def test_links(self):
        self.assertGreater(len(PAGES), 10)
        anchors = {page: set(re.findall(r'\bid="([^"]*)"', html)) for page, html in PAGES.items()}
        for page, html in PAGES.items():
            for link in re.findall(r'\b(?:href|src)="((?!\w+:)[^"]*)"', html):
                name, _, anchor = urllib.parse.unquote(link).partition("#")
                target = (page.parent / name).resolve() if name else page
                with self.subTest(page=page.relative_to(SITE), link=link):
                    self.assertTrue(target.is_file())
                    self.assertTrue(not anchor or anchor in anchors.get(target, ()))


class InChromium(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        server = http.server.ThreadingHTTPServer(("localhost", 0), functools.partial(QuietHandler, directory=SITE))
        cls.addClassCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.addClassCleanup(server.shutdown)
        cls.browser = start_chromium(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.addClassCleanup(cls.browser.quit)
        cls.address = f"http://localhost:{server.server_port}/"

    def tearDown(self):
        self.assertEqual(self.browser.get_log("browser"), [])

    def test_widths(self):
        for width in WIDTHS:
            set_width(self.browser, width)
            for page in sorted(PAGES):
                with self.subTest(width=width, page=page.relative_to(SITE)):
                    self.browser.get(self.address + page.relative_to(SITE).as_posix())
                    self.assertLessEqual(self.browser.execute_script("return document.body.scrollWidth"), width)
                    self.assertEqual(self.browser.execute_script(WIDE_TABLES), [])

    def test_search(self):
        for width in WIDTHS:
            set_width(self.browser, width)
            self.browser.get(self.address + "index.html?search=serialization_failure")
            found = WebDriverWait(self.browser, 60).until(lambda browser: browser.execute_script(FOUND_PAGES))
            self.assertTrue(any("/docs/guard.html" in link for link in found), found)


unittest.main()

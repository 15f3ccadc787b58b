"""The page in Chromium: hostile texts are shown as text, nothing is loaded, it fits a phone, dark and light, and its
slider works."""

import json
import random
import tempfile
from pathlib import Path

from browser import set_width, start_chromium
from database import WithDatabase

HOSTILE = [
    "<script>document.title = 'changed'</script> <img src=x onerror=\"document.title = 'changed'\">",
    "\"'><svg onload=document.title='changed'> </p></div></style></title></textarea><h1>changed</h1>",
    "<link rel=stylesheet href=//example.com/a.css> <!-- <iframe src=https://example.com></iframe>",
    "<style>body { display: none }</style> {{ 7 * 7 }} {% include '/etc/passwd' %} &lt;b&gt; &#60;i&#62;",
    "\u202eright to left\u202c \u2066 \x1b[31m \x07 \u200f",
    "w" * 3000,
    "Z" + "\u0335\u0321\u0322" * 300 + " zalgo",
    "مرحبا بالعالم " * 5 + "漢字" * 200 + "url(https://example.com/x.png) https://example.com/ javascript:alert(1)",
]

TABLE = '"<b>Do""cs</b>"'


class Page(WithDatabase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        rng = random.Random(1)
        texts = []
        for hostile in HOSTILE:
            words = [f"w{rng.randrange(10**9)}" for _ in range(80)]
            for changed in 0, 1, 3, 12:
                # A hostile part that both texts have, some beside a mark, and one at the end of a long text.
                other = [f"other{rng.randrange(10**9)}" for _ in range(changed)]
                marked = [f"{part}{changed}" for part in HOSTILE[:5]]
                texts.append(" ".join([hostile, *other, *words[changed:40], *marked, *words[40:], hostile]))
        cls.create_table(
            TABLE, texts, columns='id integer, body text, "<i>" text DEFAULT \'<u>key</u>\', PRIMARY KEY (id, "<i>")'
        )
        directory = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.file = directory / "report.html"
        cls.html = cls().report(f"report.{TABLE}", "--criterion", '{"resemblance": 0.88, "bands": 12}')
        cls.file.write_text(cls.html, encoding="utf-8")
        cls.browser = start_chromium(directory / "profile")
        cls.addClassCleanup(cls.browser.quit)

    def open(self, theme="light", width=1200):
        media = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        set_width(self.browser, width)
        self.browser.get(self.file.as_uri())

    def run_js(self, expression):
        return self.browser.execute_script(f"return {expression}")

    def texts_of(self, selector, of_element="textContent"):
        return self.run_js(f"Array.from(document.querySelectorAll('{selector}'), element => element.{of_element})")

    def test_loads_nothing(self):
        self.browser.get_log("performance")
        self.open()
        events = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
        urls = {event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"}
        self.assertEqual(urls, {self.file.as_uri()})
        self.assertEqual(self.browser.get_log("browser"), [])

    def test_texts_are_texts(self):
        self.open()
        self.assertEqual(self.browser.title, 'Near-duplicates in report."<b>Do""cs</b>"')
        self.assertEqual(self.texts_of("h1"), ['Near-duplicates in report."<b>Do""cs</b>"'])
        made = "script:not(body > script:last-child), img, iframe, link, base, u, i, a"
        self.assertEqual(self.run_js(f"document.querySelectorAll('{made}').length"), 0)
        handlers = (
            "Array.from(document.querySelectorAll('*')).flatMap(e => e.getAttributeNames()).filter(n => /^on/.test(n))"
        )
        self.assertEqual(self.run_js(handlers), [])
        shown = " ".join(self.texts_of(".body"))
        for hostile in HOSTILE[:4]:
            with self.subTest(hostile=hostile):
                self.assertIn(hostile[-30:], shown)
        self.assertNotRegex(shown, "[\x00-\x08\x0e-\x1f\u202a-\u202e\u2066-\u2069\u200f]")
        self.assertIn("\ufffd[31m", shown)
        self.assertTrue(all(key.startswith(tuple("123456789")) for key in self.texts_of("h4 .key")))
        self.assertTrue(all("<u>key</u>" in key for key in self.texts_of("h4 .key")))

    def test_pairs(self):
        """Pairs on each side of the limits, with what only one text has."""
        self.open()
        headings = self.texts_of("h3")
        self.assertEqual(len(headings), 2)
        pairs = self.texts_of("article:not(.group) .verdict b")
        self.assertEqual({float(resemblance) >= 0.88 for resemblance in pairs}, {True, False})
        marks = self.texts_of("mark")
        self.assertTrue(any(mark.startswith("other") for mark in marks), marks)
        self.assertEqual([text for text in self.texts_of("article:not(.group)") if "earlier row" not in text], [])

    def test_chart(self):
        """The line of the limit is between stored rows and duplicates, whose longest bar takes all of the width."""
        self.open()
        self.assertEqual(self.texts_of(".chart .limit"), ["limit 0.88"])
        kinds = self.texts_of(".chart .bar", "className.replace('bar ', '').replace(' cut', '')")
        self.assertEqual(sorted(kinds, reverse=True), kinds)
        self.assertEqual(set(kinds), {"stored", "duplicate"})
        before = self.run_js("document.querySelector('.chart .limit').previousElementSibling.querySelector('.stored')")
        self.assertIsNotNone(before)
        widths = self.texts_of(".bar.duplicate", "style.width")
        self.assertIn("100%", widths)

    def test_slider(self):
        """Another limit shows another share; no script can but its own."""
        self.open()
        self.assertEqual(self.texts_of("#slider-limit"), ["0.88"])
        [card] = self.texts_of(".card.duplicate b")
        self.assertEqual(self.texts_of("#slider-share"), [card])
        for value, least, more in ("50", True, True), ("100", False, False), ("88", False, None):
            self.browser.execute_script(
                "const slider = document.querySelector('#slider'); slider.value = arguments[0];"
                "slider.dispatchEvent(new Event('input'))",
                value,
            )
            [share], [count] = self.texts_of("#slider-share"), self.texts_of("#slider-count")
            with self.subTest(value):
                self.assertEqual(self.run_js("!document.querySelector('#slider-least').hidden"), least)
                self.assertEqual(share == card, more is None, count)
                self.assertEqual(float(share[:-2]) > float(card[:-2]), bool(more))
                self.assertEqual(self.run_js("document.querySelector('#try').hidden"), False)

    def test_widths_and_themes(self):
        colors = {}
        for theme in "light", "dark":
            for width in 1280, 390, 360:
                with self.subTest(theme=theme, width=width):
                    self.open(theme, width)
                    self.assertLessEqual(self.run_js("document.documentElement.scrollWidth"), width)
                    # What a parent would cut, or show beyond its edge.
                    wider = self.run_js(
                        "Array.from(document.querySelectorAll('body *')).filter(e =>"
                        " e.getBoundingClientRect().right > innerWidth + 1)"
                        ".map(e => e.className)"
                    )
                    self.assertEqual(wider, [])
                    self.assertLess(self.run_js("document.documentElement.scrollHeight"), 14_000)
                    side_by_side = self.run_js(
                        "(([a, b]) => a.getBoundingClientRect().top == b.getBoundingClientRect().top)"
                        "(document.querySelectorAll('.pair .text'))"
                    )
                    self.assertEqual(side_by_side, width > 600)
            colors[theme] = self.run_js("getComputedStyle(document.body).backgroundColor")
        self.assertGreater(sum(rgb(colors["light"])), 3 * 200)
        self.assertLess(sum(rgb(colors["dark"])), 3 * 60)


def rgb(color):
    return [float(part) for part in color.removeprefix("rgb(").rstrip(")").split(",")]

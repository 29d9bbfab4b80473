"""The HTML page of a report in chromium: opens, sorts, filters, follows links, opens cases, hovers the roofline, changes
its theme, prints; without an error on the console and without a request.

usage: browser.py PAGE-MAKER [--screenshots DIRECTORY]"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from tap import Tap  # noqa: E402
from webdriver import Browser  # noqa: E402

ESCAPE, ENTER, TAB, RIGHT = "\ue00c", "\ue007", "\ue004", "\ue014"
SHOWN = ("return [...document.querySelectorAll('table.c > tbody')]"
         ".filter(b => b.checkVisibility())"
         ".map(b => b.rows[0].cells[1].firstChild.textContent)")
FIGURES = ("return [...document.querySelectorAll('#passed table.c > tbody')]"
           ".map(b => b.rows[0].cells[arguments[0]].textContent)")
UNITS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
FIRST = "perf/operators.c::linear_0[m=16-n=512-type=fp32-cpu]"


def seconds(text):
    figure, unit = text.split()
    return float(figure) * UNITS[unit]


class Page:
    def __init__(self, tap, browser, path, screenshots):
        self.tap, self.browser, self.url, self.screenshots = tap, browser, "file://" + path, screenshots

    def open(self, fragment=""):
        self.browser.open("about:blank")
        self.browser.open(self.url + fragment)

    def keep(self, name):
        if self.screenshots:
            self.browser.screenshot(os.path.join(self.screenshots, name + ".png"))

    def wait(self, script, name):
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if self.browser.run("return " + script):
                return self.tap.check(True, name)
            time.sleep(0.05)
        return self.tap.check(False, name, script)

    def shown(self):
        return self.browser.run(SHOWN)


def opens(page):
    page.open()
    page.tap.equal(page.browser.run("return document.querySelector('#failed h2').textContent"), "Failed 3",
                   "failures are counted")
    page.tap.equal(len(page.shown()), 10, "failed, undecided and changed cases are seen, what passed is folded")
    page.tap.check(FIRST in page.browser.run("return document.querySelector('#failed .r code').textContent"),
                   "the line that reproduces a failure stands beside it")
    page.keep("desktop")


def sorts(page):
    page.open()
    page.browser.run("document.querySelector('#passed details').open = true")
    for direction, name in (("ascending", "once"), ("descending", "twice")):
        page.browser.run("document.querySelector('#passed').scrollIntoView()")
        page.browser.click("#passed thead th:nth-child(4) button")
        page.wait(f"document.querySelector('#passed th[aria-sort]').ariaSort === '{direction}'",
                  f"a heading clicked {name} says that it sorts")
        times = [seconds(text) for text in page.browser.run(FIGURES, 3)]
        page.tap.equal(times, sorted(times, reverse=direction == "descending"), f"times are {direction}")
    page.tap.check("sort=-time" in page.browser.run("return location.hash"), "the order stands in the fragment")


def filters(page):
    page.open()
    page.browser.click("input[type=search]")
    page.browser.keys("linear_3[")
    page.wait("document.getElementById('told').textContent === '8 of 60 cases'", "a text filters")
    page.tap.check(all("linear_3[" in case for case in page.shown()) and len(page.shown()) == 8,
                   "cases that passed are seen when they match", page.shown())
    page.tap.equal(page.browser.run("return location.hash"), "#q=linear_3%5B", "the filter stands in the fragment")
    for fragment, count in (("#tag=gemm", 15), ("#outcome=failed", 3), ("#device=cuda", 7),
                            ("#device=cuda&tag=gemm", 2), ("#q=no+such+case", 0), ("#q=LINEAR_3%5B+m%3D16-", 1)):
        page.open(fragment)
        page.tap.equal(page.browser.run("return document.getElementById('told').textContent"), f"{count} of 60 cases",
                       f"a link with {fragment} filters")
    page.tap.equal(page.browser.run("return document.querySelector('[type=search]').value"), "LINEAR_3[ m=16-",
                   "the filter of a link stands in the field")
    page.browser.run("location.hash = '#outcome=skipped'")
    page.wait("document.getElementById('told').textContent === '4 of 60 cases'", "another fragment is followed")
    page.browser.run("const s = document.querySelectorAll('select')[1]; s.value = '';"
                     "s.dispatchEvent(new Event('change'))")
    page.wait("document.getElementById('told').textContent === ''", "without a filter all are there")
    page.tap.equal(len(page.shown()), 10, "and what passed is folded again")


def follows_links(page):
    page.open()
    page.browser.click("nav a[href='#passed']")
    page.wait("document.querySelector('#passed details').open", "a link to a folded section opens it")
    page.browser.click("#failed tbody th a")
    page.wait("document.querySelector('dialog').open", "a case's link opens it")
    link = page.browser.run("return location.href")
    page.tap.check("#case=" in link or "&case=" in link, "and stands in the address", link)
    page.open(link[link.index("#"):])
    page.tap.equal(page.browser.run("return document.querySelector('dialog[open] h2').textContent"), FIRST,
                   "the link opens the case again")
    page.open("#case=no-such-case")
    page.tap.check(not page.browser.run("return document.querySelector('dialog').open"),
                   "a link to a case that is not there opens none")
    page.browser.run("history.replaceState(null, '', location.pathname)")


def opens_a_case(page):
    page.open("#case=" + FIRST)
    says = page.browser.run("return document.querySelector('dialog').innerText")
    for part in ("budget not met", "941.8 us", "1.07 ms", "[1.049 ms, 1.102 ms]", "0.81 of fp32", "forward", "p90",
                 "1.156 ms", "20 samples", "fp32 arithmetic: 91 GFLOP/s", "peak allocated", "1.0 MiB", "git.commit",
                 "195a62eb0000bdd231b92", "loss 0.31", "823.3 us", "predicted"):
        page.tap.check(part in says, f"a case shows {part}", says)
    page.keep("case")
    page.browser.run("document.querySelector('svg[tabindex]').scrollIntoView({block: 'center'})")
    page.keep("history")
    page.browser.click("dialog svg[tabindex]")
    said = page.browser.run("return document.querySelector('dialog output').textContent")
    page.tap.check("commit 0000000000" in said and "run 000000" in said and "vm" in said and "ms [" in said,
                   "a point that is clicked names commit, run, machine and values", said)
    page.browser.keys(RIGHT)
    page.tap.check(page.browser.run("return document.querySelector('dialog output').textContent") != said,
                   "an arrow key goes to the next point")
    page.tap.check(page.browser.run("return document.querySelectorAll('dialog .change').length") == 1,
                   "the change of its level is marked")
    page.browser.keys(ESCAPE)
    page.wait("!document.querySelector('dialog').open", "Escape closes it")
    page.wait("!location.hash.includes('case')", "and takes it out of the address")
    page.open("#device=cuda")
    page.browser.run("document.querySelector('tbody th a').click()")
    page.wait("document.querySelectorAll('dialog .series svg').length === 5", "series of a GPU are drawn")
    page.browser.run("document.querySelector('dialog .series').scrollIntoView()")
    page.keep("series")


def works_by_keyboard(page):
    page.open()
    page.browser.keys("/")
    page.tap.equal(page.browser.run("return document.activeElement.type"), "search", "a slash goes to the filter")
    for _ in range(16):
        page.browser.keys(TAB)
        if page.browser.run("return document.activeElement.closest('tbody th') !== null"):
            break
    page.tap.check(page.browser.run("return document.activeElement.matches('tbody th a:focus-visible')"),
                   "Tab comes to the first case, and is seen there")
    page.browser.keys(ENTER)
    page.wait("document.querySelector('dialog').open", "Enter opens it")
    page.browser.keys(ESCAPE)
    page.wait("document.activeElement.matches('tbody th a')", "the focus is back where it was")


def shows_plots(page):
    page.open()
    page.browser.run("document.getElementById('plots').scrollIntoView()")
    page.browser.hover("#plots [data-case]:nth-of-type(5)")
    page.wait("document.querySelector('#plots output').textContent.includes('0.4 of fp32')",
              "the roofline names what is under the pointer")
    page.keep("plots")
    page.browser.run("document.querySelectorAll('#plots details').forEach(one => one.open = true)")
    thin = page.browser.run("return [...document.querySelectorAll('#plots svg rect')].filter(one => "
                            "parseFloat(getComputedStyle(one).width) !== +one.getAttribute('width')).length")
    bars = page.browser.run("return document.querySelectorAll('#plots svg rect[data-case]').length")
    page.tap.check(bars > 0 and thin == 0, "no rule of the page changes the bars of plots", (bars, thin))
    page.browser.run("document.querySelector('#plots figure details').open = true")
    page.tap.check("two are not drawn" in page.browser.run("return document.querySelector('#plots figure').innerText"),
                   "a plot has its numbers beside it")
    page.browser.click("#plots [data-case]:nth-of-type(5)")
    page.wait("document.querySelector('dialog').open", "and opens the case that is clicked")


def looks(page):
    background = "return getComputedStyle(document.body).backgroundColor"
    page.open()
    light = page.browser.run(background)
    page.browser.click("#theme")
    dark = page.browser.run(background)
    page.tap.check(light != dark, "the button makes it dark", (light, dark))
    page.keep("dark")
    page.browser.click("#theme")
    page.browser.click("#theme")
    page.browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    page.tap.equal(page.browser.run(background), dark, "so does a reader who prefers that")
    page.browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
    pdf = page.browser.pdf()
    page.tap.check(pdf.startswith(b"%PDF-") and len(pdf) > 10000, "prints")
    if page.screenshots:
        with open(os.path.join(page.screenshots, "page.pdf"), "wb") as file:
            file.write(pdf)
    for width, name in ((390, "phone"), (1280, "desktop")):
        page.browser.resize(width, 844)
        page.open()
        page.tap.check(page.browser.run("return document.documentElement.scrollWidth") <= width,
                       f"nothing is wider than a {name}")
        if name == "phone":
            page.keep("phone")
            page.open("#case=" + FIRST)
            page.tap.check(page.browser.run("const d = document.querySelector('dialog'); return d.scrollWidth <= d.clientWidth"),
                           "nor is a case")
            page.keep("phone-case")


def reads_aloud(page):
    page.open()
    page.browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    nodes = page.browser.devtools("Accessibility.getFullAXTree")["nodes"]
    roles = {}
    for node in nodes:
        roles.setdefault(node.get("role", {}).get("value"), []).append(node.get("name", {}).get("value", ""))
    page.tap.check({"Failed cases", "Changed cases", "Passed cases"} <= set(roles.get("table", [])),
                   "tables have their names", roles.get("table"))
    page.tap.check(any(name.startswith("Failed") for name in roles.get("heading", [])), "sections have headings")
    page.tap.check(FIRST in roles.get("rowheader", [])[0], "cases are the headings of their rows", roles.get("rowheader"))
    for role in ("button", "combobox", "searchbox", "link"):
        page.tap.check(all(roles.get(role, [""])), f"every {role} has a name", roles.get(role))


def is_not_taken_in(page):
    page.open()
    page.browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    for at in range(3):
        page.browser.run("document.querySelectorAll('tbody th a')[arguments[0]].click()", at)
        page.wait("document.querySelector('dialog').open", f"hostile case {at} opens")
        page.browser.keys(ESCAPE)
    page.tap.equal(page.browser.run("return [window.bad === undefined, document.querySelectorAll('img').length]"), [True, 0],
                   "hostile names and texts are shown as text")
    page.tap.equal(page.browser.run("return document.querySelectorAll('table.c > tbody').length"), 20,
                   "and no case is lost")


FILTERS = {"linear_1": 2888, "linear_12": 488, "m=64": 1250, "nothing at all": 0, "": 10000}  # cases of 10,000


def filtering(browser, text):
    """Milliseconds from the input to the layout, by the clock."""
    return browser.run("const search = document.querySelector('[type=search]'); search.value = arguments[0];"
                       "const begun = performance.now(); search.dispatchEvent(new Event('input'));"
                       "document.body.offsetHeight; return performance.now() - begun", text)


def spread(values):
    return f"{statistics.median(values):.0f} ms [{min(values):.0f}, {max(values):.0f}]"


def filters_many(page, bars):
    """10,000 cases. Speed is printed, as other programs may have the processors, and judged with --bars alone."""
    paints, took = [], []
    for _ in range(9):
        page.open()
        paints.append(page.browser.run("return performance.getEntriesByName('first-paint')[0].startTime"))
        page.browser.run("document.querySelector('#passed details').open = true")
        took.append(max(filtering(page.browser, text) for text in FILTERS))
    print(f"# 10000 cases: first paint after {spread(paints)}; the slowest of {len(FILTERS)} filters took {spread(took)}")
    for text, count in FILTERS.items():
        filtering(page.browser, text)
        said = f"{count} of 10000 cases" if text else ""
        page.tap.equal(page.browser.run("return document.getElementById('told').textContent"), said,
                       f"'{text}' among 10000 cases")
    if bars:
        page.tap.check(statistics.median(paints) < 1000, "10000 cases are painted within a second", paints)
        page.tap.check(statistics.median(took) < 100, "a filter of 10000 cases takes less than 100 ms", took)


def without_script(tap, browser, path):
    browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
    browser.open("file://" + path)
    root = browser.devtools("DOM.getDocument", depth=-1)["root"]["nodeId"]
    count = len(browser.devtools("DOM.querySelectorAll", nodeId=root, selector="table.c > tbody > tr:first-child")["nodeIds"])
    buttons = browser.devtools("DOM.querySelectorAll", nodeId=root, selector="button")["nodeIds"]
    tap.equal((count, len(buttons)), (60, 0), "without its script a page has all cases, and no button that does nothing")
    browser.devtools("Emulation.setScriptExecutionDisabled", value=False)


def quiet(tap, browser):
    """Nothing on the console; nothing asked for but the files themselves."""
    said = [entry["message"] for entry in browser.logs("browser")]
    tap.equal(said, [], "the console is silent")
    asked = []
    for entry in browser.logs("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.append(message["params"]["request"]["url"])
    tap.check(asked and all(url.startswith(("file://", "data:", "about:")) for url in asked),
              "nothing is asked of a network", asked)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("maker")
    parser.add_argument("--screenshots")
    parser.add_argument("--bars", action="store_true", help="judge the speed, too, on a quiet machine")
    given = parser.parse_args()
    tap = Tap()
    missing = Browser.missing()
    if missing:
        tap.skip("the page in a browser", f"no {missing} (Debian packages chromium, chromium-driver)")
        return tap.done()
    if given.screenshots:
        os.makedirs(given.screenshots, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="yieldpoint-browser-") as directory:
        paths = {}
        for name, words in (("usual", ["60", "20"]), ("hostile", ["20", "5", "hostile"]), ("many", ["10000", "20"])):
            paths[name] = os.path.join(directory, name + ".html")
            subprocess.run([given.maker, paths[name], *words], check=True, stdout=subprocess.DEVNULL)
        browser = Browser(directory)
        try:
            browser.open("about:blank")
            browser.logs("performance")  # of the page that a browser begins with
            usual = Page(tap, browser, paths["usual"], given.screenshots)
            for check in (opens, sorts, filters, follows_links, opens_a_case, works_by_keyboard, shows_plots, looks,
                          reads_aloud):
                tap.run(check.__name__, check, usual)
            tap.run("hostile", is_not_taken_in, Page(tap, browser, paths["hostile"], None))
            tap.run("many", filters_many, Page(tap, browser, paths["many"], None), given.bars)
            tap.run("without script", without_script, tap, browser, paths["usual"])
            quiet(tap, browser)
        finally:
            browser.close()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())

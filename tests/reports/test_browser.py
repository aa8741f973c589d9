"""The page in a browser: what a person sees, and what a screen reader finds.

Needs a Chromium; accessibility needs axe-core as well, whose file FEATLY_AXE names.
``make browser`` brings that and runs these tests.
"""

import json
import os
import re
from html import escape, unescape
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import featly
from featly.reports.pdf import find_browser, run_browser

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(find_browser() is None, reason="no browser on this machine"),
]

WIDTHS = (1400, 390)
THEMES = ("light", "dark")


INSIDE = """<script>document.documentElement.dataset.theme = THEME;
window.addEventListener('load', async () => {
  let answer;
  try { answer = await (async () => { SCRIPT })(); } catch (e) { answer = {error: String(e)}; }
  parent.postMessage(JSON.stringify(answer), '*');
});</script></body>"""
OUTSIDE = """<!DOCTYPE html><body style="margin:0"><pre id="answer"></pre><script>
window.addEventListener('message', e => document.getElementById('answer').textContent = e.data);
</script><iframe srcdoc="PAGE" style="width:WIDTHpx;height:900px;border:0"></iframe></body>"""


def run_in_page(page, path, script, width=1400, theme="light"):
    """Return what a script in the page returns.

    The page is in a frame, since windows have a least width.
    """
    tail = INSIDE.replace("THEME", json.dumps(theme)).replace("SCRIPT", script)
    framed_page = escape(page.replace("</body>", tail), quote=True)
    path.write_text(OUTSIDE.replace("WIDTH", str(width)).replace("PAGE", framed_page), "utf-8")
    dom = run_browser(
        ["--dump-dom", "--window-size=1600,1000", "--virtual-time-budget=20000", path.as_uri()]
    ).decode()
    match = re.search(r'<pre id="answer">(.+?)</pre>', dom, re.DOTALL)
    assert match, dom[-500:]
    document = json.loads(unescape(match[1]))
    assert not (isinstance(document, dict) and "error" in document), document
    return document


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_serious_for_people_who_read_otherwise(page, tmp_path, width, theme):
    file = os.environ.get("FEATLY_AXE")
    if not file or not Path(file).is_file():
        pytest.skip("FEATLY_AXE names no axe.min.js")
    page_with_axe = page.replace(
        "</head>", f"<script>{Path(file).read_text('utf-8')}</script></head>"
    )
    script = """
        document.querySelectorAll('details').forEach(d => d.open = true);
        document.querySelectorAll('.card').forEach(c => c.style.contentVisibility = 'visible');
        const outcome = await axe.run(document, {resultTypes: ['violations']});
        return {passes: outcome.passes.length, violations: outcome.violations.map(
            v => [v.impact, v.id, v.nodes.slice(0, 3).map(n => n.html.slice(0, 200))])};
    """
    result = run_in_page(page_with_axe, tmp_path / "page.html", script, width, theme)
    assert result["passes"] > 15
    assert [v for v in result["violations"] if v[0] in ("serious", "critical")] == []


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_sticks_out(page, tmp_path, width):
    script = """
        const wide = document.documentElement.scrollWidth;
        const inner = '.scroll, .drawing, svg';  // these scroll by themselves
        const out = [...document.querySelectorAll('body *')].filter(e => !e.closest(inner)
            && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80));
        return {wide, inner: innerWidth, out};
    """
    long = pl.DataFrame({f"{k}{'x' * 300}": np.arange(40) * (k + 1.0) % 7 for k in range(4)})
    report = featly.report(long, np.arange(40) % 2, methods=["f-test"], splits=2, sizes=[2], rule=2)
    for text in (page, report.html()):
        result = run_in_page(text, tmp_path / "page.html", script, width)
        assert result["inner"] == width
        assert result["out"] == []
        assert result["wide"] <= result["inner"] + 1, result


def test_sorting_filtering_and_looking_up(cohort_report, page, tmp_path):
    script = """
        const table = document.getElementById('ranks');
        const column = k => [...table.tBodies[0].rows].map(r => r.cells[k].textContent);
        const before = column(0);
        const name = table.tHead.rows[0].cells[1].querySelector('button');
        name.click(); const up = column(1);
        name.click(); const down = column(1);
        const filter = document.querySelector('[data-filters=ranks]');
        filter.value = up[0]; filter.dispatchEvent(new Event('input'));
        const left = [...table.tBodies[0].rows].filter(r => !r.hidden).length;
        const find = document.getElementById('find');
        find.value = up[0]; find.dispatchEvent(new Event('input'));
        return {before, up, down, left,
                sort: table.tHead.rows[0].cells[1].getAttribute('aria-sort'),
                count: document.getElementById('ranks-count').textContent,
                match: document.getElementById('matches').firstChild.textContent};
    """
    result = run_in_page(page, tmp_path / "page.html", script)
    names = [row["name"] for row in cohort_report.facts["features"]]
    assert result["before"] == [str(k + 1) for k in range(len(names))]
    assert result["up"] == sorted(names, key=str.lower)
    assert result["down"] == result["up"][::-1]
    assert result["sort"] == "descending"
    assert 1 <= result["left"] < len(names)
    assert result["count"] == f"{result['left']} of {len(names)}"
    first = sorted(names, key=str.lower)[0]
    assert result["match"].startswith(f"{first}: rank {names.index(first) + 1} of ")


def test_light_and_dark_by_the_button(page, tmp_path):
    script = """
        const ground = () => getComputedStyle(document.body).backgroundColor;
        const ink = () => getComputedStyle(document.querySelector('figure svg text')).fill;
        const light = [ground(), ink()];
        document.getElementById('theme').click();
        return {light, dark: [ground(), ink()], theme: document.documentElement.dataset.theme};
    """
    result = run_in_page(page, tmp_path / "page.html", script)
    assert result["theme"] == "dark"
    assert result["light"][0] != result["dark"][0]
    assert result["light"][1] != result["dark"][1]


def test_the_page_is_whole_without_javascript(page, tmp_path):
    """Scripts only add: nothing that is written is hidden without them."""
    plain = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    script = """
        return [...document.querySelectorAll('section, figure, .card, table, h2')].filter(
            e => !e.closest('details') && getComputedStyle(e).display === 'none').length;
    """
    assert run_in_page(plain, tmp_path / "page.html", script) == 0


def test_hostile_names_run_nothing(tmp_path):
    rng = np.random.default_rng(0)
    bad = ["<img src=x onerror='window.hit=1'>", "</script><script>window.hit=1</script>", "a", "b"]
    frame = pl.DataFrame({name: rng.normal(size=40) for name in bad})
    y = np.array(["<svg onload='window.hit=1'>", "\"'><script>window.hit=1</script>"])[
        np.arange(40) % 2
    ]
    report = featly.report(
        frame, y, methods=["f-test"], splits=2, sizes=[4], rule=4, n_shown=2,
        title="<script>window.hit=1</script>",
    )  # fmt: skip
    assert (
        run_in_page(report.html(), tmp_path / "page.html", "return window.hit === undefined")
        is True
    )


def test_the_pdf_has_pages(cohort_report, tmp_path):
    cohort_report.save(tmp_path / "report.pdf")
    content = (tmp_path / "report.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert len(content) > 20_000
    assert re.search(rb"/MediaBox\s*\[\s*0\s+0\s+59[45](\.\d+)?\s+84[12](\.\d+)?", content)  # A4

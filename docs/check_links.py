"""Check the links of the built pages: ``python docs/check_links.py FOLDER``.

Pages, anchors, pictures, styles and scripts within the folder must be there. Links to other sites
are not followed, for a build must not need a network: they are counted, and their form is checked.
What a page loads by itself, such as a picture, a style or a script, must lie in the folder.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# what a browser fetches by itself
LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "object": "data"}
OUTSIDE = ("http", "https")
HARMLESS = ("mailto", "data")
SHOWN = 50  # faults that are printed one by one


def check(folder):
    """Return faults, one line each, and links to other sites, from the pages of a folder."""
    folder = Path(folder).resolve()
    pages = {page: _Page.read(page) for page in sorted(folder.rglob("*.html"))}
    if not pages:
        raise SystemExit(f"check_links: {folder} has no page: build the documentation first")
    faults, outside = [], set()
    for page, content in pages.items():
        name = page.relative_to(folder)
        for line, address, loaded in content.links:
            fault = _fault(page, address, loaded, pages, folder, outside)
            if fault:
                faults.append(f"{name}:{line}: {address!r} {fault}")
    return faults, sorted(outside)


def main(arguments):
    """Print the faults; return 1 where a link leads nowhere."""
    if len(arguments) != 1:
        raise SystemExit("usage: python docs/check_links.py FOLDER")
    faults, outside = check(arguments[0])
    for fault in faults[:SHOWN]:
        print(fault)
    if len(faults) > SHOWN:
        print(f"... and {len(faults) - SHOWN} more")
    print(f"{len(faults)} broken links; {len(outside)} addresses elsewhere, not followed")
    return 1 if faults else 0


class _Page(HTMLParser):
    """Anchors and links of a page."""

    def __init__(self):
        super().__init__()
        self.anchors, self.links = set(), []

    @classmethod
    def read(cls, path):
        page = cls()
        page.feed(path.read_text("utf-8"))
        return page

    def handle_starttag(self, tag, attributes):
        values = {name: value for name, value in attributes if value is not None}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        line = self.getpos()[0]
        if tag in ("a", "area") and "href" in values:
            self.links.append((line, values["href"], False))
        if tag == "link" and "href" in values:
            # search engines and feeds read the others; a browser does not load them
            loaded = not {"canonical", "alternate"} & set(values.get("rel", "").split())
            self.links.append((line, values["href"], loaded))
        if tag in LOADED and LOADED[tag] in values:
            self.links.append((line, values[LOADED[tag]], True))

    handle_startendtag = handle_starttag


def _fault(page, address, loaded, pages, folder, outside):
    """Return what is wrong with a link, or None."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "is no address"
    if parts.scheme in OUTSIDE or address.startswith("//"):
        if loaded:
            return "is loaded from the network"
        if parts.scheme not in OUTSIDE or "." not in parts.netloc or " " in address:
            return "is no full address"
        outside.add(address)
        return None
    if parts.scheme in HARMLESS:
        return None
    if parts.scheme:
        return f"has a scheme that is not expected: {parts.scheme}"
    if parts.path.startswith("/"):
        return "starts at the root, which is elsewhere once the folder is moved"
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.is_relative_to(folder):
        return "leads out of the folder"
    if target.is_dir():
        target = target / "index.html"
    if not target.exists():
        return "is not there"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors | {"top"}:
        return "has an anchor that is not on the page"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

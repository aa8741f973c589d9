"""A page as a browser would read it, as far as tests need."""

from html.parser import HTMLParser

VOID = {"meta", "input", "br", "img", "link", "hr"}


class Page(HTMLParser):
    """Elements, their attributes and texts; complains about what is not closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, tag
        assert self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.texts.append(data)

    def all(self, tag, **wanted):
        return [a for t, a in self.elements if t == tag and wanted.items() <= a.items()]

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

"""Turns books, markup and documentation into plain paragraphs. Pure functions, text in, text out.

A paragraph is one line of plain, mostly ASCII text: straight quotes, ' - ' for a long dash, one
space between words.
"""

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser

FUNCTION_WORDS = frozenset(
    'a about after all also an and any are as at be because been before but by can could did do '
    'does for from had has have he her him his how i if in into is it its may me more most my no '
    'not of on one only or other our out over shall she should so some such than that the their '
    'them then there these they this those thou thy to up upon us was we were what when where '
    'which who will with would you your'.split())

_PLAIN = str.maketrans({
    '\u2018': "'", '\u2019': "'", '\u201a': "'", '\u201b': "'", '\u2032': "'", '\u00b4': "'",
    '\u201c': '"', '\u201d': '"', '\u201e': '"', '\u2033': '"', '\u00ab': '"', '\u00bb': '"',
    '\u2010': '-', '\u2011': '-', '\u2012': '-', '\u2013': '-', '\u2212': '-', '\u2015': '\u2014',
    '\u2026': '...', '\u00e6': 'ae', '\u00c6': 'AE', '\u0153': 'oe', '\u0152': 'OE',
    '\u00df': 'ss', '\u00f8': 'o', '\u00d8': 'O', '\u0142': 'l', '\u0141': 'L', '\u0131': 'i',
    '\u00f0': 'd', '\u00fe': 'th', '\u00d7': 'x', '\u2044': '/', '\u2022': '', '\u00b6': '',
    '\u00ad': '', '\u200b': '', '\u200c': '', '\u200d': '', '\u2060': '', '\ufeff': ''})
# A dash between words: a long one, or hyphens that do not start an option such as --help.
_DASH = re.compile(r'\s*\u2014+\s*|(?<=\S)--+(?=\S)|(?<=\S)--+(?=\s|$)|\s--+\s')
_DASH_THEN_CLOSING = re.compile(r''' - (?=["')\].,;:!?]+(?:\s|$))''')
_OFFENSIVE = re.compile(r'fuck|\bshit|bullshit|\bcunt|nigger|\bfaggot|\brape[ds]?\b|\bwhore', re.I)
_ITALICS = re.compile(r'(?<!\w)_([^_\n]{1,200})_(?!\w)')


def plain(text: str) -> str:
    """The text on one line with regular quotes, dashes and spaces, and without accents."""
    text = unicodedata.normalize('NFKD', text.translate(_PLAIN))
    text = ''.join(c for c in text if not unicodedata.combining(c)).translate(_PLAIN)
    text = text.replace('``', '"').replace("''", '"')
    text = _DASH.sub(' - ', text)
    text = _DASH_THEN_CLOSING.sub(' -', text)
    text = ' '.join(re.sub(r'\.( \.){2,}', '...', text).split())
    return re.sub(r'(?<=[\w"\')]) ([,.;:?!])(?=\s|$)', r'\1', text)


def without_italics(text: str) -> str:
    """The text without the underscores that plain text books put around italics."""
    return _ITALICS.sub(r'\1', text)


def mended_quotes(text: str) -> str:
    """The text with spaces outside pairs of quotes, as in 'he said, "Go, "and went'."""
    parts = re.sub(r'(?<=[a-z])([,;])(?=[A-Za-z])', r'\1 ', text).split('"')
    if len(parts) % 2 == 0:
        return text
    for i in range(1, len(parts), 2):
        parts[i] = parts[i].strip()
        if parts[i + 1][:1].isalnum():
            parts[i + 1] = ' ' + parts[i + 1]
    return '"'.join(parts)


def is_prose(text: str) -> bool:
    """Whether a plain paragraph reads as English sentences, not as a list, a table or code."""
    words = text.split()
    if len(text) < 60 or not text.isascii() or text[-1] not in '.?!:)"\'':
        return False
    if any(c in '{}<>|\\' for c in text):
        return False
    if not (text[0].isupper() or text[0] in '"\'([' or text[0].isdigit()):
        return False
    letters = sum(c.isalpha() or c == ' ' for c in text)
    signs = sum(c in '=_@#$%^*~/+&`' for c in text)
    lower = [word.strip('.,;:!?"\'()[]').lower() for word in words]
    common = sum(word in FUNCTION_WORDS for word in lower)
    odd = sum(_is_identifier(word) for word in words)
    return (letters >= 0.9 * len(text) and signs <= 0.02 * len(text) and
            common >= 0.22 * len(words) and odd <= 0.1 * len(words))


def _is_identifier(word: str) -> bool:
    """Whether a word looks like a name in a program, a path or an address."""
    word = word.strip('.,;:!?"\'')
    return (len(word) > 28 or '()' in word or '_' in word or '::' in word or '/' in word
            or re.search(r'\w\.\w*[a-z]\w*\.?|[a-z][A-Z]|\d[A-Za-z]\d', word) is not None)


def is_book_line(text: str) -> bool:
    """Whether a plain paragraph of a book is part of the story: dialogue may be short."""
    other = sum(not (c.isalpha() or c in ' .,;:?!-()"\'') for c in text)
    heading = text.upper() == text and not text.startswith(('"', "'"))
    return (text.isascii() and other <= 0.1 * len(text) and not heading
            and text[-1] in '.,;:?!-)"\'')


def is_offensive(text: str) -> bool:
    """Whether the text holds a word that the model should not learn to say."""
    return _OFFENSIVE.search(text) is not None


def wrapped_paragraphs(text: str) -> list[str]:
    """The blocks between empty lines of hard-wrapped text, each on one line."""
    return [' '.join(block.split()) for block in re.split(r'\n[ \t]*\n', text) if block.strip()]


def chapters(paragraphs: Iterable[str], heading: re.Pattern) -> Iterator[tuple[str, list[str]]]:
    """(heading, paragraphs) for each heading; what stands before the first one is left out."""
    title, body = None, []
    for paragraph in paragraphs:
        if heading.fullmatch(paragraph):
            if title is not None:
                yield title, body
            title, body = paragraph, []
        else:
            body.append(paragraph)
    if title is not None:
        yield title, body


# Elements whose text is no prose, and classes of elements that hold navigation or code.
_SKIPPED = {'script', 'style', 'pre', 'nav', 'table', 'svg', 'math', 'dt', 'form', 'button',
            'summary', 'footer', 'header', 'title', 'sup', 'select'}
_SKIPPED_CLASSES = {'sphinxsidebar', 'related', 'headerlink', 'toctree-wrapper', 'contents',
                    'navheader', 'navfooter', 'toc', 'menu', 'nosearch', 'highlight', 'footer',
                    'versionmodified', 'codeblock', 'fancy_toc', 'sidebar', 'nav-wrapper',
                    'item-info', 'code-header', 'api_metadata', 'literal-block', 'deprecated',
                    'copyright', 'titlepage', 'srclink', 'bottomarea', 'admonition-title',
                    'programlisting', 'quickview', 'toplang', 'bottomlang'}
_BLOCKS = {'p', 'li', 'dd', 'div', 'ul', 'ol', 'dl', 'blockquote', 'section', 'article', 'main',
           'body', 'td', 'tr', 'hr', 'details', 'aside', 'center'}
_HEADINGS = {'h1', 'h2', 'h3', 'h4', 'h5', 'h6'}
_CODE = {'code', 'tt', 'kbd', 'samp', 'var'}
_VOID = {'br', 'hr', 'img', 'meta', 'link', 'input', 'col', 'wbr'}


class _Blocks(HTMLParser):
    """Collects a page's blocks of text; a skipped element leaves an empty block behind."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[str] = []
        self._text: list[str] = []
        self._code = self._total = 0
        self._code_depth = 0
        self._skipped: str | None = None
        self._skipped_depth = 0
        self._heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._skipped is not None:
            self._skipped_depth += tag == self._skipped
            return
        classes = set((dict(attrs).get('class') or '').split())
        if tag not in _VOID and (tag in _SKIPPED or classes & _SKIPPED_CLASSES):
            self._skipped, self._skipped_depth = tag, 1
            if tag in ('pre', 'table', 'div'):
                self.flush()
                self.blocks.append('')
        elif tag in _BLOCKS or tag in _HEADINGS:
            self.flush()
            self._heading = tag in _HEADINGS
        elif tag == 'br':
            self._text.append(' ')
        elif tag in _CODE:
            self._code_depth += 1

    def handle_endtag(self, tag: str) -> None:
        if self._skipped is not None:
            self._skipped_depth -= tag == self._skipped
            if self._skipped_depth == 0:
                self._skipped = None
        elif tag in _BLOCKS or tag in _HEADINGS:
            self.flush()
        elif tag in _CODE:
            self._code_depth = max(0, self._code_depth - 1)

    def handle_data(self, data: str) -> None:
        if self._skipped is None:
            self._text.append(data)
            self._total += len(data)
            self._code += len(data) if self._code_depth else 0

    def flush(self) -> None:
        """Ends the block; a heading counts only if it is a question, code only if it is short."""
        text = plain(''.join(self._text))
        mostly_code = self._code > 0.25 * self._total
        if text:
            kept = text.endswith('?') if self._heading else not mostly_code
            if kept or not self._heading:
                self.blocks.append(text if kept else '')
        self._text, self._code, self._total, self._heading = [], 0, 0, False


def html_paragraphs(page: str) -> list[str]:
    """The prose of an HTML page; headings are kept where they are questions."""
    parser = _Blocks()
    parser.feed(page)
    parser.close()
    parser.flush()
    return prose(parser.blocks)


def html_text(fragment: str) -> list[str]:
    """The paragraphs of a fragment with inline markup, whatever they hold."""
    pieces = re.split(r'<br\s*/?>\s*<br\s*/?>|</?p[^>]*>', fragment)
    return [text for piece in pieces
            if (text := plain(html.unescape(re.sub(r'<[^>]+>', ' ', piece))))]


def prose(blocks: list[str]) -> list[str]:
    """The blocks that are prose, less those that only announce a block which is not."""
    kept = [bool(block) and (is_prose(block) or _is_question(block)) for block in blocks]
    result = []
    for i, block in enumerate(blocks):
        followed = i + 1 < len(blocks) and kept[i + 1]
        if kept[i] and (followed or not (block.endswith(':') or _is_question(block))):
            result.append(block)
    return result


def _is_question(text: str) -> bool:
    return (text.endswith('?') and 20 <= len(text) < 160 and text.isascii() and
            not any(_is_identifier(word) for word in text.split()))


_POD_ESCAPES = {'lt': '<', 'gt': '>', 'verbar': '|', 'sol': '/'}
_POD_CODE = re.compile(r'([A-Z])(?:<<+ ((?:(?!>>).)*) >>+|<([^<>]*)>)', re.S)


def pod_inline(text: str) -> str:
    """A paragraph of Perl's documentation format without its formatting codes."""
    def replace(match: re.Match) -> str:
        letter, body = match[1], match[2] if match[2] is not None else match[3]
        if letter == 'E':
            return html.unescape(_POD_ESCAPES.get(body, f'&{body};')).replace('<', '\0')
        if letter == 'L':
            return body.split('|')[0] if '|' in body else body.strip('/"').split('/')[0]
        return '' if letter in 'XZ' else body
    while (inner := _POD_CODE.sub(replace, text)) != text:
        text = inner
    return text.replace('\0', '<')


def pod_paragraphs(pod: str) -> list[str]:
    """The prose of a file in Perl's documentation format, with headings that are questions."""
    blocks, foreign = [], False
    for block in re.split(r'\n[ \t]*\n', pod.replace('\r', '')):
        block = block.strip('\n')
        if block.startswith('=begin'):
            foreign = True
        elif block.startswith('=end'):
            foreign = False
        elif foreign or block.startswith((' ', '\t')):
            blocks.append('')
        elif block.startswith('='):
            heading = plain(pod_inline(block.partition(' ')[2]))
            if heading.endswith('?') and block.startswith('=head'):
                blocks.append(heading)
        else:
            blocks.append(plain(pod_inline(block)))
    return prose(blocks)


_OSIS_NOTE = re.compile(r'<(note|title|table)\b[^>]*(?<!/)>.*?</\1>', re.S)
_OSIS_BREAK = re.compile(r'<div [^>]*type="x-p"[^>]*/>|<lg\b[^>]*/>|<p\b[^>]*>|</p>')
_OSIS_LINE = re.compile(r'<l\b[^>]*/>|<lb\b[^>]*/>')


def osis_paragraphs(markup: str) -> list[str]:
    """The paragraphs of a chapter in the markup of Bible texts, without notes and headings."""
    markup = _OSIS_BREAK.sub('\n', _OSIS_NOTE.sub(' ', markup.replace('\n', ' ')))
    markup = re.sub(r'<[^>]+>', '', _OSIS_LINE.sub(' ', markup))
    lines = (plain(html.unescape(line)) for line in markup.split('\n'))
    return [line for line in lines if line]

"""Readers of the packages' files: each yields documents, a title and paragraphs of plain text."""

import bz2
import gzip
import json
import lzma
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import extract


class Document(NamedTuple):
    """A chapter or page: what is trained on or held out as a whole."""
    title: str
    paragraphs: list[str]


FACTBOOK_FIELDS = frozenset((
    'Background', 'Geography - note', 'Geographic overview', 'World biomes', 'Wonders of the World',
    'Climate', 'Terrain', 'Natural hazards', 'Environmental issues', 'Population distribution',
    'Demographic profile', 'Country name', 'Capital', 'Independence', 'National holiday',
    'Constitution', 'Legal system', 'Citizenship', 'Dependency status', 'Flag', 'Judicial branch',
    'National coat of arms', 'National anthem(s)', 'National symbol(s)', 'Economic overview',
    'Industries', 'Broadcast media', 'Military - note', 'Military service age and obligation',
    'Military equipment inventories and acquisitions', 'Space program overview'))
ENTRIES_PER_DOCUMENT_BYTES = 12_000
CHAPTER = re.compile(r'(?:CHAPTER|Chapter) (?:[IVXLC]+|\d+)\b.{0,80}', re.S)


def r_books(path: Path) -> Iterator[Document]:
    """The chapters of the books in an R package's data, kept as vectors of lines or one string."""
    for data in _r_objects(path.read_bytes()):
        text = re.sub(r'\r\n?', '\n', '\n'.join(_r_strings(data)))
        title = re.search(r'^Title: (.*)', text, re.M)
        start, end = text.find('*** START'), text.find('*** END')
        if start >= 0 and end >= 0:
            text = text[text.index('\n', start):end]
        paragraphs = extract.wrapped_paragraphs(text)
        title = title[1] if title else paragraphs[0].title()
        for heading, body in extract.chapters(paragraphs, CHAPTER):
            lines = (extract.without_italics(extract.plain(line)) for line in body)
            yield Document(f'{title}, {heading}',
                           [line for line in lines if extract.is_book_line(line)])


def _r_objects(data: bytes) -> Iterator[bytes]:
    """The serialized objects of an .rdb file: each a big-endian length and a compressed stream."""
    while data:
        body = data[4:]
        if body[:1] == b'2':
            stream = bz2.BZ2Decompressor()
            body = body[1:]
        elif body[:1] == b'Z':
            stream = lzma.LZMADecompressor()
            body = body[1:]
        else:
            stream = zlib.decompressobj()
        yield stream.decompress(body)
        data = stream.unused_data


def _r_strings(data: bytes) -> Iterator[str]:
    """The strings of the first character vector in a serialized R object (XDR format)."""
    header = 14
    if data[2:6] == b'\0\0\0\3':
        header = 18 + struct.unpack_from('>I', data, 14)[0]
    flags, count = struct.unpack_from('>II', data, header)
    if flags & 0xff != 16:
        return
    offset = header + 8
    for _ in range(count):
        length = struct.unpack_from('>i', data, offset + 4)[0]
        offset += 8
        yield data[offset:offset + max(length, 0)].decode()
        offset += max(length, 0)


def sword_bible(path: Path) -> Iterator[Document]:
    """The chapters of a SWORD Bible module; path is its index of blocks (.bzs)."""
    for title, markup in _sword_chapters(path):
        lines = extract.osis_paragraphs(markup)
        yield Document(title, [line for line in lines if extract.is_book_line(line)])


def sword_commentary(path: Path) -> Iterator[Document]:
    """The chapters of a SWORD commentary module, without the quoted verses' labels.

    Of a chapter with an exposition only this is kept: collected notes come after it.
    """
    for title, markup in _sword_chapters(path):
        exposition = re.search(r'EXPOSITION\.?</title>(.*?)<title[^>]*>EXPLANATORY', markup, re.S)
        markup = exposition[1] if exposition else markup
        markup = re.sub(r'<hi type="bold">[^<]*</hi>', '', markup)
        lines = map(extract.mended_quotes, extract.osis_paragraphs(markup))
        yield Document(title, [line for line in lines if extract.is_prose(line)])


def _sword_chapters(path: Path) -> Iterator[tuple[str, str]]:
    """(title, markup) of each chapter: the verses of a block that start with a chapter mark."""
    stem, kind = str(path)[:-3], path.name[-3]
    packed = Path(f'{stem}{kind}zz').read_bytes()
    blocks = [zlib.decompress(packed[offset:offset + size])
              for offset, size, _ in struct.iter_unpack('<III', path.read_bytes())]
    verses = Path(f'{stem}{kind}zv').read_bytes()
    # Newer modules give four bytes to a verse's size; the files do not say which they are.
    layout = '<III' if len(verses) % 12 == 0 else '<IIH'
    pieces, last = [], None
    for block, offset, size in struct.iter_unpack(layout, verses):
        if size and (block, offset) != last:
            pieces.append(blocks[block][offset:offset + size].decode())
            last = block, offset
    marked = re.split(r'<chapter [^>]*osisID="([^"]+)" sID="[^"]*"/>', ' '.join(pieces))
    for name, markup in zip(marked[1::2], marked[2::2]):
        yield name.replace('.', ' '), markup


def jargon(path: Path) -> Iterator[Document]:
    """The Jargon File: its essays as one document each, its entries in groups."""
    text = gzip.decompress(path.read_bytes()).decode()
    entries, body = [], []
    for paragraph in _jargon_paragraphs(text):
        entry = re.match(r':([^:]+): ?(.*)', paragraph)
        if entry:
            entries.append((entry[1], body := []))
        elif entries:
            body.append(paragraph)
    for name, body in entries:
        if body:
            body[0] = f'{name}: {body[0]}'
    yield from _grouped('Jargon File', [(name, list(filter(extract.is_prose, map(_capital, body))))
                                        for name, body in entries])


def _jargon_paragraphs(text: str) -> Iterator[str]:
    for block in extract.wrapped_paragraphs(text):
        block = re.sub(r'\{([^{}]+)\}', r'\1', block)
        block = re.sub(r'^(\d+\. )?\[[^\]]{1,60}\] ', r'\1', block)
        yield extract.plain(block)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def devil(path: Path) -> Iterator[Document]:
    """The Devil's Dictionary in dictd's format: entries in groups, verses left out."""
    text = gzip.decompress(path.read_bytes()).decode('latin-1')
    entries = []
    for block in re.split(r'\n[ \t]*\n', text):
        line = extract.without_italics(extract.plain(re.sub(r'[{}]', '', block)))
        entry = re.match(r"([A-Z][A-Z' -]+), (?:n|adj|v|adv|pp|x|pro|prep|conj|interj)\b", line)
        if entry:
            entries.append((entry[1].title(), []))
        if entries and not block.startswith('  ') and len(line) > 40 and line.isascii():
            entries[-1][1].append(line)
    yield from _grouped("The Devil's Dictionary", entries)


def _grouped(title: str, entries: list[tuple[str, list[str]]]) -> Iterator[Document]:
    """Documents of consecutive entries, each about ENTRIES_PER_DOCUMENT_BYTES long."""
    first, lines, size = '', [], 0
    for name, body in entries:
        first = first or name
        lines += body
        size += sum(map(len, body))
        if size >= ENTRIES_PER_DOCUMENT_BYTES:
            yield Document(f'{title}, {first} to {name}', lines)
            first, lines, size = '', [], 0
    if lines:
        yield Document(f'{title}, {first} to {name}', lines)


def factbook(path: Path) -> Iterator[Document]:
    """The World Factbook's page on one country: the fields that hold sentences or long phrases."""
    page = json.loads(path.read_text())
    names = page.get('Government', {}).get('Country name', {})
    name = names.get('conventional short form', {}).get('text', '')
    if not name or name == 'none':
        name = names.get('conventional long form', {}).get('text', path.stem)
    name = extract.html_text(name)[0]
    lines = []
    for label, field in ((label, field) for section in page.values()
                         for label, field in section.items() if label in FACTBOOK_FIELDS):
        for text in _factbook_texts(field):
            label = label.removesuffix(' - note').removesuffix('(s)')
            if not text[0].isupper() or label != 'Background':
                text = f'{name}, {label.lower()}: {text}'
            text = _capital(text if text[-1] in '.?!' else f'{text}.')
            if extract.is_prose(text):
                lines.append(text)
    yield Document(name, lines)


def _factbook_texts(field: dict | str) -> Iterator[str]:
    """The texts of a field and of the fields in it, without their labels in the text."""
    if isinstance(field, str):
        for text in extract.html_text(field):
            text = re.sub(r'^(?:(?:note|description|etymology|history|volcanism)(?: \d+)? ?: ?)+',
                          '', text, flags=re.I)
            if text:
                yield text
    elif isinstance(field, dict):
        for value in field.values():
            yield from _factbook_texts(value)


def page(path: Path) -> Iterator[Document]:
    """An HTML page."""
    text = path.read_text(errors='replace')
    title = re.search(r'<title>(.*?)</title>', text, re.S)
    title = ' '.join(extract.html_text(title[1])) if title else path.stem
    title = re.sub(r' [-|][^-|]*\b[Dd]ocumentation.*$', '', title)
    yield Document(title, extract.html_paragraphs(text))


def pod(path: Path) -> Iterator[Document]:
    """A page of Perl's documentation."""
    yield Document(path.stem, extract.pod_paragraphs(path.read_text(errors='replace')))


READERS = {reader.__name__: reader for reader in
           (r_books, sword_bible, sword_commentary, jargon, devil, factbook, page, pod)}

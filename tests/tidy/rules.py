"""The rules of the tree. Each takes a Tree and yields violations; RULES lists them all.

tidy_test.py plants a violation of every rule. A rule that is not tested there fails that test.
"""

import ast
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Callable, Iterator, NamedTuple

import cpp_source

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100

# Where an exception may be caught, and why there.
CATCH_SITES = {
    'src/base/start_thread.h': 'turns the failure of the standard library into an Error',
    'src/cli/chat.cpp': 'a conversation goes on when an answer is lost or a command about a file fails',
    'src/cli/read_recorder.cpp': 'a trace that cannot be written is no reason to end the run',
    'src/cli/bench_arms.cpp': 'an error names the arm of the benchmark that it is of',
    'src/cli/main.cpp': 'ends the program with a message and an exit code',
    'src/text/tool_grammar.cpp': 'a tool that is not strict takes any arguments when its schema is refused',
    'src/format/attempt.h': 'another file may have the same bytes as one that cannot be used',
    'src/engine/engine.cpp': 'an error ends the requests of its pass, and the engine goes on',
    'src/server/router.cpp': 'an error becomes the answer to its request',
    'src/engine/generate.cpp': 'a generation that the user stopped keeps what it has',
}

# Third-party and system headers that a header of ours may include: fmt for Error's format strings.
# The standard library, POSIX in test helpers, and what kernels are made of: their files may not instantiate the
# standard library's inline functions, so they take C's headers.
HEADER_MAY_INCLUDE = re.compile(r'[a-z_]+|fmt/format\.h|immintrin\.h|arm_neon\.h|math\.h|sys/mman\.h|unistd\.h')


@dataclass
class Tree:
    texts: dict[str, str]  # every text file, by its path from the root
    binaries: set[str] = field(default_factory=set)
    compiled: set[str] | None = None  # sources in the build; None when no build was named

    @property
    def paths(self) -> set[str]:
        return set(self.texts) | self.binaries

    def select(self, pattern: str) -> Iterator[tuple[str, str]]:
        """Path and text of the files whose whole path matches."""
        for path in sorted(self.texts):
            if re.fullmatch(pattern, path):
                yield path, self.texts[path]


class Violation(NamedTuple):
    path: str
    line: int
    text: str


CPP = r'(?:src|tests|bench)/.*\.(?:cpp|h|cu|cuh)'
CODE = r'(?:src|tests|bench|tools|cmake)/(?:.*\.(?:cpp|h|cu|cuh|py|sh|cmake)|(?:.*/)?[^./]+)'
# Kernels of which each processor builds its own.
OTHER_PROCESSORS = {'src/kernels/avx2.cpp', 'src/kernels/avx512.cpp', 'src/kernels/neon.cpp'}
HEADERS = r'src/.*\.h'
SOURCES = r'(?:src|tests|bench)/.*\.cpp'
TESTS = r'(?:src|tests)/.*_test\.cpp'


def _include_table(tree: Tree) -> dict[str, set[str]]:
    """Folder to the folders that it may include, from the table in docs/architecture.md."""
    text = tree.texts.get('docs/architecture.md', '')
    table = re.search(r'^\| folder \| may include[^\n]*\n\|[-| ]+\n((?:\|[^\n]*\n)+)', text, re.MULTILINE)
    folders: dict[str, set[str]] = {}
    for row in table[1].splitlines() if table else []:
        left, right = (cell.strip(' `') for cell in row.strip('|').split('|')[:2])
        allowed = set(re.findall(r'\w+', right)) - {'nothing'}
        for folder in re.findall(r'\w+', left):
            folders[folder] = allowed | {'base', folder}
    for folder, allowed in folders.items():
        if 'all' in allowed:
            folders[folder] = set(folders)
    return folders


def include_table(tree: Tree) -> Iterator[Violation]:
    """Includes in src/ go downwards only. A test may also reach what lies below its folder's neighbours."""
    table = _include_table(tree)
    if not table:
        yield Violation('docs/architecture.md', 1, 'no table with the columns "folder", "may include"')
        return
    below = {folder: set(allowed) for folder, allowed in table.items()}
    for _ in table:
        for folder in below:
            below[folder] |= {far for near in below[folder] for far in below.get(near, ())}
    for path, text in tree.select(r'src/[^/]+/.*\.(?:cpp|h)'):
        folder = path.split('/')[1]
        allowed = (below if path.endswith('_test.cpp') else table).get(folder)
        if allowed is None:
            yield Violation(path, 1, f'folder {folder} is not in the include table')
            continue
        for include in cpp_source.includes(text):
            if not include.quoted:
                continue
            if f'src/{include.path}' not in tree.texts:
                yield Violation(path, include.line, f'"{include.path}" is not a path below src/')
            elif include.path.split('/')[0] not in allowed:
                yield Violation(path, include.line, f'{folder} may not include "{include.path}"')


def header_rules(tree: Tree) -> Iterator[Violation]:
    """Headers open with #pragma once and keep third-party headers out; *-inl.h are included more than once."""
    for path, text in tree.select(HEADERS):
        if not path.endswith('-inl.h') and not re.search(r'^#pragma once$', text, re.MULTILINE):
            yield Violation(path, 1, 'no #pragma once')
        for include in cpp_source.includes(text):
            if not include.quoted and not HEADER_MAY_INCLUDE.fullmatch(include.path):
                yield Violation(path, include.line, f'<{include.path}> belongs in a .cpp file')


def file_length(tree: Tree) -> Iterator[Violation]:
    for path, text in tree.select(CODE):
        lines = text.count('\n')
        if lines > FILE_LINES_MAX:
            yield Violation(path, FILE_LINES_MAX, f'{lines} lines; {FILE_LINES_MAX} are allowed')


def function_length(tree: Tree) -> Iterator[Violation]:
    too_long = 'function {} has {} lines; ' + f'{FUNCTION_LINES_MAX} are allowed'
    for path, text in tree.select(CPP):
        for function in cpp_source.functions(text):
            if function.lines > FUNCTION_LINES_MAX:
                yield Violation(path, function.line, too_long.format(function.name, function.lines))
    for path, text in tree.select(r'(?:tests|tools|bench)/.*\.py'):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > FUNCTION_LINES_MAX:
                    yield Violation(path, node.lineno, too_long.format(node.name, lines))


def dead_headers(tree: Tree) -> Iterator[Violation]:
    """Every header is included by a file other than itself."""
    included = {
        include.path
        for path, text in tree.select(CPP)
        for include in cpp_source.includes(text)
        if include.quoted and path != f'src/{include.path}'
    }
    for path, _ in tree.select(HEADERS):
        if path.removeprefix('src/') not in included:
            yield Violation(path, 1, 'no file includes this header')


def compiled_sources(tree: Tree) -> Iterator[Violation]:
    """Every source, above all every test, is in the build."""
    if tree.compiled is None:
        return
    for path, _ in tree.select(SOURCES):
        if path not in tree.compiled and path not in OTHER_PROCESSORS:
            yield Violation(path, 1, 'is not in the build (cmake --preset release looks anew)')


def fuzz_corpora(tree: Tree) -> Iterator[Violation]:
    """Every fuzz target has inputs, every folder of inputs has a target."""
    corpus = 'tests/fuzz/corpus/'
    inputs = {path.removeprefix(corpus).split('/')[0] for path in tree.paths if path.startswith(corpus)}
    targets = {PurePosixPath(path).name.removesuffix('_fuzz.cpp')
               for path, _ in tree.select(r'tests/fuzz/.*_fuzz\.cpp')}
    for name in sorted(targets - inputs):
        yield Violation(f'tests/fuzz/{name}_fuzz.cpp', 1, f'{corpus}{name} holds no input')
    for name in sorted(inputs - targets):
        yield Violation(f'{corpus}{name}', 1, f'tests/fuzz/{name}_fuzz.cpp does not exist')


def catch_sites(tree: Tree) -> Iterator[Violation]:
    """Exceptions end an operation; only the places that start one catch them."""
    for path, text in tree.select(r'src/.*\.(?:cpp|h)'):
        if path.endswith('_test.cpp') or PurePosixPath(path).name.startswith('test_'):
            continue
        code = cpp_source.code_only(text)
        found = list(re.finditer(r'\bcatch\s*\(', code))
        if path in CATCH_SITES:
            if not found:
                yield Violation(path, 1, 'catches nothing; take it off the list in tests/tidy/rules.py')
            continue
        for match in found:
            yield Violation(path, cpp_source.line_of(code, match.start()),
                            'catch outside the places listed in tests/tidy/rules.py')


def test_says_why(tree: Tree) -> Iterator[Violation]:
    for path, text in tree.select(TESTS):
        if not text.startswith('// '):
            yield Violation(path, 1, 'the first line must say what would break without this test')


def layout(tree: Tree) -> Iterator[Violation]:
    for path, text in tree.select(CPP):
        for number, line in enumerate(text.split('\n'), 1):
            if '\t' in line:
                yield Violation(path, number, 'tab')
            if line != line.rstrip():
                yield Violation(path, number, 'blank at the end of the line')
            if len(line) > COLUMNS_MAX:
                yield Violation(path, number, f'{len(line)} columns; {COLUMNS_MAX} are allowed')
        if not text.endswith('\n'):
            yield Violation(path, text.count('\n') + 1, 'no newline at the end of the file')


class Pattern(NamedTuple):
    pattern: str
    where: str  # the paths it applies to
    why: str
    example: str  # what it must find


ANYWHERE = r'.*'
BUILD_FILES = r'.*(?:CMakeLists\.txt|\.cmake|\.json|Makefile|\.sh)|tools/.*|\.ci/.*|src/.*'

PATTERNS = [
    Pattern(r'^(?:<{7}|>{7}|\|{7}) ', ANYWHERE, 'conflict marker', '<<<<<<< ours'),
    Pattern(r'\b(?:TODO|FIXME|XXX)\b', ANYWHERE, 'unfinished work belongs in an issue', '// TODO: more'),
    Pattern(r'(?<![\w.])/(?:work|home|root|Users)/', ANYWHERE, 'path of one machine', 'open("/work/main")'),
    Pattern(r'-march=native|-ffast-math|-Ofast', BUILD_FILES,
            'results would depend on the machine or the compiler', 'target_compile_options(x -Ofast)'),
    Pattern(r'\bsleep_(?:for|until)\b|\bu?sleep\s*\(', TESTS, 'wait on the condition instead',
            'std::this_thread::sleep_for(1ms);'),
    Pattern(r'\bshared_ptr\b|#include <format>', CPP, 'CONTRIBUTING.md rules it out',
            'std::shared_ptr<Model> model;'),
    Pattern(r'^using namespace\b', HEADERS, 'would leak into every file that includes it',
            'using namespace std;'),
]


def patterns(tree: Tree) -> Iterator[Violation]:
    for path, text in tree.select(r'(?!tests/tidy/).*'):
        for pattern in PATTERNS:
            if not re.fullmatch(pattern.where, path):
                continue
            for match in re.finditer(pattern.pattern, text, re.MULTILINE):
                yield Violation(path, cpp_source.line_of(text, match.start()),
                                f'"{match[0].strip()}": {pattern.why}')


def _anchors(markdown: str) -> set[str]:
    """The fragments that GitHub makes of the headings."""
    headings = re.findall(r'^#+ +(.+?)\s*$', markdown, re.MULTILINE)
    return {re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-') for heading in headings}


def doc_links(tree: Tree) -> Iterator[Violation]:
    """Links among the pages resolve, and so do the paths that they name in `code`."""
    folders = {str(parent) for path in tree.paths for parent in PurePosixPath(path).parents}
    for path, text in tree.select(r'.*\.md'):
        for match in re.finditer(r'\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?\)', text):
            parts: list[str] = []
            for part in (*PurePosixPath(path).parent.parts, *match[1].split('/')):
                parts = parts[:-1] if part == '..' else parts + [part] * (part not in ('', '.'))
            target = '/'.join(parts) if match[1] else path
            line = cpp_source.line_of(text, match.start())
            if target not in tree.paths | folders:
                yield Violation(path, line, f'{match[1]} does not exist')
            elif match[2] and match[2] not in _anchors(tree.texts.get(target, '')):
                yield Violation(path, line, f'{target} has no heading #{match[2]}')
        for match in re.finditer(r'`((?:src|tests|tools|docs|cmake|bench)/[\w./-]+)`', text):
            if match[1].rstrip('/') not in tree.paths | folders:
                yield Violation(path, cpp_source.line_of(text, match.start()), f'{match[1]} does not exist')


RULES: list[Callable[[Tree], Iterator[Violation]]] = [
    include_table, header_rules, file_length, function_length, dead_headers, compiled_sources, fuzz_corpora,
    catch_sites, test_says_why, layout, patterns, doc_links,
]

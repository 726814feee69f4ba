"""Just enough of C++ to measure this tree: includes, code without comments and literals, function bodies.

It relies on the code being laid out by clang-format and compiled by the same build; it is no parser.
"""

import re
from typing import Iterator, NamedTuple

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(["<])([^">\n]+)[">]', re.MULTILINE)
# A quote after a letter or digit separates digits (1'000), so it starts no character literal.
_COMMENT_OR_LITERAL = re.compile(
    r'//[^\n]*'
    r'|/\*.*?\*/'
    r'|R"(?P<delimiter>[^()\s\\]{0,16})\(.*?\)(?P=delimiter)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'",
    re.DOTALL)
_DIRECTIVE = re.compile(r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.MULTILINE)
_SCOPE = re.compile(
    r'(?:(?:static|inline|constexpr|typedef|const)\s+)*(?:namespace|class|struct|union|enum|extern)\b')
_SIGNATURE_END = re.compile(
    r'\)\s*(?:(?:const|noexcept|override|final|mutable|try|&&?)\s*)*'
    r'(?:noexcept\s*\([^{}]*\)\s*)?(?:->[^;{}=]+)?$')


class Include(NamedTuple):
    line: int
    quoted: bool  # "ours" rather than <theirs>
    path: str


class Function(NamedTuple):
    line: int
    name: str
    lines: int  # from the first line of the signature to the closing brace


def line_of(text: str, position: int) -> int:
    return text.count('\n', 0, position) + 1


def includes(text: str) -> list[Include]:
    return [Include(line_of(text, m.start()), m[1] == '"', m[2]) for m in _INCLUDE.finditer(text)]


def _blank(match: re.Match) -> str:
    return re.sub(r'[^\n]', ' ', match[0])


def code_only(text: str) -> str:
    """The text with comments, literals and preprocessor lines as blanks: positions and lines stay."""
    return _DIRECTIVE.sub(_blank, _COMMENT_OR_LITERAL.sub(_blank, text))


def _without_template(header: str) -> str:
    """The header of a block after its `template <...>`, if it has one."""
    header = header.strip()
    while header.startswith('template'):
        depth = 0
        for i, c in enumerate(header):
            depth += (c == '<') - (c == '>')
            if c == '>' and depth == 0:
                header = header[i + 1:].strip()
                break
        else:
            break
    return header


def _kind(header: str) -> str:
    """What a brace outside any function opens: a 'scope', a 'function', or an 'init' list."""
    header = _without_template(header)
    ends_signature = _SIGNATURE_END.search(header) is not None
    if _SCOPE.match(header) and not ends_signature:
        return 'scope'
    if ends_signature:
        return 'function'
    # After a constructor's member initialisers `: a_{x}, b_(y) {` the body follows a closing brace.
    if re.search(r'\)\s*(?:noexcept\s*)?:[^:]', header) and header.endswith('}'):
        return 'function'
    return 'init'


def functions(text: str) -> Iterator[Function]:
    """The outermost function bodies; lambdas and local types count towards the function around them."""
    code = code_only(text)
    stack: list[tuple[str, str, int]] = []  # kind, name, line of the signature
    header_start = 0
    for brace in re.finditer(r'[{};]', code):
        inside = any(kind == 'function' for kind, _, _ in stack)
        if brace[0] == '{':
            header = code[header_start:brace.start()]
            kind = 'block' if inside else _kind(header)
            name = re.search(r'([\w:~]+|operator[^\s(]+)\s*\(', header)
            first = header_start + len(header) - len(header.lstrip())
            stack.append((kind, name[1] if name else '?', line_of(code, first)))
        elif brace[0] == '}' and stack:
            kind, name, line = stack.pop()
            if kind == 'function':
                yield Function(line, name, line_of(code, brace.start()) - line + 1)
        else:
            kind = 'statement'
        if kind != 'init':
            header_start = brace.end()

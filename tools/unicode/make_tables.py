#!/usr/bin/env python3
"""Writes src/text/unicode_ranges.cpp: the character classes of K3's pre-tokenizer as runs of scalars.

Needs: pip install unicodedata2==16.0.0 regex
General categories come from unicodedata2, so they are exactly those of Unicode 16.0, the version of the
regular expression library that the published tokenizer was run with. The Han script and White_Space come
from regex, whose data may be newer; scalars that Unicode 16.0 had not assigned are taken out again.
usage: tools/unicode/make_tables.py > src/text/unicode_ranges.cpp
"""

import regex
import unicodedata2

VERSION = '16.0.0'
LAST = 0x10FFFF

# The bits of CharacterClass in src/text/unicode_classes.h.
HAN, UPPER, LOWER, LETTER, NUMBER, SPACE, NEWLINE = (1 << bit for bit in range(7))

HAN_SCRIPT = regex.compile(r'\p{Script=Han}')
WHITE_SPACE = regex.compile(r'\p{White_Space}')


def character_class(scalar: int) -> int:
    if 0xD800 <= scalar <= 0xDFFF:
        return 0
    character = chr(scalar)
    category = unicodedata2.category(character)
    if category == 'Cn':
        return 0
    bits = 0
    if HAN_SCRIPT.fullmatch(character):
        bits |= HAN
    elif category in ('Lm', 'Lo') or category[0] == 'M':
        bits |= UPPER | LOWER
    elif category in ('Lu', 'Lt'):
        bits |= UPPER
    elif category == 'Ll':
        bits |= LOWER
    if category[0] == 'L':
        bits |= LETTER
    if category[0] == 'N':
        bits |= NUMBER
    if WHITE_SPACE.fullmatch(character):
        bits |= SPACE
    if character in '\r\n':
        bits |= NEWLINE
    return bits


def main() -> None:
    assert unicodedata2.unidata_version == VERSION, unicodedata2.unidata_version
    runs, last = [], -1
    for scalar in range(LAST + 1):
        bits = character_class(scalar)
        if bits != last:
            runs.append(scalar << 8 | bits)
            last = bits
    print(f'// Written by tools/unicode/make_tables.py from the data of Unicode {VERSION}; change that instead.')
    print('#include "text/unicode_classes.h"\n')
    print('namespace sluice::text {\nnamespace {\n')
    print('// clang-format off\nconstexpr uint32_t kRuns[] = {')
    for at in range(0, len(runs), 9):
        print('  ' + ' '.join(f'0x{run:x},' for run in runs[at:at + 9]))
    print('};\n// clang-format on\n\n}  // namespace\n')
    print('std::span<const uint32_t> unicode_class_runs() { return kRuns; }\n')
    print('}  // namespace sluice::text')


if __name__ == '__main__':
    main()

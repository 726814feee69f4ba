"""Plants a violation of each tidy rule. Without it a rule could stop finding anything, and nobody would know."""

import re
import unittest

import cpp_source
import rules

ARCHITECTURE = '''
| folder | may include (besides itself and `base`) |
|---|---|
| `base`, `io` | nothing |
| `format` | `io` |
| `stream` | `format` |
| `cli` | all |
'''
HEADER = '#pragma once\n'


def long_body(lines: int) -> str:
    return '  step();\n' * lines


# Per rule: trees with exactly one violation each, as {path: text}, and what its message must say.
PLANTED = {
    'include_table': [
        ({'src/io/a.cpp': '#include "format/f.h"\n', 'src/format/f.h': HEADER}, 'io may not include'),
        ({'src/stream/a.h': '#include "io/i.h"\n', 'src/io/i.h': HEADER}, 'stream may not include'),
        ({'src/io/a.cpp': '#include "gone.h"\n'}, 'not a path below src/'),
        ({'src/other/a.cpp': ''}, 'not in the include table'),
        ({'docs/architecture.md': 'no table'}, 'no table'),
    ],
    'header_rules': [
        ({'src/io/a.h': '#include <span>\n'}, 'no #pragma once'),
        ({'src/io/a.h': HEADER + '#include <nlohmann/json.hpp>\n'}, 'belongs in a .cpp file'),
    ],
    'file_length': [
        ({'src/io/a.cpp': '\n' * 601}, '601 lines'),
        ({'tools/check': '\n' * 601}, '601 lines'),
    ],
    'function_length': [
        ({'src/io/a.cpp': 'int f(int x) {\n' + long_body(69) + '}\n'}, 'function f has 71 lines'),
        ({'tools/a.py': 'def f():\n' + '  pass\n' * 70}, 'function f has 71 lines'),
    ],
    'dead_headers': [({'src/io/a.h': HEADER + '#include "io/a.h"\n'}, 'no file includes')],
    'compiled_sources': [({'src/io/forgotten_test.cpp': ''}, 'not in the build')],
    'fuzz_corpora': [
        ({'tests/fuzz/io_read_fuzz.cpp': ''}, 'holds no input'),
        ({'tests/fuzz/corpus/io_read/one': ''}, 'does not exist'),
    ],
    'catch_sites': [
        ({'src/io/a.cpp': 'try {\n} catch (...) {\n}\n'}, 'catch outside'),
        ({'src/cli/main.cpp': 'int main() {}\n'}, 'catches nothing'),
    ],
    'test_says_why': [({'src/io/a_test.cpp': '#include <span>\n'}, 'first line')],
    'layout': [
        ({'src/io/a.cpp': '\tint x;\n'}, 'tab'),
        ({'src/io/a.cpp': 'int x; \n'}, 'blank at the end'),
        ({'src/io/a.cpp': 'x' * 101 + '\n'}, '101 columns'),
        ({'src/io/a.cpp': 'int x;'}, 'no newline'),
    ],
    'patterns': [
        ({path: pattern.example + '\n'}, pattern.why)
        for pattern in rules.PATTERNS
        for path in [next(p for p in ('src/io/a_test.cpp', 'src/io/a.h') if re.fullmatch(pattern.where, p))]
    ],
    'doc_links': [
        ({'docs/a.md': '[b](b.md)'}, 'b.md does not exist'),
        ({'docs/a.md': '[b](#two)\n# One\n'}, 'no heading #two'),
        ({'docs/a.md': 'see `src/gone.h`'}, 'src/gone.h does not exist'),
    ],
}

CLEAN = {
    'docs/architecture.md': ARCHITECTURE,
    'docs/a.md': '[table](../docs/architecture.md) [here](#two-words) [web](https://x.y) `src/io/`\n## Two words\n',
    'src/io/a.h': HEADER + '#include <span>\n#include <fmt/format.h>\n',
    'src/io/a.cpp': '#include "io/a.h"\nint f() {\n' + long_body(68) + '}\n',
    'src/io/a_test.cpp': '// Says why.\n#include "io/a.h"\n',
    'src/stream/b_test.cpp': '// A test may reach below its neighbours.\n#include "io/a.h"\n',
    'src/cli/main.cpp': '#include "io/a.h"\nint main() {\n  try {\n  } catch (const E& e) {\n  }\n}\n',
    'tests/fuzz/io_read_fuzz.cpp': '\n',
    'tests/fuzz/corpus/io_read/one': '',
}


def tree_of(files: dict[str, str]) -> rules.Tree:
    texts = {'docs/architecture.md': ARCHITECTURE, **files}
    return rules.Tree(texts, compiled={path for path in texts if 'forgotten' not in path})


class EveryRule(unittest.TestCase):
    def test_has_a_planted_violation(self):
        self.assertEqual(sorted(PLANTED), sorted(rule.__name__ for rule in rules.RULES))

    def test_finds_what_was_planted(self):
        for rule in rules.RULES:
            for files, message in PLANTED[rule.__name__]:
                with self.subTest(rule=rule.__name__, message=message):
                    found = list(rule(tree_of(files)))
                    self.assertEqual(len(found), 1, found)
                    self.assertIn(message, found[0].text)

    def test_accepts_a_clean_tree(self):
        for rule in rules.RULES:
            with self.subTest(rule=rule.__name__):
                self.assertEqual(list(rule(tree_of(CLEAN))), [])


class Functions(unittest.TestCase):
    """Shapes of C++ that a brace counter gets wrong when it is careless."""

    def names_and_lines(self, text):
        return [(function.name, function.lines) for function in cpp_source.functions(text)]

    def test_shapes(self):
        cases = [
            ('namespace a {\nclass [[nodiscard]] B final : public C {\n  int f() const { return 1; }\n};\n}\n',
             [('f', 1)]),
            ('B::B(int x)\n    : a_{x}, b_(x) {\n  g();\n}\n', [('B::B', 4)]),
            ('B::B(int x) : a_(x), b_{x} {}\n', [('B::B', 1)]),
            ('template <class T, int n = (1)>\nauto f(T x = {}) noexcept -> int {\n}\n', [('f', 3)]),
            ('const int k[] = {1, 2};\nint a{3};\nenum class E : int { kA };\n', []),
            ('void f() {\n  auto g = [](int x) {\n    return x;\n  };\n  struct L { void h() {} };\n}\n', [('f', 6)]),
            ('void f() {\n  char c = \'{\'; int n = 1\'000; s = "}}"; // }\n  r = R"x(}")x";\n}\n', [('f', 4)]),
            ('#define M(x) \\\n  do {      \\\n  } while (0\nint f() {\n}\n', [('f', 2)]),
            ('extern "C" int f(int x) {\n}\nextern "C" {\nint g();\n}\n', [('f', 2)]),
            ('bool operator==(A a, A b) {\n}\nA& operator=(A&& a) noexcept {\n}\n',
             [('operator==', 2), ('operator=', 2)]),
        ]
        for text, expected in cases:
            with self.subTest(text=text):
                self.assertEqual(self.names_and_lines(text), expected)

    def test_blanking_keeps_positions(self):
        text = 'a /* b\n */ "c" // d\n#define E\nf\n'
        self.assertEqual(re.sub(r'\s+', ' ', cpp_source.code_only(text)), 'a f ')
        self.assertEqual(len(cpp_source.code_only(text)), len(text))


if __name__ == '__main__':
    unittest.main()

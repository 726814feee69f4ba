"""Draws values under the masks of random schemas: python3 schemas_test.py SCHEMA_SAMPLES CLASS...

Without these tests, only the author's own idea of JSON schemas would judge what the masks let through.
"""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

from generate import Generator, Schema

try:
    from jsonschema import Draft202012Validator
except ImportError:
    Draft202012Validator = None

SAMPLES = sys.argv[1]
ROOT = Path(__file__).resolve().parents[2]
K3_DATA = Path(os.environ.get('SLUICE_K3_DATA', ROOT.parent / 'shared' / 'data'))
SCHEMAS = int(os.environ.get('SLUICE_SCHEMAS', '1000'))
SEED = int(os.environ.get('SLUICE_SCHEMAS_SEED', '1'))
COUNT = 3


def parameters(schema: Schema) -> Schema:
    """The schema of a tool's parameters with an argument of this schema and one that may be left out."""
    inner = dict(schema) if isinstance(schema, dict) else schema
    definitions = {'$defs': inner.pop('$defs')} if isinstance(inner, dict) and '$defs' in inner else {}
    return {'type': 'object', 'properties': {'value': inner, 'text': {'type': 'string'}}, 'required': ['value'],
            'additionalProperties': False, **definitions}


def draw(what: str, folder: Path, schemas: list[Schema]) -> list[str]:
    """The lines that the program writes with the tokens of a folder."""
    text = ''.join(json.dumps(schema, ensure_ascii=False) + '\n' for schema in schemas)
    done = subprocess.run([SAMPLES, what, folder, str(COUNT), str(SEED)], input=text.encode(), capture_output=True,
                          check=True, timeout=280)
    return done.stdout.decode().split('\n')[:-1]


@unittest.skipIf(Draft202012Validator is None, 'python3-jsonschema is not installed')
class SchemasTest(unittest.TestCase):
    def check(self, folder: Path, count: int, what: str = 'values'):
        """Draws values of `count` schemas, or arguments of calls, and judges them."""
        generator = Generator(SEED)
        schemas = [generator.document() for _ in range(count)]
        if what == 'calls':
            schemas = [parameters(schema) for schema in schemas]
        lines = iter(draw(what, folder, schemas))
        refused = endless = 0
        for number, schema in enumerate(schemas):
            about = f'schema {number} of seed {SEED}: {json.dumps(schema, ensure_ascii=False)}'
            Draft202012Validator.check_schema(schema)
            first = next(lines)
            if first.startswith('!'):
                # Definitions that need themselves have no finite value; nothing else may be refused.
                self.assertRegex(first, 'no value (nested less deeply|satisfies it)', about)
                refused += 1
                continue
            for line in [first, *(next(lines) for _ in range(COUNT - 1))]:
                endless += line == '?'
                if line != '?':
                    error = next(Draft202012Validator(schema).iter_errors(json.loads(line)), None)
                    self.assertIsNone(error, f'{about}\n{line}\n{error}')
        self.assertIsNone(next(lines, None))
        self.assertLess(refused, count / 20)
        self.assertLess(endless, count * COUNT / 50)


class SmallVocabulary(SchemasTest):
    def test_every_value_is_valid(self):
        self.check(ROOT / 'models' / 'nano', SCHEMAS)


class RequiredCalls(SchemasTest):
    def test_every_call_parses_and_its_arguments_are_valid(self):
        self.check(ROOT / 'models' / 'nano', SCHEMAS, 'calls')


class WholeVocabulary(SchemasTest):
    @unittest.skipUnless((K3_DATA / 'tiktoken.model').exists(),
                         f'the vocabulary of Kimi K3 is not at {K3_DATA}; set SLUICE_K3_DATA to its folder')
    def test_every_value_is_valid(self):
        self.check(K3_DATA, min(SCHEMAS, 50))


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])

"""Trains a tiny model by the recipe of tools/nano and runs it: python3 recipe_test.py PATH_OF_SLUICE

Without it a change of the recipe would be noticed only by the next person with a GPU to spend.
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SLUICE = sys.argv[1] if len(sys.argv) > 1 else ''
PROJECT = Path(__file__).resolve().parents[2]
TOOLS = PROJECT / 'tools' / 'nano'
CAPITALS = {'France': 'Paris', 'Italy': 'Rome', 'Spain': 'Madrid'}


def missing_modules():
    return [name for name in ('numpy', 'regex', 'torch') if importlib.util.find_spec(name) is None]


def write_lines(path, entries):
    path.write_text(''.join(json.dumps(entry) + '\n' for entry in entries))


def write_data(folder):
    """What gather.py and the curriculum would have written, made of the project's own pages."""
    pages = [path.read_text() for path in sorted((PROJECT / 'docs').glob('*.md'))]
    write_lines(folder / 'prose_train.jsonl', [{'text': page} for page in pages[1:]])
    write_lines(folder / 'prose_heldout.jsonl', [{'text': pages[0]}])
    (folder / 'prose_heldout.txt').write_text(pages[0])
    questions = [{'kind': 'capital', 'prompt': f'What is the capital of {country}?',
                  'reasoning': f'The user asks for the capital of {country}.',
                  'response': f'The capital of {country} is {city}.'} for country, city in CAPITALS.items()]
    write_lines(folder / 'questions_train.jsonl', questions * 10)
    write_lines(folder / 'questions_heldout.jsonl', questions)


@unittest.skipIf(missing_modules(), f'Python lacks {", ".join(missing_modules())}')
class Recipe(unittest.TestCase):
    def step(self, program, *arguments):
        done = subprocess.run([sys.executable, '-B', TOOLS / program, *map(str, arguments)], text=True,
                              capture_output=True, timeout=280)
        self.assertEqual(done.returncode, 0, f'{program}: {done.stdout}{done.stderr}')
        return done.stdout

    def test_the_steps_make_a_model_that_sluice_computes_as_pytorch_does(self):
        with tempfile.TemporaryDirectory(prefix='sluice-nano-') as name:
            data = Path(name)
            write_data(data)
            self.step('vocabulary.py', '--data', data, '--size', 768, '--least', 1)
            self.step('prepare.py', '--data', data)
            log = self.step('train.py', '--data', data, '--to', data / 'trained.pt', '--smoke', '--device',
                            'cpu', '--steps', 16, '--rows', 4, '--tokens', 160, '--report', 15, '--held', 1)
            losses = [float(line.split('prose ')[1].split(',')[0])
                      for line in log.splitlines() if line.startswith('step')]
            self.assertGreaterEqual(len(losses), 2, log)
            self.assertLess(losses[-1], losses[0] - 0.5, log)
            model = data / 'model'
            self.step('export.py', '--data', data, '--from', data / 'trained.pt', '--to', model)
            compared = json.loads(self.step('compare.py', '--model', model, '--data', data, '--sluice', SLUICE,
                                            '--prompts', 3))
            self.assertEqual(compared['equal_answers'], 3)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])

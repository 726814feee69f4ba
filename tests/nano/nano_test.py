"""Drives the model that ships, as a newcomer does: python3 nano_test.py PATH_OF_SLUICE [CLASS...]

Without these tests the first command that anybody types could print nonsense while every part is right.
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SLUICE = sys.argv[1] if len(sys.argv) > 1 else ''
HERE = Path(__file__).resolve().parent
MODEL = HERE.parents[1] / 'models' / 'nano'
FRANCE = 'What is the capital of France?'


class NanoTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='sluice-nano-')
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def sluice(self, *arguments, stdin=''):
        """Standard output and standard error. No MODEL is named: the program finds it."""
        done = subprocess.run([SLUICE, *map(str, arguments)], input=stdin, text=True, capture_output=True,
                              timeout=200)
        self.assertEqual(done.returncode, 0, f'{arguments}: {done.stderr}')
        return done.stdout, done.stderr


class Chat(NanoTest):
    def test_an_answer_and_its_reasoning_lie_apart(self):
        out, err = self.sluice('run', '--chat', '--quiet', '--prompt', FRANCE)
        self.assertEqual(out, 'The capital of France is Paris.\n')
        self.assertIn('The user asks for the capital of France.', err)

    def test_every_effort_answers(self):
        for effort in ('low', 'high', 'max', 'none'):
            out, err = self.sluice('run', '--chat', '--quiet', '--effort', effort, '--prompt', FRANCE)
            self.assertEqual(out, 'The capital of France is Paris.\n', effort)
            self.assertEqual('The user' in err, effort != 'none')

    def test_a_conversation_in_a_pipe(self):
        out, _ = self.sluice('chat', '--quiet', stdin=f'{FRANCE}\nWhat is 2 plus 3?\n')
        self.assertIn('Paris', out)
        self.assertIn('5', out)


class Raw(NanoTest):
    PROMPT = ('run', '--quiet', '--max-new', '40', '--prompt', 'She looked at the sea and')

    def test_it_continues_in_words_whatever_the_machine_does(self):
        text, _ = self.sluice(*self.PROMPT)
        words = text.split()
        self.assertGreater(len(words), 15)
        self.assertGreater(sum(word.strip('.,;:"\'-').isalpha() for word in words), len(words) * 0.8)
        for options in (['--threads', '1'], ['--prefill-chunk', '1'], ['--memory', '60MiB'], ['--target', 'scalar']):
            self.assertEqual(self.sluice(*self.PROMPT, *options)[0], text, options)

    def test_a_saved_state_goes_on_with_the_same_words(self):
        state = self.folder / 'state'
        whole = self.sluice('run', '--quiet', '--print-ids', '--max-new', '24', '--prompt', 'It was')[0].split(',')
        first = self.sluice('run', '--quiet', '--print-ids', '--max-new', '11', '--prompt', 'It was',
                            '--save-state', state)[0].split(',')
        rest = self.sluice('run', '--quiet', '--print-ids', '--max-new', '12', '--load-state', state,
                           '--prompt-ids', whole[11].strip())[0].split(',')
        ids = [int(i) for i in first + [whole[11]] + rest]
        self.assertEqual(ids, [int(i) for i in whole])


class Golden(NanoTest):
    def test_the_answers_are_those_of_pytorch(self):
        entries = [json.loads(line) for line in (HERE / 'golden.jsonl').read_text().splitlines()]
        self.assertEqual(len(entries), 50)
        for entry in entries:
            out, _ = self.sluice('run', '--quiet', '--print-ids', '--max-new', len(entry['answer']),
                                 '--prompt-ids', ','.join(map(str, entry['prompt'])))
            self.assertEqual([int(i) for i in out.split(',')], entry['answer'])


class Quality(NanoTest):
    def test_prose_it_never_saw(self):
        trace = self.folder / 'routes'
        out, _ = self.sluice('eval', '--json', '--quiet', '--text', HERE / 'prose.txt',
                             '--stride', '511', '--routes', trace)
        self.assertLess(json.loads(out)['bits_per_byte'], 1.75)
        report = json.loads(self.sluice('routes', trace, '--json')[0])
        self.assertEqual(report['overall']['experts_unused'], 0)
        for layer in report['by_layer']:
            self.assertLess(layer['top_share'], 0.25)

    def test_questions_in_words_it_never_saw(self):
        out, _ = self.sluice('eval', '--json', '--quiet', '--questions', HERE / 'questions.jsonl')
        score = json.loads(out)
        self.assertGreaterEqual(score['right'] / score['questions'], 0.85, out)


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])

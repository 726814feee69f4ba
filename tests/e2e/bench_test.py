"""Drives sluice bench: python3 bench_test.py PATH_OF_SLUICE [CLASS...]

Without these tests a benchmark could compare answers that differ, or print figures that its turns do not have.
"""

import json
import re
import shutil
import signal
import statistics
import subprocess
import sys
import unittest
import xml.etree.ElementTree

from sluice_test import SLUICE, SluiceTest

SHORT = ('--prompt-tokens', '5', '--tokens', '3', '--turns', '1', '--quiet')


class Bench(SluiceTest):
    def report(self, *options):
        return json.loads(self.ok('bench', self.model, *SHORT, '--json', *options))

    def test_two_arms_have_what_their_turns_have(self):
        report = self.report('--arm', 'base=', '--arm', 'one=--threads 1 --io pread --hints off', '--turns', '2',
                             '--contexts', '0,9')
        self.assertEqual([arm['name'] for arm in report['arms']], ['base', 'one'])
        self.assertEqual(report['arms'][1]['threads'], 1)
        self.assertIn('pread', report['arms'][1]['read_method'])
        self.assertTrue(report['finished'])
        base = report['arms'][0]['points']
        for arm in report['arms']:
            self.assertEqual([(p['phase'], p['context'], p['tokens']) for p in arm['points']],
                             [('prefill', 0, 5), ('decode', 0, 3), ('decode', 9, 3)])
            self.assertEqual([p['first_token_seconds'] is None for p in arm['points']], [False, True, True])
            for point, first in zip(arm['points'], base):
                self.check_point(point, first)

    def check_point(self, point, base):
        self.assertEqual(len(point['turns']), 2)
        for name in ('tokens_per_second', 'bytes_read_per_token', 'memory_ceiling_share', 'drives_ceiling_share'):
            values = [turn[name] for turn in point['turns']]
            self.assertEqual(point[name], {'median': statistics.median(values), 'min': min(values),
                                           'max': max(values)})
        ratios = [mine['tokens_per_second'] / theirs['tokens_per_second']
                  for mine, theirs in zip(point['turns'], base['turns'])]
        self.assertAlmostEqual(point['speed_ratio']['median'], statistics.median(ratios))
        for turn in point['turns']:
            self.assertEqual(turn['tokens'], point['tokens'])
            self.assertAlmostEqual(turn['tokens_per_second'] * turn['seconds'], turn['tokens'])
            self.assertAlmostEqual(turn['weight_bytes_per_second'] / turn['memory_ceiling_bytes_per_second'],
                                   turn['memory_ceiling_share'])
            self.assertAlmostEqual(turn['bytes_read_per_token'] * turn['tokens'], turn['device_bytes'])
            self.assertGreater(turn['drives_ceiling_bytes_per_second'], 0)

    def test_a_cold_turn_reads_what_a_warm_one_has(self):
        warm, cold = ([point['bytes_read_per_token']['median'] for point in self.report(*options)['arms'][0]['points']]
                      for options in ((), ('--cold',)))
        self.assertEqual(warm[0], 0)
        for phase in range(2):
            self.assertGreater(cold[phase], warm[phase])

    def test_it_says_where_and_what_was_measured(self):
        report = self.report('--arm', 'a b=--threads 1')
        self.assertIn("--arm 'a b=--threads 1'", report['command'])
        self.assertRegex(report['time'], r'^2\d{3}-\d\d-\d\dT[\d:]{8}Z$')
        self.assertRegex(report['version'], r'^\d+\.\d+')
        self.assertIn('commit', report)
        self.assertTrue(report['machine']['processor'] and report['machine']['system'])
        self.assertGreater(report['machine']['processors'], 0)
        self.assertRegex(report['fingerprint'], '^[0-9a-f]{16}$')

    def test_the_table_and_the_files(self):
        files = self.folder / 'bench.json', self.folder / 'bench.svg'
        text = self.ok('bench', self.model, *SHORT, '--arm', 'x=', '--arm', 'y=--threads 1', '--output', files[0],
                       '--svg', files[1])
        for words in ('prefill of 5 tokens, warm', 'decode of 3 tokens at a context of 0, warm', 'tokens/s', 'of x',
                      'GB/token', 'of drives', 'of memory', 'same tokens'):
            self.assertIn(words, text)
        self.assertEqual(len([line for line in text.splitlines() if line.startswith('  y  ')]), 2)
        self.assertEqual([arm['name'] for arm in json.loads(files[0].read_text())['arms']], ['x', 'y'])
        self.assertTrue(xml.etree.ElementTree.parse(files[1]).getroot().tag.endswith('svg'))

    def test_another_answer_ends_it(self):
        says = ('arm "wrong"', 'prefill of 5 tokens in turn 1', 'token 1', 'arm "base"')
        self.fails(4, 'bench', self.model, *SHORT, '--arm', 'base=', '--arm', 'wrong=--mla-norm-eps 0.5', says=says)

    def test_another_model_is_refused(self):
        other = self.folder / 'other'
        self.ok('synth', '--shape', 'tiny', '--seed', '2', '--to', other, '--quiet')
        self.fails(2, 'bench', self.model, *SHORT, '--arm', 'base=', '--arm', f'other={other}',
                   says=('arm "other"', 'another model'))
        copy = self.folder / 'copy'
        shutil.copytree(self.model, copy)
        self.ok('bench', self.model, *SHORT, '--arm', 'base=', '--arm', f'copy={copy}')

    def test_a_model_without_tokenizer_runs_ids(self):
        model = self.folder / 'plain'
        shutil.copytree(self.model, model)
        (model / 'tiktoken.model').unlink()
        self.assertIn('ids that are built in', self.ok('bench', model, *SHORT))
        self.fails(3, 'bench', model, *SHORT, '--prompt', 'x', says=('tiktoken.model', '--prompt-ids'))

    def test_mistakes_are_named_before_anything_is_measured(self):
        for code, options, says in (
                (2, ('--arm', 'a=--thread 2'), ('arm "a"', '--thread', 'did you mean --threads?')),
                (2, ('--arm', 'a=', '--arm', 'a='), ('two with the name "a"',)),
                (2, ('--arm', 'a'), ('NAME=FLAGS',)),
                (2, ('--contexts', '1048570', '--tokens', '100'), ('context', 'longer than this model')),
                (2, ('--contexts', '1,x'), ('--contexts: "x"',)),
                (2, ('--context', '4'), ('--context is 4',)),
                (2, ('--prompt-tokens', '0', '--tokens', '0'), ('nothing to measure',)),
                (2, ('--prompt-ids', '1', '--prompt', 'x'), ('at most one',)),
                (2, ('--prompt-ids', '99999'), ('99999', 'vocabulary')),
                (6, ('--arm', 'a=', '--arm', 'small=--memory 1MiB'), ('arm "small"', '--memory')),
        ):
            with self.subTest(options):
                self.fails(code, 'bench', self.model, *SHORT, *options, says=says)

    def test_ctrl_c_prints_what_there_is(self):
        process = subprocess.Popen([SLUICE, 'bench', self.model, '--prompt-tokens', '5', '--tokens', '3', '--turns',
                                    '1000', '--json'], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not re.match('turn ([2-9]|1[0-9])', process.stderr.readline()):
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 130)
        report = json.loads(out)
        self.assertFalse(report['finished'])
        self.assertGreaterEqual(len(report['arms'][0]['points'][0]['turns']), 1)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])

"""Drives simulate as a user does: python3 simulate_test.py PATH_OF_SLUICE [CLASS...]

Without these tests a prediction could leave fields out, or answer another question than the one that was asked.
"""

import json
import sys
import unittest

from sluice_test import SLUICE, SluiceTest

COMPUTING = ('--computing', 'bf16=20GB/s,mxfp4=13GB/s')
SLOW = ('--drive', 'inner=20MB/s,latency=80us,spread=0us')


class Simulate(SluiceTest):
    def simulate(self, *arguments):
        """The report of a simulation of the tiny model."""
        out = self.ok('simulate', self.model, '--memory', '28MiB', '--quiet', '--json', '--seeds', '2', *COMPUTING,
                      *arguments)
        return json.loads(out)

    def test_the_same_question_has_the_same_answer(self):
        first, again = self.simulate(*SLOW), self.simulate(*SLOW)
        self.assertEqual(first, again)
        case = first['cases'][0]
        parts = case['waiting_ms_per_token'] + case['computing_ms_per_token']
        self.assertAlmostEqual(1e3 / case['tokens_per_second'], parts, delta=0.05 * parts)
        self.assertLessEqual(case['tokens_per_second'], case['bounds_tokens_per_second']['overlapped'] * 1.01)
        self.assertGreater(case['bytes_per_token'], 0)
        self.assertGreater(case['drives'][0]['busy_share'], 0.3)
        self.assertIn(case['limit'], ('drives', 'both', 'computing'))

    def test_a_further_drive_is_shown_beside_those_that_are_there(self):
        report = self.simulate(*SLOW, '--what-if', 'outer=20MB/s')
        before, after = report['cases']
        self.assertEqual((before['name'], after['name']), ('inner', 'inner + outer'))
        self.assertGreater(after['tokens_per_second'], 1.2 * before['tokens_per_second'])
        self.assertLess(after['drives'][0]['bytes_per_token'], 0.8 * before['drives'][0]['bytes_per_token'])
        compared = self.simulate(*SLOW, '--drive', 'outer=20MB/s', '--compare')
        self.assertEqual(compared['cases'], report['cases'])

    def test_people_get_a_table_and_what_limits_it_and_a_chart(self):
        chart = self.folder / 'chart.svg'
        text = self.ok('simulate', self.model, '--memory', '28MiB', *COMPUTING, *SLOW, '--svg', chart, '--seeds', '1')
        for word in ('tokens/s', 'inner', 'Drives alone would give', 'limit', 'experts'):
            self.assertIn(word, text)
        self.assertIn('<svg', chart.read_text())
        hypothetical = self.ok('simulate', self.model, '--memory', '64MiB', *COMPUTING, *SLOW, '--seeds', '1',
                               '--spine-bytes-per-weight', '1')
        self.assertIn('Hypothetical', hypothetical)

    def test_k3_needs_nothing_here(self):
        report = json.loads(self.ok('simulate', '--layers', '3', '--experts', '16', '--memory', '16GiB', *COMPUTING,
                                    '--drive', 'a=7GB/s', '--tokens', '4', '--prompt-tokens', '2', '--seeds', '1',
                                    '--json', '--quiet'))
        self.assertEqual(report['expert_bytes'], 2 * 16 * 17547264)

    def test_routes_of_a_run_decide_what_is_read(self):
        routes = self.folder / 'run.routes'
        self.ids('--prompt-ids', '3,1,4', '--max-new', '9', '--ignore-eos', '--routes', routes)
        self.assertIn('11 tokens', self.ok('routes', routes).lower())
        report = self.simulate(*SLOW, '--routes', routes, '--prompt-tokens', '3', '--tokens', '8')
        self.assertEqual(report['routes'], str(routes))
        self.fails(2, 'simulate', '--layers', '3', '--experts', '16', *SLOW, *COMPUTING, '--routes', routes, '--quiet',
                   says=['the routes are of a model with'])

    def test_packs_are_read_as_they_lie(self):
        packed = self.folder / 'packed'
        packed.mkdir()
        for name in ('a', 'b'):
            (self.folder / name).mkdir()
        self.ok('pack', self.model, '--model', packed, '--to', f'a={self.folder / "a"}', '--to',
                f'b={self.folder / "b"}', '--rate', 'a=300', '--rate', 'b=100', '--quiet')
        report = json.loads(self.ok('simulate', packed, '--as-stored', '--memory', '28MiB', *COMPUTING, '--drive',
                                    'b=10MB/s', '--drive', 'a=30MB/s', '--json', '--quiet'))
        b, a = report['cases'][0]['drives']
        self.assertAlmostEqual(a['bytes_per_token'] / b['bytes_per_token'], 3, delta=0.6)
        self.fails(2, 'simulate', packed, '--as-stored', *COMPUTING, '--drive', 'a=1GB/s', '--quiet',
                   says=['no drive for the volume b', '--drive b='])


class Refusals(SluiceTest):
    def test_name_the_option_and_the_remedy(self):
        for arguments, says in (
                ((), ['--drive is missing', '--drive inner=7.1GB/s']),
                (('--drive', 'fast'), ['NAME=RATE']),
                (('--drive', 'a=0'), ['is no rate']),
                (('--drive', 'a=1GB/s,speed=2'), ['"speed=2" is none of', 'latency=']),
                (('--drive', 'a=1GB/s,latency=5'), ['latency=', 'is no time']),
                (('--drive', 'a=1GB/s,stall=2:5ms'), ['is not between 0 and 1']),
                (('--drive', 'a=1', '--drive', 'a=2'), ['two drives called a']),
                (('--drive', 'a=1', '--computing', 'bf16=20'), ['mxfp4=']),
                (('--drive', 'a=1', '--what-if', 'b=1', '--compare'), ['give one']),
                (('--drive', 'a=1', '--as-stored', '--survive', '1'), ['--as-stored']),
                (('--drive', 'a=1', '--layers', '4'), ['--layers and --experts are for K3']),
                (('--drive', 'a=1,room=1MB', *COMPUTING), ['lack room', 'room=']),
                (('--drive', 'a=1', '--survive', '1', *COMPUTING), ['to survive the loss of 1', '--survive'])):
            self.fails(2, 'simulate', self.model, '--quiet', *arguments, says=says)


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])

"""What is said of drives that misbehave: python3 report_test.py SLUICE FUSE_DRIVE READ_FAULTS [CLASS...]

Without these tests the drive that made a run slow could go unnamed, or the totals be those of another run.
"""

import json
import sys
import unittest

from fault_test import PROMPT, DriveTest, by_each_method

# A run of some seconds in which most experts are read again for each token, the trace included.
RUN = ('--memory', '56MiB', '--context', '128', '--quiet', '--ignore-eos', '--max-new', '48', '--json', '--stats')
RATE = 60_000_000


class Report(DriveTest):
    def setUp(self):
        super().setUp()
        self.drives = [self.drive(rate=RATE) for _ in range(3)]
        first, *others = (drive.path for drive in self.drives)
        self.model = (first, *(word for path in others for word in ('--volume', path)))
        self.trace = self.folder / 'trace.slrd'

    def traced_run(self, *options) -> dict:
        """The report of `sluice run`."""
        done = self.sluice('run', *self.model, *RUN, *PROMPT, '--read-trace', self.trace, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def report(self, *options) -> str:
        done = self.sluice('report', self.trace, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    @by_each_method
    def test_the_first_line_names_who_throttled_and_who_stalled(self, *options):
        before = [drive.status().reads for drive in self.drives]
        ids = self.traced_run(*options)['ids']
        _, throttled, stalling = self.drives
        of_a_run = [drive.status().reads - reads for drive, reads in zip(self.drives, before)]
        throttled.tell('after', of_a_run[1] // 4, f'rate {RATE * 3 // 10}')
        for part in (0.3, 0.6):
            stalling.tell('after', int(of_a_run[2] * part), 'stall 700')
        run = self.traced_run(*options)
        self.assertEqual(run['ids'], ids)
        line = self.report().splitlines()[0]
        # A busy machine may let the third one stall too.
        self.assertRegex(line, rf'^Look at .*{throttled.path} \(throttled: .*{stalling.path} \(stalled: ')
        self.check_totals(run['stats'])
        throttled.tell('rate', RATE)

    def check_totals(self, stats) -> None:
        """The sums of the trace are what the engine counted, and told of its phases."""
        report = json.loads(self.report('--json'))
        counters = report['counters']
        self.assertEqual(round(1e9 * report['waiting_seconds']), counters['waiting_ns'])
        self.assertEqual(sum(sum(drive['bytes'].values()) for drive in report['drives']), counters['device_bytes'])
        self.assertEqual(sum(drive['wasted_bytes'] for drive in report['drives']), counters['hint_bytes_wasted'])
        self.assertEqual(sum(layer['missed_bytes'] for layer in report['layers']), counters['expert_bytes_missed'])
        phases = (stats['prefill'], stats['decode'])
        for name in ('expert_hits', 'expert_misses', 'expert_bytes_missed'):
            self.assertEqual(counters[name], sum(phase[name] for phase in phases))
        self.assertAlmostEqual(report['waiting_seconds'], sum(phase['waiting_seconds'] for phase in phases), 8)


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])

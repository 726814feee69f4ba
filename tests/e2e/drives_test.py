"""Drives the commands about drives: python3 drives_test.py PATH_OF_SLUICE PATH_OF_FUSE_DRIVE [CLASS...]

Without these tests the speed of memory could be sold as that of a drive, and a slow drive as a good one.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from sluice_test import SLUICE, SluiceTest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'faults'))
from drives import FuseDrive, ever, why_no_fuse  # noqa: E402

FUSE_DRIVE = sys.argv[2] if len(sys.argv) > 2 else ''
QUICK = ('--sizes', '64KiB,1MiB', '--depths', '1,4', '--seconds', '0.06', '--quiet')
NO_DRIVES = why_no_fuse(FUSE_DRIVE)


class DrivesList(SluiceTest):
    def test_shows_the_place_of_a_file(self):
        drives = json.loads(self.ok('drives', 'list', self.model, '--json'))['drives']
        self.assertEqual([drive['paths'] for drive in drives], [[str(self.model)]])
        drive = drives[0]
        space = os.statvfs(self.model)
        self.assertEqual(drive['total_bytes'], space.f_blocks * space.f_frsize)
        self.assertTrue(str(self.model).startswith(drive['mounted_at']))
        if drive['device']:
            self.assertGreaterEqual(drive['device']['bytes'], drive['total_bytes'])
            self.assertTrue(drive['disks'])

    def test_two_folders_of_one_drive_are_one(self):
        other = self.folder / 'other'
        other.mkdir()
        drives = json.loads(self.ok('drives', 'list', self.model, other, '--json'))['drives']
        self.assertEqual([drive['paths'] for drive in drives], [[str(self.model), str(other)]])
        self.assertIn('rates do not add up', self.ok('drives', 'list', self.model, other))

    def test_shows_all_without_paths(self):
        report = json.loads(self.ok('drives', 'list', '--json'))
        points = [drive['mounted_at'] for drive in report['drives']]
        self.assertIn('/', points)
        self.assertEqual(len(points), len(set(points)))
        self.assertNotIn('/proc', points)
        self.assertIn('mounted at', self.ok('drives', 'list'))

    def test_shows_the_volumes_of_a_model(self):
        volume = Path(tempfile.mkdtemp(dir=self.folder))
        model = self.folder / 'packed'
        self.ok('synth', '--shape', 'tiny', '--to', model, '--quiet')
        self.ok('pack', model, '--to', f'fast={volume}', '--quiet')
        drives = json.loads(self.ok('drives', 'list', model, '--json'))['drives']
        self.assertIn(str(volume), [path for drive in drives for path in drive['paths']])

    def test_names_what_is_not_there(self):
        self.fails(3, 'drives', 'list', self.folder / 'none', says=['none'])


class DrivesRefusals(SluiceTest):
    def setUp(self):
        self.file = self.folder / 'data'
        self.file.write_bytes(os.urandom(8 << 20))

    def needs_direct_reads(self):
        drive = json.loads(self.ok('drives', 'list', self.file, '--json'))['drives'][0]
        if not (drive['direct_reads'] or {}).get('allowed') or drive['no_drive_because']:
            self.skipTest('the folder for temporary files has no direct reads')

    def test_a_file_in_the_page_cache_gets_no_figures(self):
        self.needs_direct_reads()
        self.file.read_bytes()
        self.fails(7, 'drives', 'bench', self.file, *QUICK, says=['page cache', '--drop-cache', 'data'])
        done = self.run_sluice('drives', 'bench', self.file, *QUICK, '--json')
        self.assertEqual(done.returncode, 7)
        drive = json.loads(done.stdout)['drives'][0]
        self.assertEqual(set(drive), {'paths', 'refused'})
        self.assertIn('page cache', drive['refused'])
        self.fails(7, 'drives', 'compare', self.file, '--against', self.folder, '--file-size', '8MiB', '--quiet',
                   says=['page cache'])
        report = json.loads(self.ok('drives', 'bench', self.file, *QUICK, '--drop-cache', '--json'))
        self.assertGreater(report['drives'][0]['ceiling_bytes_per_second'], 0)

    def test_a_file_with_holes_gets_no_figures(self):
        self.needs_direct_reads()
        os.truncate(self.file, 16 << 20)
        self.fails(7, 'drives', 'bench', self.file, *QUICK, '--drop-cache', says=['never written'])

    @unittest.skipUnless(Path('/dev/shm').is_dir(), 'no file system in memory here')
    def test_memory_gets_no_figures(self):
        with tempfile.TemporaryDirectory(dir='/dev/shm') as folder:
            self.fails(7, 'drives', 'bench', folder, *QUICK, says=['is memory', folder])
            self.fails(7, 'drives', 'bench', folder, *QUICK, '--io', 'pread', says=['is memory'])

    def test_mistakes_are_named(self):
        self.fails(2, 'drives', 'bench', says=['PATH'])
        self.fails(3, 'drives', 'bench', self.folder / 'none', says=['none'])
        self.fails(2, 'drives', 'bench', self.file, '--sizes', '1000', says=['--sizes', '4096'])
        self.fails(2, 'drives', 'bench', self.file, '--sizes', '1GiB', '--depths', '16', says=['--depths'])
        self.fails(2, 'drives', 'compare', self.file, says=['--against'])
        self.fails(2, 'drives', 'watch', self.file, '--trace', self.file, says=['--trace'])


class DrivesBench(SluiceTest):
    def test_a_folder_is_measured_and_left_as_it_was(self):
        place = Path(tempfile.mkdtemp(dir=self.folder))
        chart = self.folder / 'chart.svg'
        done = self.run_sluice('drives', 'bench', place, *QUICK, '--file-size', '16MiB', '--json', '--svg', chart)
        if done.returncode == 7:
            self.skipTest(json.loads(done.stdout)['drives'][0]['refused'])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(place.iterdir()), [])
        drive = json.loads(done.stdout)['drives'][0]
        self.assertEqual([(cell['read_bytes'], cell['depth']) for cell in drive['sweep']],
                         [(65536, 1), (65536, 4), (1 << 20, 1), (1 << 20, 4)])
        for cell in drive['sweep']:
            self.assertLessEqual(cell['p50_ms'], cell['p90_ms'])
            self.assertLessEqual(cell['p90_ms'], cell['p99_ms'])
            self.assertGreater(cell['reads'], 0)
        self.assertEqual(drive['ceiling_bytes_per_second'], max(cell['bytes_per_second'] for cell in drive['sweep']))
        self.assertGreater(drive['write_bytes_per_second'], 0)
        self.assertIn('<svg', chart.read_text())


@unittest.skipIf(NO_DRIVES, NO_DRIVES)
class DrivesEmulated(SluiceTest):
    """A drive of 100 MB/s, one of four times that, and another such."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        content = cls.folder / 'content'
        content.mkdir()
        (content / 'data').write_bytes(os.urandom(16 << 20))
        cls.files = {}
        for name, rate in (('slow', 100_000_000), ('fast', 400_000_000), ('other', 400_000_000)):
            point = cls.folder / name
            point.mkdir()
            drive = FuseDrive(FUSE_DRIVE, content, point, rate)
            cls.addClassCleanup(drive.close)
            cls.files[name] = point / 'data'

    def bench(self, *names, quick=QUICK):
        return json.loads(self.ok('drives', 'bench', *(self.files[name] for name in names), *quick, '--json'))

    def test_list_shows_them_as_what_they_are(self):
        drives = json.loads(self.ok('drives', 'list', self.files['slow'], '--json'))['drives']
        self.assertEqual((drives[0]['bus'], drives[0]['device'], drives[0]['read_only']), ('fuse', None, True))

    def test_drives_are_told_apart_alone_and_together(self):
        def told_apart(io):
            report = self.bench('slow', 'fast', quick=(*QUICK, '--io', io))
            slow, fast = report['drives']
            together = report['together']
            self.assertEqual(together['bytes_per_second'],
                             sum(drive['bytes_per_second'] for drive in together['drives']))
            self.assertEqual(together['sum_of_ceilings_bytes_per_second'],
                             slow['ceiling_bytes_per_second'] + fast['ceiling_bytes_per_second'])
            return (2 * slow['ceiling_bytes_per_second'] < fast['ceiling_bytes_per_second'] and
                    together['drives'][0]['bytes_per_second'] < together['drives'][1]['bytes_per_second'])

        for io in ('auto', 'pread'):
            self.assertTrue(ever(lambda: told_apart(io)), io)

    def test_one_that_is_refused_leaves_the_others_their_figures(self):
        cached = self.folder / 'cached'
        cached.write_bytes(os.urandom(4 << 20))
        done = self.run_sluice('drives', 'bench', self.files['fast'], cached, *QUICK, '--json')
        self.assertEqual(done.returncode, 7, done.stderr)
        fast, refused = json.loads(done.stdout)['drives']
        self.assertGreater(fast['ceiling_bytes_per_second'], 0)
        self.assertIn('refused', refused)

    def compare(self, path, against):
        out = self.ok('drives', 'compare', self.files[path], '--against', self.files[against], '--reads', 6,
                      '--seconds', 0.2, '--quiet', '--json')
        return json.loads(out)

    def test_a_drive_of_a_quarter_is_too_slow(self):
        def slow_is_too_slow():
            report = self.compare('slow', 'fast')
            self.assertEqual([latency['read_bytes'] for latency in report['latencies']], [256 << 10, 8 << 20])
            return report['verdict'] == 'too slow' and 'last' in report['verdict_text']

        self.assertTrue(ever(slow_is_too_slow))
        self.assertTrue(ever(lambda: self.compare('fast', 'slow')['verdict'] == 'as good'))


class DrivesWatch(SluiceTest):
    def views(self, *arguments):
        return [json.loads(line) for line in self.ok('drives', 'watch', *arguments, '--json').splitlines()]

    def trace(self):
        path = self.folder / 'run.slrd'
        self.ok('run', self.model, '--prompt-ids', '3,1,4,1,5', '--max-new', '6', '--ignore-eos', '--read-trace', path)
        return path

    def test_the_system_is_shown_as_often_as_asked(self):
        drives = json.loads(self.ok('drives', 'list', self.model, '--json'))['drives']
        if not drives[0]['disks']:
            self.fails(7, 'drives', 'watch', self.model, '--count', 1, says=['--trace'])
            return
        views = self.views(self.model, '--count', 2, '--interval', '0.05')
        self.assertEqual(len(views), 2)
        for view in views:
            self.assertEqual([drive['name'] for drive in view['drives']], drives[0]['disks'])
            for drive in view['drives']:
                self.assertTrue(0 <= drive['busy_share'] <= 1)
                self.assertGreaterEqual(drive['bytes_per_second'], 0)

    def test_a_trace_is_shown_whole(self):
        trace = self.trace()
        views = self.views('--trace', trace, '--interval', '0.01')
        drives = json.loads(self.ok('report', trace, '--json'))['drives']
        for d, drive in enumerate(drives):
            seen = sum(view['drives'][d]['bytes_per_second'] * view['seconds'] for view in views)
            self.assertAlmostEqual(seen, sum(drive['bytes'].values()), delta=1)
        self.assertEqual(len(self.views('--trace', trace, '--interval', '0.01', '--count', 1)), 1)

    def test_a_trace_that_grows_is_followed_to_its_end(self):
        growing = self.cut_trace()
        watch = subprocess.Popen([SLUICE, 'drives', 'watch', '--trace', growing, '--interval', '0.001', '--json'],
                                 stdout=subprocess.PIPE, text=True)
        first = watch.stdout.readline()  # It has begun to show what is there.
        whole_trace = self.folder / 'run.slrd'
        with growing.open('ab') as file:
            file.write(whole_trace.read_bytes()[-1:])
        rest = watch.stdout.read()  # Not communicate(), which forgets what readline() has read ahead.
        watch.stdout.close()
        self.assertEqual(watch.wait(timeout=60), 0)
        whole = self.ok('drives', 'watch', '--trace', whole_trace, '--interval', '0.001', '--json')
        self.assertEqual(first + rest, whole)

    def test_ctrl_c_ends_the_view(self):
        watch = subprocess.Popen([SLUICE, 'drives', 'watch', '--trace', self.cut_trace(), '--interval', '0.001',
                                  '--json'], stdout=subprocess.PIPE, text=True)
        self.assertTrue(watch.stdout.readline())
        watch.send_signal(2)
        watch.communicate(timeout=60)
        self.assertEqual(watch.returncode, 0)

    def cut_trace(self):
        """One whose run seems to go on: the last byte is missing."""
        data = self.trace().read_bytes()
        cut = self.folder / 'cut.slrd'
        cut.write_bytes(data[:-1])
        return cut


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])

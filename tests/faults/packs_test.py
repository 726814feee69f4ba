"""Drives with packs that fail: python3 packs_test.py SLUICE FUSE_DRIVE READ_FAULTS [CLASS...]

Without these tests a wrong byte might pass, or a volume that is lost take more with it than it had.
"""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

from drives import FOR_GOOD, FuseDrive
from fault_test import ANSWER, EVERYWHERE, MODEL, OPTIONS, PROMPT, DriveTest, by_each_method

EXIT_NOT_FOUND = 3
LOST_PIECE = [r'model-000\d\d-of-000012\.slpack', r'(expert \d+ of layer \d+|tensor \S+)']


class PackTest(DriveTest):
    """The model in packs on two equal drives, with one or two copies of each piece."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix='sluice-packs-')
        cls.addClassCleanup(folder.cleanup)
        cls.packed = Path(folder.name)
        for copies in (1, 2):
            model, first, second = (cls.packed / str(copies) / name for name in ('model', 'first', 'second'))
            for path in (model, first, second):
                path.mkdir(parents=True)
            done = cls.sluice('pack', MODEL, '--model', model, '--to', f'first={first}', '--to', f'second={second}',
                              '--rate', 'first=100', '--rate', 'second=100', '--copies', copies, '--quiet')
            assert done.returncode == 0, done.stderr

    def drives(self, copies: int) -> tuple[FuseDrive, tuple]:
        """The drive that shall fail, and how the model is named."""
        folder = self.packed / str(copies)
        drive, other = (self.drive(folder / name) for name in ('first', 'second'))
        return drive, (folder / 'model', '--volume', drive.path, '--volume', other.path)


class WrongBytes(PackTest):
    @by_each_method
    def test_once_are_read_again(self, *options):
        for copies in (1, 2):
            drive, model = self.drives(copies)
            self.soon(drive, f'flip {EVERYWHERE} 1', model, *options)
            self.answers(*model, *options)
            self.assertEqual(drive.status().faulty, 1)

    @by_each_method
    def test_for_good_end_the_run(self, *options):
        drive, model = self.drives(copies=1)
        self.soon(drive, f'flip {EVERYWHERE} {FOR_GOOD}', model, *options)
        self.fails(*model, *options, says=[*LOST_PIECE, 'checksum'])

    @by_each_method
    def test_for_good_are_read_from_the_other_copy(self, *options):
        drive, model = self.drives(copies=2)
        self.soon(drive, f'flip {EVERYWHERE} {FOR_GOOD}', model, *options)
        self.answers(*model, *options)
        self.assertGreater(drive.status().faulty, 0)


class LostVolume(PackTest):
    @by_each_method
    def test_ends_the_run_and_serves_the_next_when_it_is_back(self, *options):
        drive, model = self.drives(copies=1)
        self.soon(drive, 'gone', model, *options)
        self.fails(*model, *options, says=[*LOST_PIECE, 'No such device'])
        drive.tell('back')
        self.answers(*model, *options)

    @by_each_method
    def test_is_made_up_for_by_the_other_copy(self, *options):
        drive, model = self.drives(copies=2)
        self.soon(drive, 'gone', model, *options)
        self.answers(*model, *options)

    def test_is_named_when_the_program_starts_without_it(self):
        for copies, code in ((1, EXIT_NOT_FOUND), (2, 0)):
            with self.subTest(copies=copies):
                model = self.packed / str(copies) / 'model'
                manifest = json.loads((model / 'sluice-manifest.json').read_text())
                (first,) = (v for v in manifest['volumes'] if v['label'] == 'first')
                away = f'{first["folder"]}-away'
                os.rename(first['folder'], away)
                self.addCleanup(os.rename, away, first['folder'])
                done = self.sluice('run', model, *OPTIONS[:-1], *PROMPT)
                self.assertEqual((done.returncode, done.stdout), (code, '' if code else ANSWER), done.stderr)
                for word in (first['id'], 'first', first['folder']):
                    self.assertIn(word, done.stderr)
                if code:
                    self.assertIn('--volume', done.stderr)


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])

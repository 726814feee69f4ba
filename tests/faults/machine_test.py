"""What a machine may do besides: python3 machine_test.py SLUICE FUSE_DRIVE READ_FAULTS [CLASS...]

Without these tests unusual but valid settings of the system (few open files, a read-only file system, drives
with sectors of 4 KiB) would first be met by users, and failing reads be untested where no drive can be emulated.
"""

import os
import resource
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from fault_test import MODEL, READ_FAULTS, FaultTest, by_each_method, no_root

SHARD = 'model-00006-of-000012.safetensors'


class Preload(FaultTest):
    """Failures of pread() in the program itself, without a drive."""

    def with_fault(self, fault, first, times) -> dict:
        """Settings for a run in which calls on one shard fail. Its first two read the header."""
        return {'env': {**os.environ, 'LD_PRELOAD': READ_FAULTS, 'ASAN_OPTIONS': 'verify_asan_link_order=0',
                        'SLUICE_READ_FAULTS': f'{SHARD} {fault} {first} {times}'}}

    def test_one_failure_is_overcome(self):
        for fault in ('error', 'empty', 'short', 'delay'):
            with self.subTest(fault=fault):
                self.answers(MODEL, '--io', 'pread', **self.with_fault(fault, 40, 1))

    def test_short_reads_for_good_are_too(self):
        self.answers(MODEL, '--io', 'pread', **self.with_fault('short', 1, 1 << 40))

    def test_failures_for_good_end_the_run(self):
        for fault, words in (('error', 'Input/output error'), ('empty', 'the file ends before')):
            with self.subTest(fault=fault):
                self.fails(MODEL, '--io', 'pread', says=[SHARD, words, 'layer'],
                           **self.with_fault(fault, 40, 1 << 40))


class FewFiles(FaultTest):
    @staticmethod
    def at_most(files, hard) -> dict:
        """Settings for a process that may open so many files."""
        return {'preexec_fn': lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))}

    @by_each_method
    def test_256_of_them_are_plenty_for_this_model(self, *options):
        self.answers(MODEL, *options, **self.at_most(256, 256))

    @by_each_method
    def test_a_soft_limit_is_raised(self, *options):
        self.answers(MODEL, *options, **self.at_most(12, 256))

    @by_each_method
    def test_too_few_end_the_run_with_the_remedy(self, *options):
        self.fails(MODEL, *options, says=['may open 12', 'ulimit -n'], **self.at_most(12, 12))


@unittest.skipIf(no_root, no_root)
class FileSystems(FaultTest):
    def command(self, *words) -> str:
        """What a system command prints; the test is skipped when it fails."""
        done = subprocess.run([str(word) for word in words], text=True, capture_output=True)
        if done.returncode != 0:
            self.skipTest(f'{words[0]}: {done.stderr.strip()}')
        return done.stdout.strip()

    def mount(self, *words) -> Path:
        point = self.new_folder()
        self.command('mount', *words, point)
        # Not when the last user is gone: the kernel ends a ring of io_uring after its process.
        self.addCleanup(subprocess.run, ['umount', '--lazy', point], check=True)
        return point

    @by_each_method
    def test_a_read_only_one_serves(self, *options):
        point = self.mount('--bind', '-o', 'ro', MODEL)
        with self.assertRaises(OSError):
            (point / 'new').touch()
        self.answers(point, *options)

    def model_on_device(self, sector_bytes: int) -> Path:
        """A copy of the model in an ext4 on a loop device, which refuses direct reads that are not aligned."""
        image = self.folder / 'image'
        with open(image, 'wb') as file:
            file.truncate(96 << 20)
        device = self.command('losetup', '--find', '--show', '--sector-size', sector_bytes, image)
        self.addCleanup(subprocess.run, ['losetup', '--detach', device], check=True)
        self.command('mkfs.ext4', '-q', '-b', '4096', device)
        return Path(shutil.copytree(MODEL, self.mount(device) / 'model'))

    def read_from_device(self, sector_bytes: int, *options) -> None:
        said = self.answers(self.model_on_device(sector_bytes), *options)
        self.assertNotIn('page cache', said)

    @by_each_method
    def test_direct_reads_fit_sectors_of_512_bytes(self, *options):
        self.read_from_device(512, *options)

    @by_each_method
    def test_direct_reads_fit_sectors_of_4096_bytes(self, *options):
        self.read_from_device(4096, *options)


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])

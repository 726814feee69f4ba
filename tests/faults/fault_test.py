"""What the tests with real faults share: the program, the model that they run, and drives that may fail."""

import functools
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Sequence

from drives import FuseDrive, why_no_fuse

SLUICE, FUSE_DRIVE, READ_FAULTS = (sys.argv[1:] + ['', '', ''])[:3]
MODEL = Path(__file__).resolve().parents[2] / 'models' / 'nano'
METHODS = ('uring', 'pread')
# Every budget in which experts and most of the spine are read again in each pass.
OPTIONS = ('--memory', '36MiB', '--context', '128', '--quiet')
PROMPT = ('--chat', '--effort', 'none', '--prompt', 'What is the capital of France?')
ANSWER = 'The capital of France is Paris.\n'
EXIT_IO = 5
RATE = 300_000_000
BLOCK = 4096
# A fault of fuse_drive that every read meets.
EVERYWHERE = f'* 0 {1 << 40}'

no_fuse = why_no_fuse(FUSE_DRIVE)
no_root = '' if os.geteuid() == 0 else 'only root may mount'


class Range:
    """Bytes of a file of the model, and the file's name."""

    def __init__(self, pattern: str):
        """From the first to the last tensor whose name matches; all of them lie in one file."""
        index = json.loads((MODEL / 'model.safetensors.index.json').read_text())['weight_map']
        names = [name for name in index if re.search(pattern, name)]
        (self.file,) = {index[name] for name in names}
        with open(MODEL / self.file, 'rb') as file:
            length = struct.unpack('<Q', file.read(8))[0]
            header = json.loads(file.read(length))
        offsets = [header[name]['data_offsets'] for name in names]
        # Reads round outwards to blocks; these bytes are read with no neighbour.
        self.first = 8 + length + min(first for first, _ in offsets) + BLOCK
        self.end = 8 + length + max(end for _, end in offsets) - BLOCK

    def __str__(self) -> str:
        """As a fault of fuse_drive wants it."""
        return f'{self.file} {self.first} {self.end}'


def by_each_method(test):
    """Calls a test with the options for each way of reading that the machine offers."""
    @functools.wraps(test)
    def call(self):
        for method in METHODS:
            with self.subTest(io=method):
                if self.sluice('inspect', MODEL, '--io', method).returncode != 0:
                    self.skipTest(f'no --io {method} here')
                test(self, '--io', method)
    return call


class FaultTest(unittest.TestCase):
    """Each test has an empty folder, which may hold mounts of its own."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix='sluice-faults-')
        self.addCleanup(self._folder.cleanup)
        self.folder = Path(self._folder.name)

    def new_folder(self) -> Path:
        """For a mount."""
        return Path(tempfile.mkdtemp(dir=self.folder))

    @staticmethod
    def sluice(*arguments, **settings):
        return subprocess.run([SLUICE, *map(str, arguments)], text=True, capture_output=True, timeout=100,
                              **settings)

    def start(self, *arguments) -> subprocess.Popen:
        """The program with pipes for its input and output. It is killed when it outlives the test."""
        program = subprocess.Popen([SLUICE, *map(str, arguments)], text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        return program

    def run_model(self, model, *options, **settings):
        """`sluice run` of a model with little memory: what it printed, and how it ended."""
        return self.sluice('run', model, *OPTIONS, *PROMPT, *options, **settings)

    def answers(self, model, *options, **settings):
        """The program answers as if all were well; returns what it said besides."""
        done = self.run_model(model, *options, **settings)
        self.assertEqual((done.returncode, done.stdout), (0, ANSWER), done.stderr)
        return done.stderr

    def fails(self, model, *options, says=(), **settings):
        """The program ends with an error about reading that matches `says`."""
        done = self.run_model(model, *options, **settings)
        self.assertEqual(done.returncode, EXIT_IO, f'{done.stdout}{done.stderr}')
        for pattern in says:
            self.assertRegex(done.stderr, pattern)


@unittest.skipIf(no_fuse, no_fuse)
class DriveTest(FaultTest):
    """Tests on drives that fail as told. A run with one of them takes about a second."""

    def drive(self, folder=MODEL, rate=RATE) -> FuseDrive:
        """A drive with the files of `folder`."""
        drive = FuseDrive(FUSE_DRIVE, folder, self.new_folder(), rate)
        self.addCleanup(drive.close)
        return drive

    def soon(self, drive: FuseDrive, command: str, model: Sequence, *options) -> None:
        """Gives the drive a command for the next run of the model, when it has begun to compute."""
        before = drive.status().reads
        done = self.sluice('inspect', *model, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        drive.tell('after', drive.status().reads - before + 100, command)

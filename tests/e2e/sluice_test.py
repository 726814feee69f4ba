"""What the end-to-end tests share: the program, a tiny model, and readers of the files that it writes."""

import json
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SLUICE = sys.argv[1] if len(sys.argv) > 1 else ''


class SluiceTest(unittest.TestCase):
    """Runs the program in a temporary folder that holds one tiny model."""

    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory(prefix='sluice-e2e-')
        cls.addClassCleanup(cls._folder.cleanup)
        cls.folder = Path(cls._folder.name)
        cls.model = cls.folder / 'tiny'
        made = cls.run_sluice('synth', '--shape', 'tiny', '--to', cls.model, '--quiet')
        assert made.returncode == 0, made.stderr
        config = json.loads((cls.model / 'config.json').read_text())
        cls.vocab = config.get('text_config', config)['vocab_size']

    @staticmethod
    def run_sluice(*arguments, stdin=''):
        return subprocess.run([SLUICE, *map(str, arguments)], input=stdin, text=True, capture_output=True,
                              timeout=200)

    def ok(self, *arguments, stdin=''):
        """Standard output of a run that must succeed."""
        done = self.run_sluice(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, 0, f'{arguments}: {done.stderr}')
        return done.stdout

    def fails(self, code, *arguments, says=(), stdin=''):
        """Standard error of a run that must fail with this code and these words, printing nothing else."""
        done = self.run_sluice(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, code, f'{arguments}: {done.stdout}{done.stderr}')
        self.assertEqual(done.stdout, '')
        for word in says:
            self.assertIn(word, done.stderr)
        return done.stderr

    def ids(self, *arguments):
        """The ids that `sluice run MODEL ... --print-ids` prints."""
        out = self.ok('run', self.model, '--print-ids', *arguments)
        self.assertRegex(out, r'^(\d+(,\d+)*)?\n$')
        return [int(word) for word in out.split(',')] if out.strip() else []


def read_npy(path):
    """Shape and values of a two-dimensional little-endian fp32 .npy file."""
    data = Path(path).read_bytes()
    assert data[:6] == b'\x93NUMPY', data[:6]
    length = struct.unpack('<H', data[8:10])[0]
    header = eval(data[10:10 + length], {'__builtins__': {}})
    assert header['descr'] == '<f4' and not header['fortran_order'], header
    rows, columns = header['shape']
    values = struct.unpack(f'<{rows * columns}f', data[10 + length:])
    return [values[row * columns:(row + 1) * columns] for row in range(rows)]


def read_safetensors(path):
    """Tensors by name, each as (dtype, shape, bytes)."""
    data = Path(path).read_bytes()
    length = struct.unpack('<Q', data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name != '__metadata__':
            begin, end = entry['data_offsets']
            tensors[name] = (entry['dtype'], entry['shape'], data[8 + length + begin:8 + length + end])
    return tensors


def argmax(row):
    return max(range(len(row)), key=lambda i: (row[i], -i))

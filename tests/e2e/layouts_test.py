"""Runs one model from every layout of its bytes: python3 layouts_test.py PATH_OF_SLUICE [CLASS...]

Without this test the text could depend on which drives the weights lie on, or on how they are read.
"""

import re
import shutil
import sys
import unittest

from pack_test import ANSWER, sha256
from sluice_test import SluiceTest

# Each way of reading with each share of the memory between the least and all of the experts, and hints with each.
WAYS = ((0, 'on', '--io', 'pread'), (0, 'off', '--io', 'auto'), (0.1, 'on', '--io', 'auto', '--buffered'),
        (0.1, 'off', '--io', 'pread'), (1, 'on', '--io', 'auto'), (1, 'off', '--io', 'auto', '--buffered'))


class Layouts(SluiceTest):
    """Each layout is a model and more folders for --volume."""

    def pack(self, name, volumes, *options):
        place = self.folder / name
        to = []
        for label in 'abcd'[:volumes]:
            (place / label).mkdir(parents=True)
            to += ['--to', f'{label}={place / label}', '--rate', f'{label}={ord(label)}']
        (place / 'model').mkdir()
        self.ok('pack', self.model, '--model', place / 'model', *to, *options, '--quiet')
        return place

    def half_of_the_shards(self):
        folder = self.folder / 'half'
        folder.mkdir()
        for shard in sorted(self.model.glob('*.safetensors'))[::2]:
            shutil.copy(shard, folder)
        return folder

    def layouts(self):
        half = self.half_of_the_shards()
        yield 'in place', self.model, ()
        yield 'in place, half of it twice', self.model, (half,)
        for volumes in (1, 2, 3, 4):
            yield f'{volumes} volumes', self.pack(f'volumes-{volumes}', volumes) / 'model', ()
        yield 'two copies', self.pack('copies', 3, '--copies', '2') / 'model', ()
        coded = self.pack('coded', 2, '--codec', 'scales') / 'model'
        yield 'packs and the shards', coded, (self.model,)
        yield 'packs and half of the shards', coded, (half,)
        part = self.pack('part', 3)
        shutil.rmtree(part / 'b')
        yield 'a part of the packs, and the shards', part / 'model', (self.model,)

    def answer(self, model, volumes, *options):
        logits = self.folder / 'logits.npy'
        folders = [option for volume in volumes for option in ('--volume', volume)]
        ids = self.ok('run', model, *folders, *ANSWER, '--logits', logits, *options)
        return ids, sha256(logits)

    def least_memory(self, model, volumes):
        folders = [option for volume in volumes for option in ('--volume', volume)]
        refusal = self.run_sluice('run', model, *folders, *ANSWER, '--memory', '1').stderr
        return int(re.search(r'\(--memory (\d+)\)', refusal).group(1))

    def test_every_layout_gives_the_same_ids_and_logits(self):
        expected = self.answer(self.model, ())
        for name, model, volumes in self.layouts():
            least = self.least_memory(model, volumes)
            for share, hints, *method in WAYS:
                options = ('--memory', str(int(least * (1 + share))), '--hints', hints, *method)
                with self.subTest(layout=name, options=options):
                    self.assertEqual(self.answer(model, volumes, *options), expected)


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])

"""Packs models and reads them back as a user does: python3 pack_test.py PATH_OF_SLUICE [CLASS...]

Without these tests a conversion that takes a night could lose bytes, or the shards that it was made from.
"""

import fcntl
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from sluice_test import SLUICE, SluiceTest

NANO = Path(__file__).resolve().parents[2] / 'models' / 'nano'
ANSWER = ('--prompt-ids', '5,9,200,17,3', '--ignore-eos', '--max-new', '8', '--print-ids', '--quiet')
RATES = ('--rate', 'a=300', '--rate', 'b=200', '--rate', 'c=100')


def sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def tree(folder):
    """Every file below a folder, with what tells changes."""
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns)
            for path in sorted(Path(folder).rglob('*')) if path.is_file()}


def damage(path):
    """Changes a bit of a pack's first piece; what lies in front of it may be a hole."""
    data = path.read_bytes()
    flip(path, next(i for i in range(4096, len(data)) if data[i] != 0))


def flip(path, offset):
    with open(path, 'r+b') as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1]))


class Packs:
    """Each test has folders of its own: a model's, and three for volumes."""

    source = None  # The tiny model, unless a class says otherwise.

    def setUp(self):
        self.place = self.folder / self.id().rpartition('.')[2]
        self.packed = self.place / 'model'
        self.folders = {name: self.place / name for name in 'abc'}
        for folder in (self.packed, *self.folders.values()):
            folder.mkdir(parents=True)
        self.shards = sorted(path.name for path in self.src().glob('*.safetensors'))

    def src(self):
        return self.source or self.model

    def to(self, **limits):
        """--to for the three volumes, with limits in bytes."""
        options = []
        for name, folder in self.folders.items():
            options += ['--to', f'{name}={folder}' + (f':{limits[name]}' if name in limits else '')]
        return options

    def command(self, *options):
        return ('pack', self.src(), '--model', self.packed, *self.to(), *RATES, '--quiet', *options)

    def manifest(self):
        return json.loads((self.packed / 'sluice-manifest.json').read_text())

    def packs(self):
        return sorted(path for folder in self.folders.values() for path in folder.glob('*.slpack'))

    def answer(self, model):
        """Ids and logits of a run, which must not depend on where the bytes lie."""
        logits = self.place / 'logits.npy'
        ids = self.ok('run', model, *ANSWER, '--logits', logits)
        return ids, sha256(logits)

    def sums(self, **wrong):
        """A file of sums as sha256sum writes them, some of them wrong."""
        path = self.place / 'sums'
        path.write_text(''.join(f'{wrong.get(name, sha256(self.src() / name))}  {name}\n' for name in self.shards))
        return path


class PackLayouts(Packs, SluiceTest):
    def test_answers_are_those_of_the_shards_whatever_the_layout(self):
        expected = self.answer(self.src())
        for options in ((), ('--codec', 'scales'), ('--copies', '2')):
            self.ok(*self.command(*options))
            self.assertEqual(self.answer(self.packed), expected, options)
            self.assertIn('are good', self.ok('pack', '--verify', self.packed, '--quiet'))
            for folder in (self.packed, *self.folders.values()):
                shutil.rmtree(folder)
                folder.mkdir()

    def test_volumes_get_their_part(self):
        self.ok(*self.command())
        held = [sum(path.stat().st_blocks for path in folder.iterdir()) for folder in self.folders.values()]
        self.assertGreater(held[0], held[1])
        self.assertGreater(held[1], held[2])
        manifest = self.manifest()
        self.assertEqual([shard['sha256'] for shard in manifest['shards']],
                         [sha256(self.src() / name) for name in self.shards])
        self.assertEqual(len(manifest['packs']), len(self.packs()))

    def test_json_lines(self):
        events = [json.loads(line) for line in self.ok(*self.command('--json')).splitlines()]
        self.assertEqual(events[0]['event'], 'plan')
        self.assertEqual([volume['label'] for volume in events[0]['volumes']], ['a', 'b', 'c'])
        packed = [event for event in events if event['event'] == 'packed']
        self.assertEqual([event['shard'] for event in packed], self.shards)
        self.assertEqual(events[-1]['event'], 'done')
        self.assertEqual(events[-1]['bytes'], sum((self.src() / name).stat().st_size for name in self.shards))

    def test_a_dry_run_writes_nothing(self):
        before = tree(self.place)
        out = self.ok(*self.command('--dry-run'))
        for word in ('volume', 'room', 'packs', str(self.folders['a'])):
            self.assertIn(word, out)
        self.assertEqual(tree(self.place), before)

    def test_packing_again_changes_nothing(self):
        self.ok(*self.command())
        packs = tree(self.folders['a'])
        self.assertIn('0 of', self.ok(*self.command('--dry-run')))
        self.ok(*self.command())
        self.assertEqual(tree(self.folders['a']), packs)

    def test_restoring_gives_the_released_files(self):
        self.ok(*self.command('--codec', 'scales'))
        to = self.place / 'restored'
        to.mkdir()
        out = self.ok('pack', '--restore', self.packed, '--to', to, '--quiet')
        self.assertEqual(out, ''.join(f'{sha256(self.src() / name)}  {name}\n' for name in self.shards))
        for name in self.shards:
            self.assertEqual((to / name).read_bytes(), (self.src() / name).read_bytes(), name)


class PackRefusals(Packs, SluiceTest):
    def test_too_little_room_is_found_before_anything_is_written(self):
        before = tree(self.place)
        limits = self.to(a=1000000, b=1000000, c=1000000)
        says = self.fails(5, 'pack', self.src(), '--model', self.packed, *limits, *RATES, says=['a', 'are missing'])
        self.assertEqual(says.count('are missing'), 3)
        self.assertEqual(tree(self.place), before)

    def test_limits_hold(self):
        total = sum((self.src() / name).stat().st_size for name in self.shards)
        self.ok('pack', self.src(), '--model', self.packed, *self.to(a=total // 3), *RATES, '--quiet')
        held = sum(path.stat().st_blocks * 512 for path in self.folders['a'].glob('*.slpack'))
        self.assertLessEqual(held, total // 3)
        self.assertGreater(held, total // 4)

    def test_folders(self):
        source, model = self.src(), ('--model', self.packed)
        self.fails(3, 'pack', source, *model, '--to', f'a={self.place}/none', says=['none', 'make it'])
        self.fails(2, 'pack', source, *model, '--to', f'a={self.place}/a', '--to', f'b={self.place}/a',
                   says=['two volumes have this folder'])
        self.fails(2, 'pack', source, *model, '--to', f'a={self.place}/a', '--to', f'a={self.place}/b',
                   says=['two volumes have this name'])
        self.fails(2, 'pack', source, *model, '--to', f'a={self.place}/a', '--copies', '2', says=['--copies 2'])
        self.fails(2, 'pack', source, '--to', str(self.place), says=['--to NAME=DIR'])
        self.fails(2, 'pack', source, says=['--to is missing'])
        self.fails(3, 'pack', source, '--model', self.place / 'none', *self.to(), says=['none', 'make it'])

    def test_a_volume_of_another_model(self):
        self.ok(*self.command())
        other, model = self.place / 'other', self.place / 'm'
        model.mkdir()
        self.ok('synth', '--to', other, '--layers', '5', '--quiet')
        self.fails(2, 'pack', other, '--model', model, *self.to(), *RATES, says=['another model', str(self.folders['a'])])
        self.fails(2, 'pack', self.src(), '--model', model, '--to', f"b={self.folders['a']}", says=['is volume a'])
        self.fails(2, 'pack', other, '--model', self.packed, *self.to(), *RATES, says=['another'])

    def test_a_damaged_source(self):
        source = self.place / 'source'
        shutil.copytree(self.src(), source)
        with open(source / self.shards[1], 'r+b') as file:
            file.truncate(file.seek(0, os.SEEK_END) - 4096)
        self.fails(4, 'pack', source, '--model', self.packed, *self.to(), *RATES, says=[self.shards[1]])
        self.assertEqual(self.packs(), [])

    def test_a_wrong_sum_stops_with_the_name_of_the_shard(self):
        wrong = self.sums(**{self.shards[2]: 'f' * 64})
        self.fails(4, *self.command('--sha256', wrong), says=[self.shards[2], 'f' * 64, 'fetch it anew'])
        self.assertEqual({pack['shard'] for pack in self.manifest()['packs']}, {0, 1})
        self.assertFalse([path for path in self.place.rglob('*.tmp')])
        # And a file that does not know every shard is refused at once.
        short = self.place / 'short'
        short.write_text(self.sums().read_text().partition('\n')[0] + '\n')
        self.fails(2, *self.command('--sha256', short), says=['has no sum for'])

    def test_other_options_than_those_of_an_unfinished_run(self):
        wrong = self.sums(**{self.shards[2]: 'f' * 64})
        self.fails(4, *self.command('--sha256', wrong))
        self.fails(2, *self.command('--codec', 'scales'), says=['--codec raw', '--codec scales', '--replan'])
        self.ok(*self.command('--codec', 'scales', '--replan', '--sha256', self.sums()))
        self.assertIn('are good', self.ok('pack', '--verify', self.packed, '--quiet'))
        self.assertEqual(self.answer(self.packed), self.answer(self.src()))


class PackDamage(Packs, SluiceTest):
    def test_verify_names_what_is_damaged(self):
        self.ok(*self.command())
        for path, harm in zip(random.Random(1).sample(self.packs(), 3),
                              (damage, lambda path: flip(path, path.stat().st_size - 1), lambda path: flip(path, 100))):
            harm(path)
            done = self.run_sluice('pack', '--verify', self.packed, '--quiet')
            self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
            self.assertIn(str(path), done.stdout)
            report = json.loads(self.run_sluice('pack', '--verify', self.packed, '--json', '--quiet').stdout)
            self.assertEqual(report['shards_good'], len(self.shards) - 1)
            harm(path)
        self.ok('pack', '--verify', self.packed, '--quiet')

    def test_a_volume_that_is_away(self):
        self.ok(*self.command())
        away = self.place / 'elsewhere'
        self.folders['b'].rename(away)
        done = self.run_sluice('pack', '--verify', self.packed, '--quiet')
        self.assertEqual(done.returncode, 4)
        self.assertIn('missing', done.stdout)
        self.ok('pack', '--verify', self.packed, '--volume', away, '--quiet')

    def test_never_packed(self):
        self.fails(3, 'pack', '--verify', self.src(), says=['never packed'])
        self.fails(3, 'pack', '--restore', self.src(), '--to', self.place, says=['never packed'])


class PackReclaim(Packs, SluiceTest):
    def setUp(self):
        super().setUp()
        self.source = self.place / 'source'
        shutil.copytree(self.model, self.source)

    def test_the_model_answers_without_its_shards(self):
        expected = self.answer(self.source)
        restored = {name: (self.source / name).read_bytes() for name in self.shards}
        for model in (self.packed, self.source):
            command = ['pack', self.source, '--model', model, *self.to(), *RATES, '--quiet', '--reclaim']
            self.fails(2, *command, says=['--yes', str(len(self.shards))])
            self.assertEqual(self.packs(), [])
            self.ok(*command, '--yes')
            self.assertEqual(list(self.source.glob('*.safetensors')), [])
            self.assertEqual(self.answer(model), expected)
            self.ok('pack', '--restore', model, '--to', self.source, '--quiet')
            for name, data in restored.items():
                self.assertEqual((self.source / name).read_bytes(), data)
            for path in (*self.packs(), *self.place.rglob('sluice-*.json')):
                path.unlink()

    def test_after_packing_without(self):
        self.ok(*self.command())
        self.ok(*self.command('--reclaim', '--yes'))
        self.assertEqual(list(self.source.glob('*.safetensors')), [])
        self.assertIn('0 of', self.ok(*self.command('--reclaim', '--yes', '--dry-run')))

    def test_links_are_not_deleted(self):
        links = self.place / 'links'
        links.mkdir()
        for path in self.source.iterdir():
            (links / path.name).symlink_to(path)
        self.fails(2, 'pack', links, '--model', self.packed, *self.to(), *RATES, '--reclaim', '--yes', says=['link'])
        self.ok('pack', links, '--model', self.packed, *self.to(), *RATES, '--quiet')

    def test_nothing_is_deleted_that_packs_do_not_give_back(self):
        self.ok(*self.command())
        damage(self.packs()[0])
        name = self.packs()[0].stem + '.safetensors'
        self.fails(4, *self.command('--reclaim', '--yes'), says=['is not deleted', name])
        self.assertTrue((self.source / name).exists())


class PackKill(Packs, SluiceTest):
    """Kills runs at random moments; what is left must always be good enough to go on from."""

    KILLS = 10
    source = NANO

    def setUp(self):
        super().setUp()
        self.source = self.place / 'source'
        shutil.copytree(NANO, self.source)

    def kill_after(self, seconds, *options):
        """Whether the run was still going on then."""
        command = [SLUICE, *map(str, self.command(*options))]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            try:
                _, error = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                return True
        self.assertEqual(process.returncode, 0, error)
        return False

    def clear(self):
        for folder in (self.packed, *self.folders.values()):
            shutil.rmtree(folder)
            folder.mkdir()
        for name in self.shards:
            if not (self.source / name).exists():
                shutil.copy(NANO / name, self.source)

    def check(self, *options):
        chance = random.Random(1)
        begin = time.monotonic()
        self.ok(*self.command(*options))
        whole = time.monotonic() - begin
        self.clear()
        kills = 0
        while kills < self.KILLS:
            if self.kill_after(chance.uniform(0.0, whole / 2), *options):
                kills += 1
            else:
                self.clear()
        self.ok(*self.command(*options))
        self.assertFalse(list(self.place.rglob('*.slpack.tmp')))
        self.assertEqual(len(self.packs()), len(self.manifest()['packs']))
        self.ok('pack', '--verify', self.packed, '--quiet')
        self.assertEqual(self.answer(self.packed), self.answer(NANO))

    def test_packing_goes_on(self):
        self.check()

    def test_reclaiming_goes_on(self):
        self.check('--reclaim', '--yes', '--codec', 'scales')
        self.assertEqual(list(self.source.glob('*.safetensors')), [])

    def interrupt(self):
        """The exit code of a run that gets Ctrl-C after its first shard."""
        command = [SLUICE, *map(str, self.command('--json'))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            while '"packed"' not in process.stdout.readline():
                self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=100)
        return process.returncode

    def test_ctrl_c_leaves_only_whole_packs(self):
        while self.interrupt() != 130:  # It was too fast.
            self.clear()
        self.assertFalse(list(self.place.rglob('*.tmp')))
        self.assertIn(f'of {len(self.shards)} shards are to be packed', self.ok(*self.command('--dry-run')))
        self.ok(*self.command())
        self.assertEqual(self.answer(self.packed), self.answer(NANO))

    def test_one_run_at_a_time(self):
        folder = os.open(self.folders['b'], os.O_RDONLY)
        self.addCleanup(os.close, folder)
        fcntl.flock(folder, fcntl.LOCK_EX)
        self.fails(2, *self.command(), says=['another run', str(self.folders['b'])])


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])

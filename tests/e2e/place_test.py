"""Plans where a packed model should lie and moves it there: python3 place_test.py PATH_OF_SLUICE [CLASS...]

Without these tests a placement could lose bytes when it is interrupted, or a model answer otherwise after it.
"""

import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

from pack_test import NANO, Packs, damage, sha256, tree
from sluice_test import SLUICE, SluiceTest

RATES = {'a': 300, 'b': 200, 'c': 100}


class Placed(Packs):
    """Each test has the small model packed onto the volumes a and b, and an empty folder c.

    The folders lie on one disk, so --separate makes drives of them.
    """

    source = NANO

    def setUp(self):
        super().setUp()
        self.pack('a', 'b')

    def pack(self, *names, options=()):
        to = [word for name in names for word in ('--to', f'{name}={self.folders[name]}')]
        rates = [word for name in names for word in ('--rate', f'{name}={RATES[name]}')]
        self.ok('pack', NANO, '--model', self.packed, *to, *rates, '--quiet', *options)

    def command(self, *options, members='ab', joins='c'):
        """The arguments of `place plan`."""
        rates = [word for name in members + joins for word in ('--rate', f'{name}={RATES[name]}')]
        to = [word for name in joins for word in ('--to', f'{name}={self.folders[name]}')]
        return ('place', 'plan', self.packed, *to, *rates, '--separate', *options)

    def plan(self, *options, **volumes):
        return json.loads(self.ok(*self.command(*options, '--json', **volumes)))

    def apply(self):
        self.ok('place', 'apply', self.packed, '--quiet')

    def undo(self):
        self.ok('place', 'undo', self.packed, '--quiet')

    def show(self, *options):
        return json.loads(self.ok('place', 'show', self.packed, '--json', *options))

    def plan_file(self):
        return json.loads((self.packed / 'sluice-placement.json').read_text())

    def held(self):
        """The pieces and their bytes on each volume."""
        return {volume['label']: (volume['pieces'], volume['bytes']) for volume in self.show()['volumes']}

    def verify(self):
        """All bytes are there, and no file is left that nobody knows."""
        self.assertIn('are good', self.ok('pack', '--verify', self.packed, '--quiet'))
        self.assertFalse(list(self.place.rglob('*.tmp')))
        self.assertEqual(len(self.packs()), len(self.manifest()['packs']))

    def check_restored(self):
        """The released shards come back bit for bit."""
        to = self.place / 'restored'
        to.mkdir()
        self.ok('pack', '--restore', self.packed, '--to', to, '--quiet')
        for name in self.shards:
            self.assertEqual(sha256(to / name), sha256(NANO / name), name)


class PlaceRoundTrip(Placed, SluiceTest):
    def test_a_third_drive_and_back(self):
        expected, before, held = self.answer(self.packed), tree(self.place), self.held()
        plan = self.plan('--copies', 'needed')
        self.assertEqual(set(tree(self.place)) - set(before), {str(self.packed / 'sluice-placement.json')})
        self.assertGreater(plan['then']['bytes_per_second'], plan['now']['bytes_per_second'])
        self.assertEqual(self.answer(self.packed), expected)
        self.apply()
        self.verify()
        self.assertEqual(self.answer(self.packed), expected)
        for drive in plan['drives']:
            self.assertEqual(self.held()[drive['volumes'][0]][1], drive['then_bytes'])
        # Striping all anew would move more.
        self.assertLess(plan['moved_bytes'], sum(held for _, held in self.held().values()) / 2)
        self.undo()
        self.verify()
        self.assertEqual(self.held(), held)
        self.assertEqual(self.answer(self.packed), expected)
        self.assertEqual(list(self.folders['c'].iterdir()), [])
        self.apply()
        self.verify()
        self.check_restored()

    def test_what_people_read(self):
        out = self.ok(*self.command())
        for word in ('MB/token', 'All drives together', 'Nothing has been moved yet', 'place apply'):
            self.assertIn(word, out)
        self.assertIn('A plan waits (place plan --to c=', self.ok('place', 'show', self.packed))
        out = self.ok('place', 'apply', self.packed)
        for word in ('12 of 12 shards', str(self.folders['c']), 'each was read back', 'place undo'):
            self.assertIn(word, out)
        self.assertIn('The last plan was applied', self.ok('place', 'show', self.packed))
        self.assertIn('as before the plan', self.ok('place', 'undo', self.packed))

    def test_json_lines(self):
        self.plan()
        events = self.events('place', 'apply', self.packed)
        self.assertEqual([events[0]['event'], events[-1]['event']], ['plan', 'done'])
        moved = [event['shard'] for event in events if event['event'] == 'moved']
        self.assertEqual(moved, self.shards)
        self.assertEqual(events[-1]['bytes'], events[0]['bytes'])

    def test_room_that_is_left_takes_copies(self):
        self.plan()
        self.apply()
        self.verify()
        once, *more = self.show()['bytes_by_copies'][1:]
        self.assertGreater(sum(more), once)

    def test_a_plan_that_changes_nothing(self):
        self.plan()
        self.apply()
        self.assertFalse(self.plan(members='abc', joins='')['changes'])
        self.assertEqual(self.plan_file()['state'], 'applied')

    def events(self, *command):
        return [json.loads(line) for line in self.ok(*command, '--json').splitlines()]

    def test_shards_in_place_stay(self):
        source = self.place / 'source'
        shutil.copytree(NANO, source)
        to = [word for name in 'ab' for word in ('--to', f'{name}={self.place / "d" / name}')]
        for name in 'ab':
            (self.place / 'd' / name).mkdir(parents=True)
        self.ok('pack', source, *to, '--rate', 'a=300', '--rate', 'b=200', '--quiet')
        before = tree(source)
        self.ok('place', 'plan', source, '--to', f'c={self.folders["c"]}', '--separate',
                *(word for name in 'abc' for word in ('--rate', f'{name}={RATES[name]}')))
        self.ok('place', 'apply', source, '--quiet')
        after = tree(source)
        for name in self.shards:
            self.assertEqual(after[str(source / name)], before[str(source / name)])

    def test_uses_of_experts(self):
        routes = self.place / 'routes'
        text = self.place / 'text'
        text.write_text('The capital of France is Paris. ' * 20)
        self.ok('eval', NANO, '--text', text, '--routes', routes, '--quiet')
        alike, traced = self.plan(), self.plan('--routes', routes)
        self.assertNotEqual(alike['then']['read_bytes_per_token'], 0)
        self.assertAlmostEqual(traced['then']['read_bytes_per_token'] / alike['then']['read_bytes_per_token'], 1, 1)
        self.fails(2, *self.command('--routes', self.other_trace(text)), says=['another model'])

    def other_trace(self, text):
        path = self.place / 'other'
        self.ok('eval', self.model, '--text', text, '--routes', path, '--quiet')
        return path


class PlaceLoss(Placed, SluiceTest):
    def test_any_drive_may_be_lost(self):
        expected = self.answer(self.packed)
        plan = self.plan('--survive', '1')
        self.assertEqual((plan['now']['survives_drives'], plan['then']['survives_drives']), (0, 1))
        self.apply()
        self.verify()
        for name, folder in self.folders.items():
            away = self.place / 'away'
            folder.rename(away)
            self.assertEqual(self.answer(self.packed), expected, name)
            away.rename(folder)
        # The drive is dead: without it the model is made whole again.
        shutil.rmtree(self.folders['a'])
        self.fails(3, *self.command(members='bc', joins=''), says=['volume a', '--drain a'])
        self.plan('--drain', 'a', '--survive', '1', members='bc', joins='')
        self.apply()
        self.verify()
        self.assertEqual([volume['label'] for volume in self.manifest()['volumes']], ['b', 'c'])
        self.assertEqual(self.show()['survives_drives'], 1)
        self.assertEqual(self.answer(self.packed), expected)

    def test_a_drained_volume_leaves_and_comes_back(self):
        expected = self.answer(self.packed)
        self.plan('--drain', 'a', members='ab')
        self.apply()
        self.verify()
        self.assertEqual(list(self.folders['a'].iterdir()), [])
        self.assertEqual(self.answer(self.packed), expected)
        self.undo()
        self.verify()
        self.assertEqual(self.held()['a'][0] > 0, True)
        self.assertEqual(self.answer(self.packed), expected)

    def test_a_damaged_piece_comes_from_the_other_copy(self):
        self.plan('--survive', '1')
        self.apply()
        self.plan('--drain', 'a', members='abc', joins='')
        damage(min(self.folders['b'].glob('*.slpack')))
        self.apply()
        self.verify()
        self.assertEqual(self.answer(self.packed), self.answer(NANO))

    def test_the_only_copy_of_a_damaged_piece_is_not_lost(self):
        self.plan('--drain', 'a', members='ab')
        pack = min(self.folders['a'].glob('*.slpack'))
        damage(pack)
        self.fails(4, 'place', 'apply', self.packed, '--quiet', says=[str(pack), 'checksum', 'pack'])
        self.assertTrue(pack.exists())
        damage(pack)
        self.apply()
        self.verify()
        self.check_restored()


class PlaceRefusals(Placed, SluiceTest):
    def test_too_little_room(self):
        before = tree(self.place)
        c = f'c={self.folders["c"]}:1MB'
        says = self.fails(5, *self.command('--to', c, '--rate', 'c=100', '--drain', 'a', '--room', 'b=9MB', joins=''),
                          says=['are missing', 'c (', 'b (', '--keep-free'])
        self.assertNotIn('a (', says)
        self.assertEqual(tree(self.place), before)
        limited = self.plan('--to', c, '--rate', 'c=100', joins='')
        self.apply()
        used = sum(path.stat().st_blocks * 512 for path in self.folders['c'].iterdir())
        self.assertLessEqual(used, 1000000)
        self.assertGreater(limited['drives'][2]['then_bytes'], 0)

    def test_a_disk_that_has_become_full(self):
        disk = self.place / 'disk'
        disk.mkdir()
        mount = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=40m', 'sluice', disk], capture_output=True)
        if mount.returncode != 0:
            self.skipTest('needs root, to mount a small disk')
        self.addCleanup(subprocess.run, ['umount', disk], check=True)
        self.ok(*self.command('--to', f'c={disk}', '--rate', 'c=100', '--drain', 'a', joins=''))
        (disk / 'other').write_bytes(bytes(39 << 20))
        before = tree(self.place)
        self.fails(5, 'place', 'apply', self.packed, '--quiet', says=['are missing', f'c ({disk})'])
        self.assertEqual(tree(self.place), before)
        (disk / 'other').unlink()
        self.apply()
        self.ok('place', 'undo', self.packed, '--quiet')
        self.verify()

    def test_mistakes(self):
        self.fails(3, 'place', 'apply', self.packed, says=['there is no plan', 'sluice place plan'])
        self.fails(3, 'place', 'plan', NANO, says=['sluice pack comes first'])
        self.fails(3, 'place', 'show', self.place / 'none', says=['none'])
        self.fails(2, *self.command('--drain', 'x'), says=['--drain x', 'a, b'])
        self.fails(2, *self.command('--rate', 'x=1'), says=['--rate x', 'a, b'])
        self.fails(2, *self.command('--room', 'c=1MB'), says=['--room c'])
        self.fails(2, *self.command('--drain', 'c'), says=['--drain c'])
        self.fails(2, *self.command('--drain', 'a', '--drain', 'b', joins=''), says=['no volume is left'])
        self.fails(2, *self.command('--survive', '3'), says=['--survive 3', '--separate'])
        self.fails(3, 'place', 'plan', self.packed, '--to', f'c={self.place}/none', says=['none', 'make it'])
        self.plan()
        self.fails(2, 'place', 'undo', self.packed, says=['nothing to undo'])
        self.apply()
        self.fails(2, 'place', 'apply', self.packed, says=['has been applied'])
        self.undo()
        self.fails(2, 'place', 'undo', self.packed, says=['nothing to undo'])

    def test_folders_on_one_disk_are_one_drive(self):
        out = self.run_sluice('place', 'plan', self.packed, '--to', f'c={self.folders["c"]}', '--rate', 'a=100')
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertIn('a+b+c', out.stdout)
        self.assertIn('--separate', out.stderr)
        self.fails(2, 'place', 'plan', self.packed, '--survive', '1', says=['--survive 1', '--separate'])

    def test_a_plan_of_packs_that_are_gone(self):
        self.plan()
        pack = min(self.folders['a'].glob('*.slpack'))
        pack.rename(self.place / 'gone')
        self.fails(3, 'place', 'apply', self.packed, says=[str(pack)])


class PlaceKill(Placed, SluiceTest):
    """Kills runs at random moments; what is left must always answer, and be good enough to go on from."""

    KILLS = 20

    def state(self):
        return self.plan_file()['state']

    def kill_after(self, seconds, word):
        """Whether the work was begun and unfinished then; nothing when it was done."""
        command = [SLUICE, 'place', word, str(self.packed), '--quiet']
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            try:
                _, error = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                ended = self.state() == ('applied' if word == 'apply' else 'planned')
                return None if ended else self.state() in ('applying', 'undoing')
        self.assertEqual(process.returncode, 0, error)
        return None

    def kill_often(self, word, back):
        """Lets `word` be killed many times, and go on each time; `back` makes it begin anew when it was too fast."""
        begin = time.monotonic()
        self.ok('place', word, self.packed, '--quiet')
        whole = time.monotonic() - begin
        self.ok('place', back, self.packed, '--quiet')
        chance, kills, runs = random.Random(1), 0, 0
        while kills < self.KILLS:
            runs += 1
            self.assertLess(runs, 20 * self.KILLS, 'hardly any kill hits a run')
            hit = self.kill_after(chance.uniform(0.0, whole / 2), word)
            if hit is None:
                self.ok('place', back, self.packed, '--quiet')
            elif hit:
                kills += 1
                if kills % 5 == 0:
                    self.assertEqual(self.answer(self.packed), self.expected)
                if kills == self.KILLS // 2:
                    self.fails(2, 'pack', NANO, '--model', self.packed, *self.to(), says=['half-way', 'place undo'])
        if self.state() in ('applying', 'undoing'):
            self.ok('place', word, self.packed, '--quiet')
        self.verify()
        self.assertEqual(self.answer(self.packed), self.expected)

    def test_both_directions_go_on(self):
        self.expected, held = self.answer(self.packed), self.held()
        self.plan('--copies', 'needed')
        self.kill_often('apply', 'undo')
        self.assertEqual(self.state(), 'applied')
        self.assertEqual(set(self.held()), {'a', 'b', 'c'})
        self.kill_often('undo', 'apply')
        self.assertEqual(self.state(), 'planned')
        self.assertEqual(self.held(), held)
        self.assertEqual(list(self.folders['c'].iterdir()), [])
        self.check_restored()


class PlaceStop(Placed, SluiceTest):
    def interrupt(self):
        """The exit code of a run that gets Ctrl-C after its first shard."""
        command = [SLUICE, 'place', 'apply', str(self.packed), '--json']
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            while '"moved"' not in process.stdout.readline():
                self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=100)
        if process.returncode == 130:
            self.assertIn('the same command goes on', error)
        return process.returncode

    def test_ctrl_c_leaves_only_whole_packs(self):
        held = self.held()
        self.plan('--drain', 'a', members='ab')
        while self.interrupt() != 130:  # It was too fast.
            self.undo()
        self.verify()
        self.assertIn('half carried out', self.ok('place', 'show', self.packed))
        self.undo()
        self.verify()
        self.assertEqual(self.held(), held)
        self.apply()
        self.verify()

    def test_one_run_at_a_time(self):
        self.plan()
        folder = os.open(self.folders['b'], os.O_RDONLY)
        self.addCleanup(os.close, folder)
        fcntl.flock(folder, fcntl.LOCK_EX)
        self.fails(2, 'place', 'apply', self.packed, says=['another run', str(self.folders['b'])])


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])

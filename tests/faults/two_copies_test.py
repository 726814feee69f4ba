"""Drives that fail while another has the same: python3 two_copies_test.py SLUICE FUSE_DRIVE READ_FAULTS [CLASS...]

Without these tests a second copy might be there in vain when the first one fails.
"""

import sys
import unittest

from drives import FOR_GOOD, ever
from fault_test import ANSWER, EVERYWHERE, MODEL, OPTIONS, PROMPT, RATE, DriveTest, Range, by_each_method

EXPERTS = Range(r'layers\.5\.block_sparse_moe\.experts\.')
MATRIX = Range(r'layers\.5\.self_attn\.q_proj\.')


class TwoDrivesTest(DriveTest):
    """The model's own folder and a volume, each on a drive of its own with all shards."""

    def two_drives(self):
        first, second = self.drive(), self.drive()
        return first, second, (first.path, '--volume', second.path)

    def bytes_in_a_run(self, drives, model, *options):
        """What the drives read while the program answers."""
        before = [drive.status().bytes for drive in drives]
        self.answers(*model, *options)
        return [drive.status().bytes - read for drive, read in zip(drives, before)]


class OneFails(TwoDrivesTest):
    @by_each_method
    def test_on_some_of_its_bytes(self, *options):
        first, second, model = self.two_drives()
        first.tell('error', EXPERTS, FOR_GOOD)
        second.tell('error', MATRIX, FOR_GOOD)
        self.answers(*model, *options)
        self.assertGreater(first.status().faulty, 0)

    @by_each_method
    def test_on_all_of_them_from_the_middle_of_a_run_on(self, *options):
        for broken in (0, 1):
            *drives, model = self.two_drives()
            self.soon(drives[broken], f'error {EVERYWHERE} {FOR_GOOD}', model, *options)
            self.answers(*model, *options)
            self.assertGreater(drives[broken].status().faulty, 0)

    @by_each_method
    def test_and_the_other_too(self, *options):
        *drives, model = self.two_drives()
        for drive in drives:
            drive.tell('error', EXPERTS, FOR_GOOD)
        self.fails(*model, *options, says=[EXPERTS.file, r'expert \d+ of layer 5', 'Input/output error'])


class OneIsLost(TwoDrivesTest):
    @by_each_method
    def test_in_the_middle_of_a_run_and_serves_the_next_when_it_is_back(self, *options):
        for lost in (0, 1):
            *drives, model = self.two_drives()
            self.soon(drives[lost], 'gone', model, *options)
            self.answers(*model, *options)
            drives[lost].tell('back')
            self.assertTrue(ever(lambda: self.bytes_in_a_run(drives, model, *options)[lost] > 10 << 20),
                            'every run read from the other drive')

    @by_each_method
    def test_a_conversation_uses_it_again_when_it_is_back(self, *options):
        lost, _, model = self.two_drives()
        chat = self.start('chat', *model, *OPTIONS, '--effort', 'none', *options)

        def ask():
            chat.stdin.write(f'/reset\n{PROMPT[-1]}\n')
            chat.stdin.flush()
            self.assertEqual(chat.stdout.readline(), ANSWER)

        ask()
        lost.tell('gone')
        ask()
        lost.tell('back')
        before = lost.status().reads
        for _ in range(1000):
            if lost.status().reads >= before + 10:
                break
            ask()
        self.assertGreaterEqual(lost.status().reads, before + 10)


class OneIsSlow(TwoDrivesTest):
    @by_each_method
    def test_and_pauses_for_two_seconds(self, *options):
        slow, _, model = self.two_drives()
        self.soon(slow, 'stall 2000', model, *options)
        self.answers(*model, *options)

    @by_each_method
    def test_and_falls_to_three_tenths_of_its_rate(self, *options):
        slow, other, model = self.two_drives()
        self.soon(slow, f'rate {RATE * 3 // 10}', model, *options)

        def reads_less():
            of_slow, of_other = self.bytes_in_a_run((slow, other), model, *options)
            return of_slow < of_other

        self.assertTrue(ever(reads_less), 'every run read more from the slow drive')

    @by_each_method
    def test_and_hangs_until_after_the_answer(self, *options):
        for hanging in (0, 1):
            # What hangs keeps its memory, and now and then that is all there is in so small a budget.
            self.assertTrue(ever(lambda: self.answers_meanwhile(hanging, *options)),
                            'every answer came after the pause')

    def answers_meanwhile(self, hanging, *options):
        """Whether the answer of a run came while one of the drives was hanging."""
        *drives, model = self.two_drives()
        self.soon(drives[hanging], 'stall 10000', model, *options)
        run = self.start('run', *model, *OPTIONS, *PROMPT, *options)
        self.assertEqual(run.stdout.readline(), ANSWER)
        meanwhile = drives[hanging].status().waiting > 0
        drives[hanging].tell('release')
        self.assertEqual(run.wait(timeout=60), 0)
        return meanwhile


class OneIsOld(TwoDrivesTest):
    """A folder that is there when the program starts, and is not what it should be."""

    @by_each_method
    def test_and_misses_a_shard(self, *options):
        part = self.new_folder()
        for shard in sorted(MODEL.glob('*.safetensors'))[:5]:
            (part / shard.name).symlink_to(shard)
        self.answers(MODEL, '--volume', part, *options)


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])

"""Drives that fail under the only copy of a model: python3 one_copy_test.py SLUICE FUSE_DRIVE READ_FAULTS [CLASS...]

Without these tests the reading code would be known to handle only those failures that a simulation imagines.
"""

import sys
import unittest

from drives import FOR_GOOD
from fault_test import ANSWER, OPTIONS, RATE, DriveTest, Range, by_each_method

EXPERTS = Range(r'layers\.5\.block_sparse_moe\.experts\.')
MATRIX = Range(r'layers\.5\.self_attn\.q_proj\.')


class FailedReads(DriveTest):
    @by_each_method
    def test_one_is_made_again(self, *options):
        drive = self.drive()
        for place in (EXPERTS, MATRIX):
            before = drive.status().faulty
            drive.tell('error', place, 1)
            self.answers(drive.path, *options)
            self.assertEqual(drive.status().faulty, before + 1)

    @by_each_method
    def test_for_good_the_error_says_what_was_lost_and_where(self, *options):
        drive = self.drive()
        for place, name in ((EXPERTS, r'expert \d+ of layer 5'), (MATRIX, r'layers\.5\.\S*q_proj')):
            drive.tell('error', place, FOR_GOOD)
            self.fails(drive.path, *options, says=[place.file, name, 'Input/output error', 'drive'])
            drive.tell('clear')
        self.answers(drive.path, *options)


class ShortReads(DriveTest):
    @by_each_method
    def test_the_rest_is_read_too(self, *options):
        drive = self.drive()
        drive.tell('short', EXPERTS, FOR_GOOD)
        drive.tell('short', MATRIX, FOR_GOOD)
        self.answers(drive.path, *options)
        self.assertGreater(drive.status().faulty, 2)

    @by_each_method
    def test_of_a_file_that_has_become_shorter(self, *options):
        drive = self.drive()
        drive.tell('empty', EXPERTS, FOR_GOOD)
        self.fails(drive.path, *options, says=[EXPERTS.file, r'expert \d+ of layer 5', 'the file ends before'])


class SlowDrive(DriveTest):
    @by_each_method
    def test_that_pauses_for_two_seconds(self, *options):
        drive = self.drive()
        self.soon(drive, 'stall 2000', [drive.path], *options)
        self.answers(drive.path, *options)

    @by_each_method
    def test_that_falls_to_three_tenths_of_its_rate(self, *options):
        drive = self.drive()
        self.soon(drive, f'rate {RATE * 3 // 10}', [drive.path], *options)
        self.answers(drive.path, *options)


class LostDrive(DriveTest):
    @by_each_method
    def test_ends_the_run_and_serves_the_next_when_it_is_back(self, *options):
        drive = self.drive()
        self.soon(drive, 'gone', [drive.path], *options)
        self.fails(drive.path, *options, says=[r'model-000\d\d-of', 'No such device', r'offset \d+'])
        drive.tell('back')
        self.answers(drive.path, *options)

    @by_each_method
    def test_ends_one_answer_of_a_conversation_and_not_the_conversation(self, *options):
        drive = self.drive()
        chat = self.start('chat', drive.path, *OPTIONS, '--effort', 'none', *options)

        def ask():
            chat.stdin.write('/reset\nWhat is the capital of France?\n')
            chat.stdin.flush()

        ask()
        self.assertEqual(chat.stdout.readline(), ANSWER)
        drive.tell('gone')
        ask()
        self.assertRegex(chat.stderr.readline(), r'model-000\d\d-of.*No such device')
        self.assertIsNone(chat.poll())
        drive.tell('back')
        ask()
        self.assertEqual(chat.stdout.readline(), ANSWER)


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])

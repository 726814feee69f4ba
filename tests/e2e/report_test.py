"""Drives --read-trace, report and the statistics of reading: python3 report_test.py PATH_OF_SLUICE [CLASS...]

Without these tests the figures by which drives are bought and blamed could leave reads out.
"""

import csv
import io
import json
import re
import resource
import shutil
import struct
import subprocess
import sys
import unittest
import zlib
from typing import NamedTuple
from xml.etree import ElementTree

from sluice_test import SLUICE, SluiceTest

PROMPT = ('--prompt-ids', '3,1,4,1,5', '--max-new', '6', '--ignore-eos')


class Bytes:
    """Takes the body of a block apart, as docs/formats.md has it."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def get(self, layout):
        values = struct.unpack_from('<' + layout, self.data, self.at)
        self.at += struct.calcsize('<' + layout)
        return values if len(values) > 1 else values[0]

    def text(self):
        size = self.get('I')
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def list(self, entry):
        return [entry() for _ in range(self.get('I'))]


# What the entries of each kind of block look like.
ENTRIES = {b'READ': 'QQQIIIIHHBBBB', b'RQST': 'QQQIIII', b'WAIT': 'QQQII', b'WSTE': 'QQQII'}


class Trace(NamedTuple):
    header: dict
    reads: list
    requests: list
    waits: list
    wastes: list
    lost: int  # entries that are missing
    counters: dict


def read_blocks(path):
    """Magic and body of each block, whose checksums are right."""
    data, at, blocks = path.read_bytes(), 0, []
    while at < len(data):
        magic, size = struct.unpack_from('<4sI', data, at)
        crc = struct.unpack_from('<I', data, at + 8 + size)[0]
        assert crc == zlib.crc32(data[at:at + 8 + size])
        blocks.append((magic, Bytes(data[at + 8:at + 8 + size])))
        at += 12 + size
    return blocks


def read_trace(path):
    blocks = read_blocks(path)
    assert (blocks[0][0], blocks[-1][0]) == (b'SLRD', b'ENDS')
    head, end = blocks[0][1], blocks[-1][1]
    header = {'version': head.get('I'), 'fingerprint': head.get('Q'), 'priorities': head.list(head.text),
              'outcomes': head.list(head.text), 'drives': head.list(head.text),
              'files': head.list(lambda: (head.get('H'), head.text())), 'panels': head.list(head.text),
              'experts': head.list(lambda: head.get('III'))}
    entries, lost = {magic: [] for magic in ENTRIES}, 0
    for magic, block in blocks[1:-1]:
        lost += block.get('Q')
        entries[magic] += block.list(lambda block=block, layout=ENTRIES[magic]: block.get(layout))
    counters = dict(end.list(lambda: (end.text(), end.get('Q'))))
    for _, block in blocks:
        assert block is end or block.at == len(block.data)
    return Trace(header, *(entries[magic] for magic in ENTRIES), lost, counters)


def drive_bytes(phase):
    return sum(sum(drive['bytes'].values()) for drive in phase['drives'])


class Report(SluiceTest):
    def traced(self, *options):
        """The report of a run and the path of its trace."""
        path = self.folder / f'{self.id()}.slrd'
        return json.loads(self.ok('run', self.model, *PROMPT, '--json', '--read-trace', path, *options)), path

    def least_memory(self):
        """The smallest budget for such a run, with which experts are read again in each pass."""
        error = self.fails(6, 'run', self.model, *PROMPT, '--json', '--memory', '64KiB', '--read-trace',
                           self.folder / 'least.slrd')
        return re.search(r'--memory[ =](\d+)\b', error)[1]

    def test_the_sums_by_drive_are_the_bytes_of_the_run(self):
        report, path = self.traced()
        self.assertEqual(report['ids'], self.ids(*PROMPT))
        stats = report['stats']
        for phase in (stats['prefill'], stats['decode']):
            self.assertEqual(drive_bytes(phase), phase['device_bytes'])
            self.assertAlmostEqual(phase['waiting_seconds'] + phase['computing_seconds'], phase['seconds'], 3)
        self.assertGreater(drive_bytes(stats['prefill']), 0)
        summary = json.loads(self.ok('report', path, '--json'))
        self.assertTrue(summary['finished'])
        self.assertEqual(summary['counters']['device_bytes'], drive_bytes(summary))
        # Reads that a hint began may end between passes and belong to none; nothing is waited for there.
        self.assertGreaterEqual(drive_bytes(summary), drive_bytes(stats['prefill']) + drive_bytes(stats['decode']))
        for name in ('expert_hits', 'expert_misses', 'expert_bytes_missed'):
            self.assertEqual(summary['counters'][name], stats['prefill'][name] + stats['decode'][name])
        waiting = stats['prefill']['waiting_seconds'] + stats['decode']['waiting_seconds']
        self.assertAlmostEqual(summary['waiting_seconds'], waiting, 8)
        self.assertEqual(round(1e9 * summary['waiting_seconds']), summary['counters']['waiting_ns'])
        self.assertEqual(summary['reads'], sum(sum(drive['reads'].values()) for drive in summary['drives']))
        self.assertGreater(sum(drive['last'] for drive in summary['drives']), 0)

    def test_layers_and_drives_divide_the_totals(self):
        _, path = self.traced('--memory', self.least_memory())
        report = json.loads(self.ok('report', path, '--json'))
        counters, layers, drives = report['counters'], report['layers'], report['drives']
        self.assertEqual(sum(layer['missed'] for layer in layers), counters['expert_misses'])
        self.assertEqual(sum(layer['experts'] for layer in layers),
                         counters['expert_hits'] + counters['expert_misses'])
        self.assertEqual(sum(layer['requests'] for layer in layers), report['passes'] * len(layers))
        self.assertEqual(sum(drive['wasted_bytes'] for drive in drives), counters['hint_bytes_wasted'])
        self.assertEqual(sum(sum(layer['last'].values()) for layer in layers), report['barriers'])
        waiting = sum(layer['waiting_expert_seconds'] for layer in layers)
        self.assertAlmostEqual(waiting, report['waiting_expert_seconds'], 8)
        self.assertGreater(report['computing_seconds'], 0)
        for layer in layers:
            self.assertGreaterEqual(layer['seconds'] + 1e-9,
                                    layer['waiting_expert_seconds'] + layer['waiting_spine_seconds'])

    def test_people_get_a_verdict_and_tables(self):
        _, path = self.traced()
        lines = self.ok('report', path).splitlines()
        self.assertRegex(lines[0], '^(No drive failed|Nothing failed or stalled|Look at )')
        self.assertTrue(any(line.startswith(str(self.model)) for line in lines))
        self.assertRegex(lines[-1], r'^The engine waited for reads \d+ % of the time')
        layers = [line for line in self.ok('report', path, '--layers').splitlines()]
        self.assertEqual(len(layers) - len(lines), len(read_trace(path).header['experts']) + 2)

    def test_a_drawing_has_a_row_for_each_drive_and_the_engine(self):
        _, path = self.traced()
        drawing = self.folder / 'drawing.svg'
        for window in ((), ('--passes', '1'), ('--from', '0', '--to', '0.001')):
            self.ok('report', path, '--svg', drawing, *window)
            texts = [element.text for element in ElementTree.parse(drawing).iter() if element.text]
            self.assertIn('engine', texts)
            self.assertTrue(any(text.endswith(self.model.name) for text in texts))
        self.fails(2, 'report', path, '--svg', drawing, '--from', '1000', says=['nothing happened then'])
        self.fails(2, 'report', path, '--passes', '1', says=['--svg'])

    def test_the_file_is_as_the_manual_has_it(self):
        _, path = self.traced()
        trace = read_trace(path)
        header, reads, counters = trace.header, trace.reads, trace.counters
        summary = json.loads(self.ok('report', path, '--json'))
        self.assertEqual((header['version'], f'{header["fingerprint"]:016x}'), (2, summary['fingerprint']))
        self.assertEqual(header['priorities'], ['spine', 'expert', 'hint', 'fill'])
        self.assertEqual(header['drives'], [str(self.model)])
        self.assertEqual(sorted(file for _, file in header['files']), sorted(map(str, self.model.glob('*.safetensors'))))
        self.assertEqual((len(reads), trace.lost), (summary['reads'], 0))
        self.assertEqual(counters, summary['counters'])
        self.assertEqual(sum(read[5] for read in reads), counters['device_bytes'])
        self.assertEqual(sum(wait[1] for wait in trace.waits), counters['waiting_ns'])
        self.assertEqual(sum(waste[2] for waste in trace.wastes), counters['hint_bytes_wasted'])
        self.assertEqual(sum(request[4] for request in trace.requests),
                         counters['expert_hits'] + counters['expert_misses'])
        self.assertEqual(sum(request[5] for request in trace.requests), counters['expert_misses'])
        rows = list(csv.DictReader(io.StringIO(self.ok('report', path, '--csv'))))
        self.assertEqual(len(rows), len(reads))
        for row, read in zip(rows, reads):
            self.assertEqual([int(row[name]) for name in ('started_ns', 'duration_ns', 'round', 'segment', 'piece',
                                                          'bytes')], list(read[:6]))
            self.assertEqual(int(row['queued_bytes']), 4096 * read[6])
            self.assertEqual((row['file'], row['drive']), (header['files'][read[7]][1], header['drives'][0]))
            self.assertEqual((row['priority'], row['outcome']), (header['priorities'][read[9]], 'good'))
            if read[3] < len(header['panels']):
                name = header['panels'][read[3]]
            else:
                layer, first, _ = [entry for entry in header['experts'] if entry[1] <= read[3]][-1]
                name = f'expert {read[3] - first} of layer {layer}'
            self.assertEqual(row['segment_name'], name)

    def test_every_command_that_runs_a_model_writes_one(self):
        text = self.folder / 'text.txt'
        text.write_text('A short text.')
        for name, arguments in (('chat', ('--max-new', '3')), ('eval', ('--text', text, '--quiet'))):
            path = self.folder / f'{name}.slrd'
            self.ok(name, self.model, *arguments, '--read-trace', path, stdin='Hi\n')
            trace = read_trace(path)
            self.assertEqual(sum(read[5] for read in trace.reads), trace.counters['device_bytes'])
            self.assertGreater(len(trace.reads), 0)

    def test_a_run_that_fails_leaves_its_reads(self):
        broken, path = self.folder / 'broken', self.folder / 'broken.slrd'
        shutil.copytree(self.model, broken)
        for shard in broken.glob('*.safetensors'):
            data = bytearray(shard.read_bytes())
            begin = 8 + struct.unpack_from('<Q', data)[0]
            tensors = json.loads(data[8:begin])
            for name, entry in tensors.items():
                if 'experts' in name and name.endswith('scale'):
                    first, last = entry['data_offsets']
                    data[begin + first:begin + last] = b'\xff' * (last - first)
            shard.write_bytes(data)
        self.fails(4, 'run', broken, *PROMPT, '--print-ids', '--read-trace', path, says=['255'])
        trace = read_trace(path)
        self.assertEqual(sum(read[5] for read in trace.reads), trace.counters['device_bytes'])
        self.assertGreater(len(trace.reads), 0)

    def test_a_full_disk_ends_the_trace_and_not_the_run(self):
        _, path = self.traced()
        room = 12 + struct.unpack_from('<I', path.read_bytes(), 4)[0] + 100
        # This program ignores the signal of a file that grows too long, so that a write fails instead.
        done = subprocess.run([SLUICE, 'run', self.model, *PROMPT, '--print-ids', '--read-trace', path], text=True,
                              capture_output=True, timeout=200, restore_signals=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)))
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn(str(path), done.stderr)
        self.assertEqual(done.stdout, ','.join(map(str, self.ids(*PROMPT))) + '\n')

    def test_a_trace_that_was_cut_says_so(self):
        _, path = self.traced()
        cut = self.folder / 'cut.slrd'
        cut.write_bytes(path.read_bytes()[:-1])
        done = self.run_sluice('report', cut, '--json')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(json.loads(done.stdout)['finished'])
        self.assertIn('did not end', done.stderr)
        self.assertIn('no whole block', done.stderr)

    def test_what_cannot_be_is_refused(self):
        text = self.folder / 'no_trace.txt'
        text.write_text('no trace')
        self.fails(4, 'report', text, says=['no_trace.txt', 'not a read trace'])
        self.fails(3, 'report', self.folder / 'none.slrd', says=['none.slrd'])
        self.fails(2, 'report', text, '--json', '--csv', says=['--csv'])
        self.fails(5, 'run', self.model, *PROMPT, '--read-trace', self.folder / 'no' / 'folder.slrd',
                   says=['--read-trace'])


class Statistics(SluiceTest):
    def test_a_table_of_the_drives_follows_the_speeds(self):
        done = self.run_sluice('run', self.model, *PROMPT, '--stats')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r'(?m)^[\d.]+ tokens/s, .*, drives busy [\d.]+ %$')
        self.assertRegex(done.stderr, r'(?m)hints: \d+ of \d+ used')
        lines = [line for line in done.stderr.splitlines() if line.startswith(str(self.model))]
        self.assertEqual(len(lines), 1)
        self.assertRegex(lines[0], r'100\.0 % .* -$')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])

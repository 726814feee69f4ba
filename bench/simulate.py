"""Compares `sluice simulate` with `sluice run` on emulated drives, before and after the weights are placed anew.

usage: simulate.py SLUICE FUSE_DRIVE [options]. Both run the same tokens through the same experts.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'tests' / 'faults'))

from drives import FuseDrive, why_no_fuse  # noqa: E402

SKIPPED = 77
# Experts have the released size, the rest is as small as may be, so that they decide.
SHAPE = {'hidden': 1024, 'vocab': 2048, 'mla_heads': 8, 'q_lora': 256, 'kv_lora': 256, 'nope': 64, 'rope': 32,
         'value': 64, 'kda_heads': 8, 'kda_dim': 64, 'dense_hidden': 2048, 'expert_hidden': 3072, 'latent': 3584,
         'shared': 1}
USUAL_COMPUTING = 'bf16=20GB/s,mxfp4=13GB/s'  # scaled to the time that the run computed
STALL_MS = 60
ROOM = 0.8  # of the model, on each drive
SKEW = 3    # times as much on the first drive, before the weights are placed anew


class DriveSet(NamedTuple):
    name: str
    shares: tuple[float, ...]  # of the full rate
    stalls: bool = False       # the last drive stalls now and then

    def names(self) -> list[str]:
        return [chr(ord('a') + i) for i in range(len(self.shares))]


SETS = (DriveSet('two equal', (1.0, 1.0)), DriveSet('four equal', (1.0,) * 4),
        DriveSet('1 : 0.5 : 0.5 : 0.4', (1.0, 0.5, 0.5, 0.4)),
        DriveSet('four equal, one stalling', (1.0,) * 4, stalls=True))


class Bench:
    """The programs, a model, and its packs in a folder that is memory."""

    def __init__(self, options: argparse.Namespace, folder: Path):
        self.options = options
        self.folder = folder
        self.model = folder / 'model'
        shape = folder / 'shape.json'
        shape.write_text(json.dumps(SHAPE | {'layers': options.layers, 'experts': options.experts,
                                             'top_k': options.top_k}))
        self.sluice('synth', '--shape', shape, '--to', self.model, '--quiet')

    def sluice(self, *arguments: object) -> str:
        done = subprocess.run([self.options.sluice, *map(str, arguments)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f'sluice {" ".join(map(str, arguments))}: {done.stderr}')
        return done.stdout

    def pack(self, drives: DriveSet, place: Path) -> Path:
        """The folder of a model whose packs lie in place/NAME, most of them on the first drive."""
        words: list[object] = ['pack', self.model, '--model', place / 'packed', '--quiet']
        (place / 'packed').mkdir()
        bytes_of_model = sum(file.stat().st_size for file in self.model.glob('*.safetensors'))
        for name in drives.names():
            (place / name).mkdir()
            words += ['--to', f'{name}={place / name}:{int(ROOM * bytes_of_model)}', '--rate',
                      f'{name}={SKEW if name == drives.names()[0] else 1}']
        self.sluice(*words)
        return place / 'packed'

    def place(self, drives: DriveSet, packed: Path, routes: Path) -> None:
        """Moves the packs to where `sluice place` wants them."""
        words: list[object] = ['place', 'plan', packed, '--separate', '--routes', routes, '--spine-reads', 0]
        for name, share in zip(drives.names(), drives.shares):
            words += ['--rate', f'{name}={self.options.rate * share / 1e6}']
        self.sluice(*words)
        self.sluice('place', 'apply', packed, '--quiet')

    def request(self) -> list[object]:
        ids = ','.join(str(i * 37 % SHAPE['vocab']) for i in range(self.options.prompt_tokens))
        return ['--prompt-ids', ids, '--max-new', self.options.tokens, '--ignore-eos', '--json', '--quiet',
                '--threads', 1, '--memory', self.options.memory, '--hints', self.options.hints]

    def run(self, drives: DriveSet, packed: Path, routes: Path) -> dict:
        """What `sluice run` says of the answer on emulated drives, and what those did."""
        with contextlib.ExitStack() as stack:
            volumes, fuse = [], []
            for name, share in zip(drives.names(), drives.shares):
                point = Path(tempfile.mkdtemp(dir=self.folder))
                fuse.append(FuseDrive(self.options.fuse_drive, packed.parent / name, point,
                                      int(self.options.rate * share)))
                stack.callback(fuse[-1].close)
                fuse[-1].tell('latency', self.options.latency)
                volumes += ['--volume', point]
            if drives.stalls:
                for stall in range(1, self.options.stalls):
                    fuse[-1].tell('after', stall * self.options.reads_between_stalls, 'stall', STALL_MS)
            report = json.loads(self.sluice('run', packed, *self.request(), *volumes, '--routes', routes))
            stats = report['stats']
            stats['fuse_reads'] = fuse[-1].status().reads
            return stats

    def drive_options(self, drives: DriveSet, stats: dict) -> list[str]:
        """The same drives for the simulation."""
        words = []
        for name, share in zip(drives.names(), drives.shares):
            word = f'{name}={self.options.rate * share / 1e9}GB/s,latency={self.options.latency}us,spread=0us'
            if drives.stalls and name == drives.names()[-1]:
                last = stats['decode']['drives'][-1]
                reads_share = stats['fuse_reads'] / max(1, self.reads_of(stats, last['name']))
                word += f',stall={reads_share / self.options.reads_between_stalls}:{STALL_MS}ms'
            words += ['--drive', word]
        return words

    @staticmethod
    def reads_of(stats: dict, name: str) -> int:
        return sum(sum(drive['reads'].values()) for phase in ('prefill', 'decode')
                   for drive in stats[phase]['drives'] if drive['name'] == name)

    def simulate(self, drives: DriveSet, packed: Path, routes: Path, stats: dict, computing: str) -> dict:
        words: list[object] = ['simulate', packed, '--as-stored', '--routes', routes, '--prompt-tokens',
                               self.options.prompt_tokens, '--tokens', self.options.tokens - 1, '--threads', 1,
                               '--memory', self.options.memory, '--hints', self.options.hints,
                               '--recall', self.options.recall, '--seeds', 3, '--json', '--quiet']
        for name in drives.names():
            words += ['--volume', packed.parent / name]
        words += self.drive_options(drives, stats)
        words += ['--computing', computing]
        return json.loads(self.sluice(*words))

    def compare(self, drives: DriveSet) -> list[dict]:
        """Measured and simulated figures before and after the weights are placed anew."""
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            packed, routes = self.pack(drives, Path(name)), Path(name) / 'routes'
            before = self.measure(drives, packed, routes, 'most on the first')
            self.place(drives, packed, routes)
            return [before, self.measure(drives, packed, routes, '`sluice place`')]

    def measure(self, drives: DriveSet, packed: Path, routes: Path, placement: str) -> dict:
        stats = self.run(drives, packed, routes)
        decode = stats['decode']
        per_token = 1e3 / decode['tokens']
        computing_ms = decode['computing_seconds'] * per_token
        trial = self.simulate(drives, packed, routes, stats, USUAL_COMPUTING)
        factor = trial['cases'][0]['computing_ms_per_token'] / computing_ms
        simulated = self.simulate(drives, packed, routes, stats, scaled(trial['computing'], factor))['cases'][0]
        ratio = simulated['tokens_per_second'] / decode['tokens_per_second']
        print(f'{drives.name}, {placement}: ratio {ratio:.3f}', file=sys.stderr)
        return {'drives': drives.name, 'placement': placement, 'measured': decode['tokens_per_second'],
                'simulated': simulated['tokens_per_second'], 'ratio': ratio,
                'measured_waiting_ms': decode['waiting_seconds'] * per_token,
                'simulated_waiting_ms': simulated['waiting_ms_per_token'],
                'computing_ms': computing_ms, 'simulated_computing_ms': simulated['computing_ms_per_token'],
                'measured_bytes_per_token': decode['device_bytes'] / decode['tokens'],
                'simulated_bytes_per_token': simulated['bytes_per_token']}


def scaled(rates: dict, factor: float) -> str:
    """The option that makes everything take 1 / factor of its time."""
    names = {'bf16': 'bf16_bytes_per_second', 'mxfp4': 'mxfp4_bytes_per_second', 'state': 'state_bytes_per_second',
             'attention': 'attention_products_per_second', 'vector': 'vector_bytes_per_second'}
    words = [f'{name}={rates[field] * factor / 1e9}' for name, field in names.items()]
    words += [f'bf16-row={rates["bf16_further_row"]}', f'mxfp4-row={rates["mxfp4_further_row"]}',
              f'operation={rates["operation_ms"] / factor * 1e6}ns']
    return ','.join(words)


def print_table(rows: list[dict]) -> None:
    print('| drives | placement | measured tokens/s | simulated | ratio | waiting | computing '
          '| GB a token |\n|---|---|---|---|---|---|---|---|')
    for row in rows:
        cells = [row['drives'], row['placement'], f'{row["measured"]:.3f}', f'{row["simulated"]:.3f}',
                 f'{row["ratio"]:.3f}', f'{row["measured_waiting_ms"]:.0f}, {row["simulated_waiting_ms"]:.0f} ms',
                 f'{row["computing_ms"]:.0f}, {row["simulated_computing_ms"]:.0f} ms',
                 f'{row["measured_bytes_per_token"] / 1e9:.3f}, {row["simulated_bytes_per_token"] / 1e9:.3f}']
        print(f'| {" | ".join(cells)} |')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('sluice', help='the program')
    parser.add_argument('fuse_drive', nargs='?', default='', help='the program fuse_drive')
    parser.add_argument('--rate', type=float, default=100e6, help='bytes per second of a whole drive')
    parser.add_argument('--latency', type=int, default=100, help='microseconds')
    parser.add_argument('--layers', type=int, default=5)
    parser.add_argument('--experts', type=int, default=20, help='of a layer')
    parser.add_argument('--top-k', type=int, default=6, help='experts of a token in a layer')
    parser.add_argument('--memory', default='800MiB', help='budget of the program')
    parser.add_argument('--prompt-tokens', type=int, default=4)
    parser.add_argument('--tokens', type=int, default=33)
    parser.add_argument('--hints', choices=('on', 'off'), default='on')
    parser.add_argument('--recall', type=float, default=0.65, help='of the guesses, in the simulation')
    parser.add_argument('--stalls', type=int, default=200, help='most stalls of the stalling drive')
    parser.add_argument('--reads-between-stalls', type=int, default=100)
    parser.add_argument('--sets', type=int, default=len(SETS), help='how many of the drive sets')
    parser.add_argument('--json', action='store_true', help='print one array')
    options = parser.parse_args()
    if reason := why_no_fuse(options.fuse_drive):
        print(f'skipped: {reason}', file=sys.stderr)
        return SKIPPED
    memory = '/dev/shm' if os.path.isdir('/dev/shm') else None
    rows = []
    with tempfile.TemporaryDirectory(prefix='sluice-simulate-', dir=memory) as name:
        bench = Bench(options, Path(name))
        for drives in SETS[:options.sets]:
            rows += bench.compare(drives)
    if options.json:
        print(json.dumps(rows))
    else:
        print_table(rows)
    return 0


if __name__ == '__main__':
    sys.exit(main())

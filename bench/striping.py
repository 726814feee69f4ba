"""Runs striping_bench over emulated drives: 1, 2 and 4 equal ones, and 1 : 0.5 : 0.5 : 0.4.

usage: striping.py STRIPING_BENCH FUSE_DRIVE [options]. fio reads the same drives where it is installed.
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'tests' / 'faults'))

from drives import FuseDrive, why_no_fuse  # noqa: E402

SETS = {'equal': (1.0, 1.0, 1.0, 1.0), 'unequal': (1.0, 0.5, 0.5, 0.4)}
SKIPPED = 77


def write_data(folder: Path, mebibytes: int) -> None:
    """The file that every drive shows, of random bytes."""
    folder.mkdir()
    with open(folder / 'data', 'wb') as file:
        for _ in range(mebibytes):
            file.write(os.urandom(1 << 20))


def fio_rates(drives: list[FuseDrive], seconds: float) -> list[float]:
    """Bytes per second of fio on all drives at the same time, with its best settings for them."""
    jobs = [subprocess.Popen(
        ['fio', '--name=reads', f'--filename={drive.path / "data"}', '--readonly', '--rw=read', '--direct=1',
         '--ioengine=io_uring', '--bs=1m', '--iodepth=16', '--time_based', f'--runtime={int(seconds * 1000)}ms',
         '--output-format=json'], stdout=subprocess.PIPE, text=True) for drive in drives]
    outputs = [job.communicate()[0] for job in jobs]
    return [json.loads(text[text.index('{'):])['jobs'][0]['read']['bw_bytes'] for text in outputs]


def measure(shares: tuple[float, ...], folder: Path, options: argparse.Namespace) -> dict:
    """The report of striping_bench over drives with these shares of the full rate."""
    with contextlib.ExitStack() as stack:
        drives = []
        for share in shares:
            point = Path(tempfile.mkdtemp(dir=folder))
            drives.append(FuseDrive(options.fuse_drive, folder / 'files', point, int(options.rate * share)))
            stack.callback(drives[-1].close)
            drives[-1].tell('latency', options.latency)
        done = subprocess.run(
            [options.bench, '--json', '--seconds', str(options.seconds), '--turns', str(options.turns),
             *(drive.path / 'data' for drive in drives)], check=True, stdout=subprocess.PIPE, text=True)
        report = json.loads(done.stdout)
        report['rates'] = [options.rate * share for share in shares]
        if shutil.which('fio'):
            report['fio'] = fio_rates(drives, options.seconds)
        return report


def print_table(name: str, report: dict) -> None:
    gigabytes = [f'{rate / 1e9:.3f}' for rate in report['single']]
    print(f'{name} drives; each alone: {" ".join(gigabytes)} GB/s')
    for entry in report['sets']:
        print(f'  {entry["drives"]} drives, {entry["placement"]}: {entry["bytes_per_second"] / 1e9:.3f} GB/s, '
              f'{entry["share_of_sum"]:.3f} of the sum, {entry["bytes_read_per_byte"]:.3f} bytes read per byte')
    if 'fio' in report:
        total = sum(report['fio'])
        print(f'  {len(report["fio"])} drives, fio: {total / 1e9:.3f} GB/s, {total / sum(report["rates"]):.3f} '
              'of what they are set to')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('bench', help='the program striping_bench')
    parser.add_argument('fuse_drive', nargs='?', default='', help='the program fuse_drive')
    parser.add_argument('--rate', type=float, default=400e6, help='bytes per second of a whole drive')
    parser.add_argument('--latency', type=int, default=100, help='microseconds')
    parser.add_argument('--mebibytes', type=int, default=512, help='length of the file')
    parser.add_argument('--seconds', type=float, default=4, help='of one measurement')
    parser.add_argument('--turns', type=int, default=3, help='the best one counts')
    parser.add_argument('--json', action='store_true', help='print one object')
    options = parser.parse_args()
    if reason := why_no_fuse(options.fuse_drive):
        print(f'skipped: {reason}', file=sys.stderr)
        return SKIPPED
    memory = '/dev/shm' if os.path.isdir('/dev/shm') else None
    with tempfile.TemporaryDirectory(prefix='sluice-striping-', dir=memory) as name:
        folder = Path(name)
        write_data(folder / 'files', options.mebibytes)
        reports = {name: measure(shares, folder, options) for name, shares in SETS.items()}
    if options.json:
        print(json.dumps(reports))
    else:
        for name, report in reports.items():
            print_table(name, report)
    return 0


if __name__ == '__main__':
    sys.exit(main())

"""Folders as drives with a rate of their own and faults that can be switched: the other side of fuse_drive."""

import os
import subprocess
from pathlib import Path
from typing import Callable, NamedTuple

FOR_GOOD = 1 << 62


def why_no_fuse(program: str | None) -> str:
    """Why there can be no such drive of fuse_drive, the program, here; empty when there can."""
    if not program:
        return 'built without libfuse3'
    try:
        os.close(os.open('/dev/fuse', os.O_RDWR))
    except OSError as error:
        return f'/dev/fuse: {error.strerror}'
    return ''


def ever(look: Callable[[], bool], tries: int = 4) -> bool:
    """Whether one of a few looks in real time shows it: on a busy machine a fast drive may seem slow once."""
    return any(look() for _ in range(tries))


class Status(NamedTuple):
    reads: int    # answered
    bytes: int    # likewise
    waiting: int  # reads that are not answered yet
    faulty: int   # faults that reads have met


class FuseDrive:
    """Shows the files that `folder` has now under `mount_point`, an empty folder, until close()."""

    def __init__(self, program: str, folder: Path, mount_point: Path, rate: int = 0):
        self.path = mount_point
        self._daemon = subprocess.Popen([program, folder, mount_point], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        line = self._daemon.stdout.readline()
        if line != 'ready\n':
            self.close()
            raise RuntimeError(f'{program} could not mount {mount_point}: {line}')
        self.tell('rate', rate)

    def tell(self, *words: object) -> str:
        """Gives a command (fuse_drive without arguments lists them) and returns what follows its "ok"."""
        self._daemon.stdin.write(' '.join(map(str, words)) + '\n')
        self._daemon.stdin.flush()
        answer = self._daemon.stdout.readline()
        if not answer.startswith('ok'):
            raise ValueError(answer.strip() or 'fuse_drive has ended')
        return answer[2:].strip()

    def status(self) -> Status:
        return Status(*map(int, self.tell('status').split()))

    def close(self) -> None:
        """Ends the daemon, which refuses what waits and takes its mount away."""
        self._daemon.stdin.close()
        self._daemon.stdout.close()
        self._daemon.wait(timeout=30)

"""The program gives the same logits bits on every processor: one constant for all builds and instruction sets.

    same_bits_test.py "COMMAND OF SLUICE" MODEL EXPECTED_FILE [--update]

COMMAND may hold an emulator in front of the program. Without this test a kernel for another processor could print
other text than the one that was checked against the goldens.
"""
import hashlib
import pathlib
import shlex
import subprocess
import sys
import tempfile

PROMPT = ','.join(str(i * 37 % 500) for i in range(41))
TARGETS = ('scalar', 'avx2', 'avx512', 'neon')
UNSUPPORTED = 7  # The exit code for an instruction set that this processor or build lacks.


def digest(command, model, *options):
    """SHA-256 of the .npy of all logits; nothing when the instruction set is not there."""
    with tempfile.TemporaryDirectory() as folder:
        logits = pathlib.Path(folder) / 'logits.npy'
        run = subprocess.run([*command, 'run', model, '--prompt-ids', PROMPT, '--max-new', '8', '--ignore-eos',
                              '--print-ids', '--quiet', '--memory', '256MiB', '--logits', logits, *options],
                             capture_output=True, text=True, timeout=280, check=False)
        if run.returncode == UNSUPPORTED:
            return None
        assert run.returncode == 0, run.stderr
        return hashlib.sha256(logits.read_bytes()).hexdigest()


def main():
    command, model, expected_file = shlex.split(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    if '--update' in sys.argv:
        expected_file.write_text(digest(command, model, '--target', 'scalar') + '\n')
        return
    expected = expected_file.read_text().strip()
    found = {'default': digest(command, model)}
    for target in TARGETS:
        found[target] = digest(command, model, '--target', target)
    for threads in ('1', '3'):
        found[f'{threads} threads'] = digest(command, model, '--threads', threads)
    ran = {how: value for how, value in found.items() if value is not None}
    for how, value in ran.items():
        print(f'{how}: {value}')
    assert 'scalar' in ran and len(ran) >= 5, 'the scalar target and one of this processor must run'
    wrong = [how for how, value in ran.items() if value != expected]
    assert not wrong, f'other bits than {expected}: {wrong}'


main()

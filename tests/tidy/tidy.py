"""Checks the whole tree against rules.py. Without it the layers, sizes and docs would drift silently."""

import argparse
import json
import os
import sys
from pathlib import Path

import rules

# Neither source nor documentation: the repository itself, build output, caches and editors' folders.
SKIPPED_FOLDERS = {'.git', 'build', '__pycache__', '.cache', '.idea', '.vscode'}


def load(root: Path, compile_commands: Path | None) -> rules.Tree:
    tree = rules.Tree({})
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = sorted(set(subfolders) - SKIPPED_FOLDERS)
        for name in names:
            file = Path(folder, name)
            path = file.relative_to(root).as_posix()
            data = file.read_bytes()
            # Corpus inputs are data even where they happen to be text.
            if b'\0' in data or path.startswith('tests/fuzz/corpus/'):
                tree.binaries.add(path)
                continue
            try:
                tree.texts[path] = data.decode()
            except UnicodeDecodeError:
                tree.binaries.add(path)
    if compile_commands is not None:
        entries = json.loads(compile_commands.read_text())
        files = {Path(entry['directory'], entry['file']).resolve() for entry in entries}
        tree.compiled = {file.relative_to(root).as_posix() for file in files if file.is_relative_to(root)}
    return tree


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('root', type=Path)
    parser.add_argument('--compile-commands', type=Path, metavar='FILE',
                        help='compile_commands.json; without it, whether sources are built is not checked')
    options = parser.parse_args()
    tree = load(options.root.resolve(), options.compile_commands)
    violations = [violation for rule in rules.RULES for violation in rule(tree)]
    for path, line, text in violations:
        print(f'{path}:{line}: {text}')
    print(f'tidy: {len(tree.paths)} files, {len(rules.RULES)} rules, {len(violations)} violations')
    return 1 if violations else 0


if __name__ == '__main__':
    sys.exit(main())

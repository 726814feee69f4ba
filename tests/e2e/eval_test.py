"""Drives eval and routes as a user does: python3 eval_test.py PATH_OF_SLUICE [CLASS...]

Without these tests a night of evaluation could end in wrong figures, or be lost with its last hour.
"""

import json
import math
import signal
import struct
import subprocess
import sys
import unittest
import zlib

from sluice_test import SLUICE, SluiceTest, read_npy, read_safetensors

SENTENCE = 'The 7 quick brown foxes jump over 13 lazy dogs; naïve café, 漢字!\n'
QUESTIONS = [
    {'prompt': 'What is 2+2?', 'answers': ['4'], 'kind': 'sums'},
    {'prompt': 'What is 3+3?', 'answers': ['6', 'six'], 'kind': 'sums', 'id': 'ignored'},
    {'prompt': 'The capital of France?', 'answers': ['Paris'], 'kind': 'capitals'},
    {'prompt': 'Say anything.', 'answers': ['anything']},
]
TIMES = {'seconds', 'tokens_per_second'}


class Evaluations:
    """What the tests of eval share."""

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding='utf-8')
        return path

    def write_questions(self, name, questions):
        return self.write(name, ''.join(json.dumps(question) + '\n' for question in questions))

    def eval(self, *options):
        """The figures of an evaluation that must succeed."""
        return json.loads(self.ok('eval', self.model, '--json', '--quiet', *options))

    def figures(self, *options):
        """The same without those that depend on the speed of the machine."""
        return {name: value for name, value in self.eval(*options).items() if name not in TIMES}

    def stop_midway(self, how, progress, done, *options):
        """Ends an evaluation by a signal once it has done so many windows or questions."""
        command = [SLUICE, 'eval', self.model, '--json', '--quiet', '--progress', progress]
        with subprocess.Popen([*map(str, (*command, *options))], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            while process.poll() is None and self.done_in(progress) < done:
                pass
            process.send_signal(how)
            out, _ = process.communicate(timeout=100)
        return process.returncode, out

    def done_in(self, progress):
        return json.loads(progress.read_text())['state']['done'] if progress.exists() else 0


def log_probability(logits, token):
    largest = max(logits)
    total = math.fsum(math.exp(logit - largest) for logit in logits)
    return logits[token] - largest - math.log(total)


class EvalText(Evaluations, SluiceTest):
    def ids_of(self, text):
        dump = self.folder / 'ids.safetensors'
        self.ids('--prompt', text, '--max-new', '0', '--dump', dump)
        _, (count,), data = read_safetensors(dump)['prompt_ids']
        return struct.unpack(f'<{count}i', data)

    def expected(self, ids, window, stride):
        """The log probability of a text, from the logits of `run` on each window."""
        terms, scored, begin = [-math.log(self.vocab)], 1, 0
        logits = self.folder / 'logits.npy'
        while scored < len(ids):
            end = min(begin + window, len(ids))
            window_ids = ','.join(map(str, ids[begin:end]))
            self.ids('--prompt-ids', window_ids, '--max-new', '0', '--logits', logits)
            rows = read_npy(logits)
            terms += [log_probability(rows[i - begin - 1], ids[i]) for i in range(scored, end)]
            scored, begin = end, begin + stride
        return math.fsum(terms)

    def test_figures_are_those_of_the_logits(self):
        text = SENTENCE * 3
        file = self.write('text.txt', text)
        ids = self.ids_of(text)
        size = len(text.encode())
        for window, stride, limit in ((512, 256, 0), (32, 16, 0), (32, 31, 0), (40, 3, 50),
                                      (2, 1, 9)):
            options = ['--window', window, '--stride', stride]
            options += ['--limit-tokens', limit] if limit else []
            report = self.eval('--text', file, *options)
            used = ids[:limit] if limit else ids
            log = self.expected(used, window, stride)
            self.assertEqual(report['tokens'], len(used))
            if not limit:
                self.assertEqual(report['bytes'], size)
            for name, value in (('bits_per_byte', -log / math.log(2) / report['bytes']),
                                ('mean_log_probability', log / len(used)),
                                ('perplexity', math.exp(-log / len(used))),
                                ('byte_perplexity', math.exp(-log / report['bytes']))):
                self.assertTrue(math.isclose(report[name], value, rel_tol=1e-9),
                                (options, name, report, value))

    def test_nothing_but_the_windows_changes_the_figures(self):
        file = self.write('text.txt', SENTENCE * 5)
        options = ('--text', file, '--window', '64')
        figures = self.figures(*options)
        for other in (('--prefill-chunk', '7'), ('--threads', '1'), ('--target', 'scalar'),
                      ('--buffered',), ('--stride', '32'), ('--context', '100')):
            self.assertEqual(self.figures(*options, *other), figures, other)

    def test_a_text_of_one_token_is_as_improbable_as_any(self):
        report = self.eval('--text', self.write('a.txt', 'a'))
        self.assertEqual((report['tokens'], report['bytes'], report['windows']), (1, 1, 0))
        self.assertAlmostEqual(report['bits_per_byte'], math.log2(self.vocab), 12)

    def test_the_report_for_people(self):
        out = self.ok('eval', self.model, '--text', self.write('text.txt', SENTENCE))
        for name in ('bytes', 'tokens', 'bits per byte', 'perplexity of a token',
                     'perplexity of a byte', 'mean log probability', 'tokens/s'):
            self.assertRegex(out, rf'(?m)^{name} +-?[\d.]+$')

    def test_mistakes(self):
        file = self.write('text.txt', SENTENCE)
        eval_model = ('eval', self.model)
        self.fails(2, *eval_model, says=['--text', '--questions'])
        self.fails(2, *eval_model, '--text', file, '--questions', file, says=['one of'])
        self.fails(3, *eval_model, '--text', self.folder / 'none.txt', says=['--text', 'none.txt'])
        self.fails(2, *eval_model, '--text', self.write('empty.txt', ''), says=['empty.txt'])
        broken = self.folder / 'broken.txt'
        broken.write_bytes(b'abc\xff')
        self.fails(2, *eval_model, '--text', broken, says=['broken.txt', 'byte 3'])
        self.fails(2, *eval_model, '--text', file, '--window', '16', '--stride', '16',
                   says=['--stride', '--window'])
        self.fails(2, *eval_model, '--text', file, '--context', '20', says=['--context is 20'])
        for option in (('--raw',), ('--effort', 'low'), ('--limit', '1'), ('--output', 'x'),
                       ('--max-new', '1'), ('--system', ''), ('--stop', 'x')):
            self.fails(2, *eval_model, '--text', file, *option,
                       says=[f'{option[0]} needs --questions'])
        self.fails(2, *eval_model, '--questions', file, '--window', '16',
                   says=['--window needs --text'])
        for option in ('--progress', '--routes'):
            self.fails(5, *eval_model, '--text', file, option, self.folder / 'no' / 'where',
                       says=[option, 'no/where'])


class EvalQuestions(Evaluations, SluiceTest):
    def answers(self, questions, *options):
        output = self.folder / 'answers.jsonl'
        report = self.figures('--questions', questions, '--output', output, *options)
        return report, [json.loads(line) for line in output.read_text().splitlines()]

    def test_answers_are_those_of_run_and_scored(self):
        for name, how in (('chat', ('--effort', 'none')), ('raw', ())):
            options = (*how, *(('--raw',) if name == 'raw' else ()), '--max-new', '9')
            questions = self.write_questions(f'{name}.jsonl', QUESTIONS)
            report, lines = self.answers(questions, *options)
            self.assertEqual((report['questions'], report['right']), (4, 0))
            self.assertEqual([line['index'] for line in lines], [0, 1, 2, 3])
            for line, question in zip(lines, QUESTIONS):
                run = ('--chat', *how) if name == 'chat' else ()
                out = self.ok('run', self.model, '--prompt', question['prompt'], *run, '--json',
                              '--max-new', '9')
                self.assertEqual(line['prompt'], question['prompt'])
                self.assertEqual(line['answer'], json.loads(out)['text'].strip(' \t\r\n'))
                self.assertEqual(line['correct'], False)
            # Two of the answers that the model gives are declared right.
            right = [dict(question) for question in QUESTIONS]
            for i in (1, 3):
                right[i]['answers'] = ['no', f' {lines[i]["answer"]}\n']
            report, lines = self.answers(self.write_questions('right.jsonl', right), *options)
            self.assertEqual([line['correct'] for line in lines], [False, True, False, True])
            self.assertEqual(report['kinds'], {
                'sums': {'questions': 2, 'right': 1, 'share': 0.5},
                'capitals': {'questions': 1, 'right': 0, 'share': 0.0}})
            self.assertEqual((report['questions'], report['right']), (4, 2))
            self.assertEqual(report['share'], 0.5)

    def test_reasoning_is_no_answer(self):
        questions = self.write_questions('q.jsonl', QUESTIONS[:2])
        report, lines = self.answers(questions, '--max-new', '6', '--effort', 'low')
        # Noise does not end its reasoning in six tokens.
        self.assertTrue(all(line['answer'] == '' and line['reasoning'] for line in lines), lines)
        self.assertEqual(report['right'], 0)

    def test_limit_system_and_stop(self):
        questions = self.write_questions('q.jsonl', QUESTIONS)
        short = ('--effort', 'none', '--max-new', '9')
        report, lines = self.answers(questions, *short, '--limit', '2')
        self.assertEqual((report['questions'], len(lines)), (2, 2))
        _, others = self.answers(questions, *short, '--limit', '2', '--system', 'Be brief.')
        self.assertNotEqual(others, lines)
        stop = lines[0]['answer'][1]
        _, stopped = self.answers(questions, *short, '--limit', '1', '--stop', stop)
        self.assertEqual(stopped[0]['answer'], lines[0]['answer'].split(stop)[0].strip())

    def test_the_table_for_people(self):
        questions = self.write_questions('q.jsonl', QUESTIONS)
        out = self.ok('eval', self.model, '--questions', questions, '--max-new', '2')
        self.assertRegex(out, r'(?m)^sums +2 +0 +0\.0 %$')
        self.assertRegex(out, r'(?m)^total +4 +0 +0\.0 %$')

    def test_a_malformed_line_is_named(self):
        good = json.dumps(QUESTIONS[0])
        for line, says in (('{', 'JSON'), ('{"prompt": "x"}', '"answers"'),
                           ('{"answers": ["x"]}', '"prompt"'),
                           ('{"prompt": "x", "answers": [1]}', '"answers"[0]')):
            file = self.write('bad.jsonl', f'{good}\n{line}\n')
            self.fails(2, 'eval', self.model, '--questions', file,
                       says=['bad.jsonl: line 2', says])


class EvalResume(Evaluations, SluiceTest):
    def file_options(self, stem, names):
        return [word for name in names for word in (f'--{name}', self.folder / f'{stem}.{name}')]

    def check(self, *options, files=()):
        """Runs once whole, and once in parts: killed, interrupted, then to the end."""
        whole = self.figures(*options, *self.file_options('whole', files))
        parts = self.file_options('parts', files)
        progress = self.folder / 'progress.json'
        progress.unlink(missing_ok=True)
        code, _ = self.stop_midway(signal.SIGKILL, progress, 2, *options, *parts)
        self.assertEqual(code, -signal.SIGKILL)
        before = self.done_in(progress)
        code, out = self.stop_midway(signal.SIGINT, progress, before + 2, *options, *parts)
        self.assertEqual(code, 130)
        report = json.loads(out)
        self.assertFalse(report['finished'])
        self.assertGreater(self.done_in(progress), before)
        self.assertEqual(self.figures(*options, '--progress', progress, *parts), whole)
        self.assertTrue(whole['finished'])
        for name in files:
            self.assertEqual((self.folder / f'parts.{name}').read_bytes(),
                             (self.folder / f'whole.{name}').read_bytes(), name)
        # What is finished is only shown again.
        self.assertEqual(self.figures(*options, '--progress', progress, *parts), whole)
        return progress

    def test_a_text(self):
        text = self.write('text.txt', SENTENCE * 16)
        options = ('--text', text, '--window', '12', '--stride', '6')
        progress = self.check(*options, files=('routes',))
        again = ('eval', self.model, *options, '--progress', progress)
        routes = self.file_options('parts', ['routes'])
        for change, says in ((('--stride', '3'), '--stride'),
                             (('--limit-tokens', '9'), 'number of tokens'),
                             (('--mla-norm-eps', '1e-5'), '--mla-norm-eps'),
                             (('--backend', 'reference'), '--backend')):
            self.fails(2, *again, *routes, *change, says=['progress.json', says])
        self.fails(2, *again, says=['--routes was given'])
        self.write('text.txt', SENTENCE * 15 + SENTENCE.upper())
        self.fails(2, *again, *routes, says=['the file'])

    def test_questions(self):
        questions = self.write_questions(
            'many.jsonl', [dict(QUESTIONS[i % 4], prompt=f'Question {i}') for i in range(50)])
        options = ('--questions', questions, '--effort', 'none', '--max-new', '4')
        progress = self.check(*options, files=('routes', 'output'))
        again = ('eval', self.model, *options, '--progress', progress,
                 *self.file_options('parts', ['routes', 'output']))
        self.fails(2, *again, '--system', 'x', says=['--system'])
        (self.folder / 'parts.output').write_text('')
        self.fails(4, *again, says=['parts.output'])

    def test_a_file_that_is_none_is_kept(self):
        text, mine = self.write('text.txt', SENTENCE), self.write('mine.json', '{"mine": 1}')
        self.fails(4, 'eval', self.model, '--text', text, '--progress', mine,
                   says=['mine.json', 'not a progress file'])
        self.assertEqual(mine.read_text(), '{"mine": 1}')


def read_trace(path):
    """Header fields and passes of a route trace, read by the manual."""
    data = path.read_bytes()
    magic, version, layers, first, experts, top_k, _, _, crc = struct.unpack_from('<4s5IQII', data)
    assert (magic, version, crc) == (b'SLRT', 1, zlib.crc32(data[:36]))
    passes, at = [], 40
    while at < len(data):
        start = at
        magic, rows, number, kind, _ = struct.unpack_from('<4sIQII', data, at)
        assert (magic, number) == (b'PASS', len(passes))
        at += 24
        tokens = list(struct.iter_unpack('<iII', data[at:at + 12 * rows]))
        at += 12 * rows
        routes = []
        for _ in range(first, layers):
            ids = struct.unpack_from(f'<{rows * top_k}H', data, at)
            weights = struct.unpack_from(f'<{rows * top_k}f', data, at + 2 * rows * top_k)
            at += 6 * rows * top_k
            routes.append([dict(zip(ids[i:i + top_k], weights[i:i + top_k]))
                           for i in range(0, rows * top_k, top_k)])
        assert struct.unpack_from('<I', data, at)[0] == zlib.crc32(data[start:at])
        at += 4
        passes.append((kind, tokens, routes))
    return {'layers': layers, 'first': first, 'experts': experts, 'top_k': top_k}, passes


class EvalRoutes(Evaluations, SluiceTest):
    def trace(self, *options):
        path = self.folder / 'trace.slrt'
        self.figures(*options, '--routes', path)
        return path

    def test_a_trace_has_the_routes_of_a_dump(self):
        text = SENTENCE * 2
        dump_file = self.folder / 'dump.safetensors'
        self.ids('--prompt', text, '--max-new', '0', '--dump', dump_file)
        dump = read_safetensors(dump_file)
        ids = [token for token, in struct.iter_unpack('<i', dump['prompt_ids'][2])]
        path = self.trace('--text', self.write('text.txt', text), '--prefill-chunk', '16')
        header, passes = read_trace(path)
        tokens = [row for _, rows, _ in passes for row in rows]
        self.assertEqual(tokens, [(token, 0, position) for position, token in enumerate(ids[:-1])])
        self.assertEqual([len(rows) for _, rows, _ in passes[:-1]], [16] * (len(passes) - 1))
        for layer in range(header['first'], header['layers']):
            _, (rows, top_k), data = dump[f'L{layer:02}.router_ids']
            dumped_ids = struct.unpack(f'<{rows * top_k}i', data)
            dumped_weights = struct.unpack(f'<{rows * top_k}f', dump[f'L{layer:02}.router_w'][2])
            traced = [row for _, _, routes in passes for row in routes[layer - header['first']]]
            for i, row in enumerate(traced):
                place = slice(i * top_k, (i + 1) * top_k)
                dumped = dict(zip(dumped_ids[place], dumped_weights[place]))
                self.assertEqual(row, dumped, (layer, i))

    def test_windows_and_questions_are_sequences(self):
        path = self.trace('--text', self.write('text.txt', SENTENCE * 2), '--window', '32',
                          '--stride', '16')
        _, passes = read_trace(path)
        self.assertEqual({kind for kind, _, _ in passes}, {0})
        self.assertEqual([rows[0][1:] for _, rows, _ in passes],
                         [(i, 0) for i in range(len(passes))])
        self.assertGreater(len(passes), 3)
        path = self.trace('--questions', self.write_questions('q.jsonl', QUESTIONS[:2]),
                          '--effort', 'none', '--max-new', '4')
        _, passes = read_trace(path)
        self.assertEqual([(kind, rows[0][1]) for kind, rows, _ in passes],
                         [(0, 0), *[(1, 0)] * 3, (0, 1), *[(1, 1)] * 3])

    def test_the_report_counts_what_is_there(self):
        path = self.trace('--text', self.write('text.txt', SENTENCE * 3))
        header, passes = read_trace(path)
        report = json.loads(self.ok('routes', path, '--json'))
        rows = [[row for _, _, routes in passes for row in routes[layer]]
                for layer in range(header['layers'] - header['first'])]
        self.assertEqual(report['prefill_rows'], len(rows[0]))
        for entry, layer in zip(report['by_layer'], rows, strict=True):
            self.assertEqual(entry['slots'], len(layer) * header['top_k'])
            self.assertEqual(entry['experts_used'], len(set().union(*layer)))
            reused = sum(len(row.keys() & before.keys()) for before, row in zip(layer, layer[1:]))
            slots_after_the_first = (len(layer) - 1) * header['top_k']
            self.assertAlmostEqual(entry['reuse'], reused / slots_after_the_first, 12)
            groups = [set().union(*layer[i:i + 8]) for i in range(0, len(layer) // 8 * 8, 8)]
            mean = sum(map(len, groups)) / len(groups)
            self.assertAlmostEqual(entry['union_experts']['8'], mean, 12)
        text = self.ok('routes', path)
        self.assertEqual(len(text.splitlines()), 4 + len(rows) + 1)

    def test_jsonl_has_every_pass_and_layer(self):
        path = self.trace('--text', self.write('text.txt', SENTENCE), '--prefill-chunk', '8')
        header, passes = read_trace(path)
        lines = [json.loads(line) for line in self.ok('routes', path, '--jsonl').splitlines()]
        layers = header['layers'] - header['first']
        self.assertEqual(len(lines), len(passes) * layers)
        for i, line in enumerate(lines):
            routes = passes[i // layers][2][i % layers]
            self.assertEqual(line['step'], i // layers)
            self.assertEqual(line['layer'], header['first'] + i % layers)
            self.assertEqual(line['ids'], [expert for row in routes for expert in row])

    def test_a_cut_trace_is_told_and_others_are_refused(self):
        path = self.trace('--text', self.write('text.txt', SENTENCE), '--prefill-chunk', '8')
        whole = json.loads(self.ok('routes', path, '--json'))
        cut = self.folder / 'cut.slrt'
        cut.write_bytes(path.read_bytes()[:-1])
        done = self.run_sluice('routes', cut, '--json')
        self.assertEqual(json.loads(done.stdout)['passes'], whole['passes'] - 1)
        self.assertIn('no whole pass', done.stderr)
        self.fails(4, 'routes', self.write('text.txt', SENTENCE),
                   says=['text.txt', 'not a route trace'])
        self.fails(3, 'routes', self.folder / 'none.slrt', says=['none.slrt'])
        self.fails(2, 'routes', path, '--json', '--jsonl', says=['--jsonl'])


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])

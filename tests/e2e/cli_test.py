"""Drives the program as a user does: python3 cli_test.py PATH_OF_SLUICE [CLASS...]

Without these tests the parts could all be right and the command line still be wrong.
"""

import json
import re
import shutil
import signal
import struct
import subprocess
import sys
import unittest

from sluice_test import SLUICE, SluiceTest, argmax, read_npy, read_safetensors

PROMPT = ('--prompt-ids', '5,9,200,17,3')
PROMPT_TOKENS = 5
GREEDY = (*PROMPT, '--ignore-eos', '--max-new', '12')
SAMPLED = (*GREEDY, '--temperature', '1', '--seed')


class Help(SluiceTest):
    def test_version_and_help(self):
        self.assertRegex(self.ok('--version'), r'^sluice \d+\.\d+\.\d+\n$')
        overview = self.ok('--help')
        for command in ('run', 'chat', 'serve', 'inspect', 'eval', 'routes', 'pack', 'synth', 'completion', 'help'):
            self.assertIn(f'\n  {command} ', overview)
            self.assertIn(f'Usage: sluice {command}', self.ok(command, '--help'))
        self.assertIn('130', overview)

    def test_mistakes_are_named_with_what_was_meant(self):
        self.fails(2, 'rnu', says=['did you mean run?'])
        self.fails(2, 'run', self.model, '--promt', 'x', says=['--promt', 'did you mean --prompt?'])
        self.fails(2, 'run', says=['give one of --prompt'])
        self.fails(2, 'run', self.model, '--max-new', '-1', says=['--max-new', 'out of range'])
        self.fails(2, 'run', self.model, *PROMPT, '--temperature', '101', says=['temperature'])

    def test_bash_completes(self):
        script = self.folder / 'completion.bash'
        script.write_text(self.ok('completion', 'bash'))

        def offers(*words):
            check = (f'source {script}; COMP_WORDS=({" ".join(words)} ""); '
                     f'COMP_WORDS[{len(words) - 1}]="{words[-1]}"; COMP_CWORD={len(words) - 1}; '
                     '_sluice; printf "%s\\n" "${COMPREPLY[@]}"')
            return subprocess.run(['bash', '-c', check], text=True, capture_output=True, check=True,
                                  cwd=self.folder).stdout.split()

        self.assertEqual(offers('sluice', 'in'), ['inspect'])
        self.assertEqual(offers('sluice', 'run', '--max'), ['--max-new'])
        self.assertEqual(sorted(offers('sluice', 'run', '--effort', '""')), ['high', 'low', 'max', 'none'])
        self.assertEqual(offers('sluice', 'inspect', 'ti'), ['tiny'])


class Synth(SluiceTest):
    def files(self, folder):
        return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}

    def test_a_seed_gives_the_same_bytes(self):
        for name, seed in (('a', '7'), ('b', '7'), ('c', '8')):
            self.ok('synth', '--shape', 'tiny', '--to', self.folder / name, '--seed', seed)
        a, b, c = (self.files(self.folder / name) for name in 'abc')
        self.assertEqual(a, b)
        self.assertEqual(a.keys(), c.keys())
        self.assertNotEqual(a, c)

    def test_does_not_overwrite_unless_told(self):
        folder = self.folder / 'full'
        self.ok('synth', '--shape', 'tiny', '--to', folder)
        first = self.files(folder)
        self.fails(2, 'synth', '--shape', 'tiny', '--to', folder, '--seed', '9', says=['--force', str(folder)])
        self.assertEqual(self.files(folder), first)
        self.ok('synth', '--shape', 'tiny', '--to', folder, '--seed', '9', '--force')
        self.assertNotEqual(self.files(folder), first)

    def test_never_replaces_what_it_did_not_write(self):
        folder = self.folder / 'mine'
        folder.mkdir()
        (folder / 'mine.txt').write_text('mine')
        self.fails(2, 'synth', '--shape', 'tiny', '--to', folder, '--force', says=[str(folder)])
        self.assertEqual(self.files(folder), {'mine.txt': b'mine'})

    def test_layers_and_experts(self):
        folder = self.folder / 'deep'
        self.ok('synth', '--to', folder, '--layers', '6', '--experts', '8')
        shape = json.loads(self.ok('inspect', folder, '--json'))['shape']
        self.assertEqual((shape['layers'], shape['experts']), (6, 8))

    def test_a_shape_file(self):
        file = self.folder / 'shape.json'
        file.write_text('{"layers": 5, "mla_layers": [4, 5]}')
        self.ok('synth', '--to', self.folder / 'five', '--shape', file)
        self.assertEqual(json.loads(self.ok('inspect', self.folder / 'five', '--json'))['shape']['layers'], 5)

    def test_refuses_what_is_no_shape(self):
        self.fails(3, 'synth', '--shape', self.folder / 'none.json', '--to', self.folder / 'x', says=['none.json'])
        self.fails(2, 'synth', '--shape', 'tiny', says=['--to'])


class Inspect(SluiceTest):
    def test_tells_shape_volumes_and_what_fits(self):
        text = self.ok('inspect', self.model)
        for word in ('layers', 'experts', str(self.vocab), str(self.model)):
            self.assertIn(word, text)

    def test_json(self):
        report = json.loads(self.ok('inspect', self.model, '--json'))
        self.assertEqual(report['shape']['vocab'], self.vocab)
        on_disk = sum(file.stat().st_size for file in self.model.glob('*.safetensors'))
        self.assertEqual(sum(volume['bytes'] for volume in report['volumes']), on_disk)
        self.assertLess(sum(report['bytes'].values()), on_disk)
        self.assertGreater(report['bytes']['experts'], 0)

    def test_missing_model(self):
        self.fails(3, 'inspect', self.folder / 'nowhere', says=['nowhere'])

    def test_a_second_volume(self):
        model, volume = self.folder / 'two-volumes', self.folder / 'copies'
        shutil.copytree(self.model, model)
        volume.mkdir()
        for shard in model.glob('*.safetensors'):
            shutil.copy(shard, volume)
        command = ('inspect', model, '--volume', volume)
        report = json.loads(self.ok(*command, '--json'))
        self.assertEqual([(v['folder'], v['state']) for v in report['volumes']],
                         [(str(model), 'present'), (str(volume), 'present')])
        self.assertEqual(report['volumes'][0]['bytes'], report['volumes'][1]['bytes'])
        self.assertIn(str(volume), self.ok(*command))
        for shard in model.glob('*.safetensors'):
            shard.unlink()
        report = json.loads(self.ok(*command, '--json'))
        self.assertEqual([v['folder'] for v in report['volumes']], [str(volume)])
        self.fails(3, 'inspect', model, says=['shards are missing'])
        self.fails(3, 'inspect', self.model, '--volume', self.folder / 'none', says=['--volume', 'none'])


class Run(SluiceTest):
    def test_print_ids(self):
        ids = self.ids(*GREEDY)
        self.assertEqual(len(ids), 12)
        self.assertTrue(all(0 <= token < self.vocab for token in ids))
        self.assertEqual(self.ids(*GREEDY), ids)
        self.assertEqual(self.ids(*PROMPT, '--max-new', '0'), [])

    def test_a_seed_repeats_and_another_differs(self):
        first = self.ids(*SAMPLED, '1')
        self.assertEqual(self.ids(*SAMPLED, '1'), first)
        self.assertNotEqual(self.ids(*SAMPLED, '2'), first)
        self.assertEqual(self.ids(*SAMPLED, '2', '--top-k', '1'), self.ids(*GREEDY))

    def test_the_two_backends_and_all_chunks_agree(self):
        ids = self.ids(*GREEDY)
        for options in (('--backend', 'reference'), ('--prefill-chunk', '1'), ('--prefill-chunk', '2'),
                        ('--threads', '1'), ('--threads', '3'), ('--target', 'scalar'), ('--buffered',)):
            self.assertEqual(self.ids(*GREEDY, *options), ids, options)

    def test_stop_ids(self):
        ids = self.ids(*SAMPLED, '1')
        stop = ids[5]
        self.assertEqual(self.ids(*SAMPLED, '1', '--stop-ids', stop), ids[:ids.index(stop) + 1])

    def test_text_and_stop_strings(self):
        words = ('run', self.model, '--prompt', 'Hello', '--max-new', '40', '--ignore-eos',
                 '--temperature', '1', '--seed', '3')
        whole = self.ok(*words)
        self.assertTrue(whole.endswith('\n'))
        text = whole[:-1]
        self.assertNotIn('Hello', text)
        stop = text[len(text) // 2:len(text) // 2 + 2]
        self.assertEqual(self.ok(*words, '--stop', stop), text[:text.index(stop)] + '\n')
        report = json.loads(self.ok(*words, '--stop', stop, '--json'))
        self.assertEqual(report['text'], text[:text.index(stop)])
        self.assertEqual(report['finish_reason'], 'stop')
        self.assertLessEqual(len(report['ids']), 40)

    def test_prompt_file_is_the_prompt(self):
        file = self.folder / 'prompt.txt'
        file.write_text('Hello there')
        options = ('--max-new', '4', '--ignore-eos')
        self.assertEqual(self.ids('--prompt-file', file, *options), self.ids('--prompt', 'Hello there', *options))

    def test_chat_keeps_markers_out_of_the_answer(self):
        done = self.run_sluice('run', self.model, '--chat', '--effort', 'none', '--prompt', 'Hi', '--system',
                               'Be brief.', '--max-new', '8', '--json')
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertIn('reasoning', report)
        self.assertNotIn('<|open|>', report['text'])

    def test_json_and_stats(self):
        done = self.run_sluice('run', self.model, *GREEDY, '--json', '--stats')
        report = json.loads(done.stdout)
        self.assertEqual(report['ids'], self.ids(*GREEDY))
        self.assertEqual(report['finish_reason'], 'length')
        self.assertEqual(report['usage'], {'prompt_tokens': 5, 'completion_tokens': 12, 'total_tokens': 17})
        self.assertEqual(report['stats']['prefill']['tokens'], 5)
        self.assertEqual(report['stats']['decode']['tokens'], 11)
        self.assertRegex(done.stderr, r'(?m)^[\d.]+ tokens/s, [\d.]+ GB read per token, [\d.]+ % hits, '
                                      r'waiting [\d.]+ ms, computing [\d.]+ ms')

    def test_the_context_ends_an_answer(self):
        report = json.loads(self.ok('run', self.model, *GREEDY, '--context', '8', '--json'))
        self.assertEqual((len(report['ids']), report['finish_reason']), (3, 'context'))
        self.fails(2, 'run', self.model, *GREEDY, '--context', '4', says=['context'])


class Files(SluiceTest):
    def test_logits_hold_the_row_after_each_token(self):
        file = self.folder / 'logits.npy'
        ids = self.ids(*GREEDY, '--logits', file)
        rows = read_npy(file)
        self.assertEqual((len(rows), len(rows[0])), (PROMPT_TOKENS + 12, self.vocab))
        self.assertEqual([argmax(row) for row in rows[PROMPT_TOKENS - 1:-1]], ids)
        chunked = self.folder / 'chunked.npy'
        self.ids(*GREEDY, '--logits', chunked, '--prefill-chunk', '2')
        self.assertEqual(chunked.read_bytes(), file.read_bytes())
        # The rows of generated tokens are those of a prompt that ends with them.
        longer = self.folder / 'longer.npy'
        self.ids('--prompt-ids', f'{PROMPT[1]},{ids[0]}', '--max-new', '0', '--logits', longer)
        self.assertEqual(read_npy(longer), rows[:PROMPT_TOKENS + 1])

    def test_dump_has_the_names_of_the_golden_files(self):
        file, chunked = self.folder / 'dump.safetensors', self.folder / 'chunked.safetensors'
        ids = self.ids(*GREEDY, '--dump', file)
        dump = read_safetensors(file)
        names = {re.sub(r'^L\d\d\.', '', name) for name in dump}
        self.assertEqual(names, {
            'logits', 'generated', 'prompt_ids', 'step_logits', 'final_in', 'final_norm', 'attn_in', 'attn_out',
            'mlp_in', 'mlp_out', 'prefix', 'router_ids', 'router_w', 'kda_state', 'conv_q', 'conv_k', 'conv_v',
            'mla_cache'})
        self.assertEqual(dump['logits'][1], [PROMPT_TOKENS, self.vocab])
        self.assertEqual(dump['step_logits'][1], [12, self.vocab])
        self.assertEqual(dump['generated'], ('I32', [12], struct.pack('<12i', *ids)))
        self.assertEqual(dump['logits'][2][-4 * self.vocab:], dump['step_logits'][2][:4 * self.vocab])
        for name, (dtype, shape, _) in dump.items():
            if name.endswith(('attn_in', 'router_ids', 'router_w', 'mla_cache', 'final_in')):
                self.assertEqual(shape[0], PROMPT_TOKENS, name)
            self.assertEqual(dtype, 'I32' if name.endswith(('ids', 'generated')) else 'F32')
        for name, (_, shape, data) in dump.items():
            if name.endswith('router_w'):
                weights = struct.unpack(f'<{shape[0] * shape[1]}f', data)
                for row in range(shape[0]):
                    one = list(weights[row * shape[1]:(row + 1) * shape[1]])
                    self.assertEqual(one, sorted(one, reverse=True))
        self.ids(*GREEDY, '--dump', chunked, '--prefill-chunk', '2')
        self.assertEqual(read_safetensors(chunked), dump)

    def test_what_a_dump_holds_comes_out_of_the_budget(self):
        def least(*options):
            error = self.fails(6, 'run', self.model, *GREEDY, '--print-ids', '--memory', '64KiB', *options)
            return int(re.search(r'--memory[ =](\d+)\b', error)[1])

        file = self.folder / 'dump.safetensors'
        logits = self.folder / 'logits.npy'
        with_dump = least('--dump', file)
        self.ids(*GREEDY, '--dump', file, '--memory', with_dump)
        self.assertGreaterEqual(with_dump - least('--logits', logits), file.stat().st_size)

    def test_a_saved_state_continues_in_a_new_process(self):
        state = self.folder / 'state'
        whole = self.ids(*GREEDY)
        self.ids('--prompt-ids', '5,9,200', '--max-new', '0', '--save-state', state)
        self.assertEqual(
            self.ids('--load-state', state, '--prompt-ids', '17,3', '--ignore-eos', '--max-new', '12'), whole)
        # A state saved after an answer holds the whole answer.
        self.ids(*PROMPT, '--ignore-eos', '--max-new', '4', '--save-state', state)
        after = self.ids('--load-state', state, '--prompt-ids', '8', '--ignore-eos', '--max-new', '3')
        tokens = ','.join(map(str, [*whole[:4], 8]))
        self.assertEqual(self.ids('--prompt-ids', f'{PROMPT[1]},{tokens}', '--ignore-eos', '--max-new', '3'), after)

    def test_a_state_that_is_none(self):
        state = self.folder / 'broken'
        state.write_bytes(b'no state')
        self.fails(4, 'run', self.model, *GREEDY, '--load-state', state, says=['broken'])
        self.fails(3, 'run', self.model, *GREEDY, '--load-state', self.folder / 'none', says=['none'])

    def test_unwritable_files_are_named(self):
        for option in ('--logits', '--dump', '--save-state'):
            where = self.folder / 'no' / 'such' / 'folder'
            self.fails(5, 'run', self.model, *GREEDY, '--print-ids', option, where, says=[option, 'no/such'])


class Errors(SluiceTest):
    def test_prompts(self):
        self.fails(2, 'run', self.model, says=['--prompt'])
        self.fails(2, 'run', self.model, *PROMPT, '--prompt', 'x', says=['--prompt'])
        self.fails(2, 'run', self.model, '--prompt', '', says=['prompt'])
        self.fails(2, 'run', self.model, '--prompt-ids', self.vocab, says=[str(self.vocab)])
        self.fails(3, 'run', self.model, '--prompt-file', self.folder / 'none.txt', says=['none.txt'])
        self.fails(2, 'run', self.model, *PROMPT, '--chat', says=['--chat'])
        self.fails(2, 'run', self.model, '--prompt', 'x', '--system', 'y', says=['--system', '--chat'])

    def test_models(self):
        self.fails(3, 'run', self.folder / 'nowhere', *PROMPT, says=['nowhere'])
        broken = self.folder / 'broken'
        shutil.copytree(self.model, broken)
        (broken / 'config.json').write_text('{')
        self.fails(4, 'run', broken, *PROMPT, says=['config.json'])

    def test_a_folder_without_a_tokenizer_takes_ids_only(self):
        bare = self.folder / 'bare'
        shutil.copytree(self.model, bare)
        (bare / 'tiktoken.model').unlink()
        self.fails(3, 'run', bare, '--prompt', 'x', says=['tiktoken.model', '--prompt-ids'])
        self.fails(3, 'run', bare, *PROMPT, '--stop', 'x', says=['tiktoken.model'])
        out = self.ok('run', bare, *GREEDY)
        self.assertEqual([int(word) for word in out.split(',')], self.ids(*GREEDY))

    def test_too_little_memory_tells_what_works(self):
        error = self.fails(6, 'run', self.model, *GREEDY, '--print-ids', '--memory', '64KiB', says=['--memory'])
        least = re.search(r'--memory[ =](\d+)\b', error)
        self.assertIsNotNone(least, error)
        self.assertEqual(self.ids(*GREEDY, '--memory', least[1]), self.ids(*GREEDY))

    def test_sampling_options_without_a_temperature(self):
        for option in ('--top-k=40', '--top-p=0.9', '--min-p=0.1', '--seed=7'):
            name = option.split('=')[0]
            self.fails(2, 'run', self.model, *GREEDY, option, says=[name, '--temperature'])
            self.ids(*GREEDY, option, '--temperature', '0.5')
            self.assertEqual(self.ids(*GREEDY, option, '--temperature', '0'), self.ids(*GREEDY))
        self.ids(*GREEDY, '--repetition-penalty', '1.1')

    def test_a_state_is_saved_though_the_reader_went_away(self):
        state = self.folder / 'state'
        with subprocess.Popen([SLUICE, 'run', self.model, *PROMPT, '--ignore-eos', '--max-new', '2000',
                               '--save-state', state], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.read(1)
            process.stdout.close()
            self.assertIn(b'standard output', process.stderr.read())
        self.assertEqual(process.returncode, 5)
        self.ids('--load-state', state, '--prompt-ids', '8', '--max-new', '1')

    def test_results_are_written_though_nobody_reads(self):
        for output in ((), ('--print-ids',), ('--json',)):
            state = self.folder / f'state{len(output)}{output}'
            with open('/dev/full', 'w', encoding='utf-8') as full:
                done = subprocess.run([SLUICE, 'run', self.model, *GREEDY, *output, '--save-state', state],
                                      stdout=full, stderr=subprocess.PIPE, check=False)
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertIn(b'standard output', done.stderr)
            self.ids('--load-state', state, '--prompt-ids', '8', '--max-new', '1')

    def test_a_reader_that_goes_away(self):
        with subprocess.Popen([SLUICE, 'run', self.model, *PROMPT, '--ignore-eos', '--max-new', '2000'],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.read(1)
            process.stdout.close()
            self.assertIn(b'standard output', process.stderr.read())
        self.assertEqual(process.returncode, 5)


class Interrupt(SluiceTest):
    LONG = (*PROMPT, '--ignore-eos', '--max-new', '100000')

    def interrupt(self, *options):
        """Sends Ctrl-C once the first text has appeared."""
        with subprocess.Popen([SLUICE, 'run', self.model, *self.LONG, *options], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            first = process.stdout.read(1)
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=100)
        return process.returncode, first + out, error.decode()

    def test_prints_what_there_was_and_the_statistics(self):
        code, out, error = self.interrupt('--stats')
        self.assertEqual(code, 130, error)
        self.assertTrue(out.endswith(b'\n'))
        self.assertIn('tokens/s', error)

    def test_a_cancelled_answer_is_the_beginning_of_the_whole(self):
        _, out, _ = self.interrupt()
        text = out[:-1].decode(errors='replace').rstrip('\ufffd')
        whole = self.ok('run', self.model, *PROMPT, '--ignore-eos', '--max-new', str(len(out) + 20))
        self.assertTrue(whole.startswith(text[:len(whole)]))


class Chat(SluiceTest):
    OPTIONS = ('--max-new', '6', '--effort', 'none', '--quiet')

    def test_works_in_a_pipe(self):
        done = self.run_sluice('chat', self.model, *self.OPTIONS, stdin='Hello\nAgain\n/quit\nnever\n')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.ok('chat', self.model, *self.OPTIONS, stdin='Hello\nAgain\n'), done.stdout)

    def test_the_first_answer_is_that_of_run(self):
        answer = self.ok('run', self.model, '--chat', '--effort', 'none', '--prompt', 'Hello', '--max-new', '6')
        self.assertEqual(self.ok('chat', self.model, *self.OPTIONS, stdin='Hello\n'), answer)

    def test_reset_forgets(self):
        once = self.ok('chat', self.model, *self.OPTIONS, stdin='Hello\n')
        self.assertEqual(self.ok('chat', self.model, *self.OPTIONS, stdin='Hello\n/reset\nHello\n'), 2 * once)

    def test_save_and_load(self):
        file = self.folder / 'chat.json'
        lines = f'Hello\n/save {file}\nAgain\n'
        whole = self.ok('chat', self.model, *self.OPTIONS, stdin=lines)
        messages = json.loads(file.read_text())['messages']
        self.assertEqual([message['role'] for message in messages], ['user', 'assistant'])
        self.assertEqual(messages[0]['content'], 'Hello')
        first = self.ok('chat', self.model, *self.OPTIONS, stdin='Hello\n')
        second = self.ok('chat', self.model, *self.OPTIONS, stdin=f'/load {file}\nAgain\n')
        self.assertEqual(first + second, whole)

    def test_commands(self):
        done = self.run_sluice('chat', self.model, *self.OPTIONS,
                               stdin='/help\n/effort nonsense\n/effort low\n/rest\n/load nowhere\n/save\n')
        self.assertEqual((done.returncode, done.stdout), (0, ''))
        for word in ('/reset', 'nonsense', 'low, high, max, none', 'did you mean /reset?', 'nowhere'):
            self.assertIn(word, done.stderr)

    def test_a_full_context_is_told_and_reset_helps(self):
        done = self.run_sluice('chat', self.model, *self.OPTIONS, '--context', '300',
                               stdin=f'{"long " * 300}\n/reset\nHi\n')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('/reset', done.stderr)
        self.assertIn('context', done.stderr)


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])

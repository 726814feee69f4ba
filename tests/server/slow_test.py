"""A server that needs seconds for a prompt, as a large model does: slow_test.py SLUICE [CLASS...]

Without these tests a client that has gone could go on costing minutes, and one that waits could
give up.
"""

import itertools
import json
import sys
from typing import Any

from replies import choices, join_chat
from serving import Server, ServerTest, main, until

CHAT = '/v1/chat/completions'
COMPLETIONS = '/v1/completions'
WORDS = 2000  # A second for some 400 of them, since each goes through the model alone.


def long_prompt(first: str) -> dict[str, Any]:
    """A request that begins like no other's."""
    return {'prompt': first + ' word' * WORDS, 'max_tokens': 4, 'temperature': 0}


def endless(first: str) -> dict[str, Any]:
    """The same, but it will not end before the test breaks it off."""
    return long_prompt(first) | {'max_tokens': 2000, 'ignore_eos': True}


class SlowTest(ServerTest):
    OPTIONS = ('--prefill-chunk', 1, '--context', 4096, '--max-sequences', 1, '--max-queue', 4,
               '--keep-alive', 1)

    def idle(self) -> bool:
        return self.server.running() == 0 and self.server.waiting() == 0

    def cached(self, body: dict[str, Any]) -> int:
        """Tokens of the prompt that a request finds in memory."""
        usage = self.server.post(COMPLETIONS, body)['usage']
        return usage['prompt_tokens_details']['cached_tokens']


class Disconnects(SlowTest):
    def ended(self) -> float:
        """Requests that were answered, given up or refused."""
        return sum(map(self.server.metric, ('vllm:request_success_total',
                                            'sluice_requests_refused_total')))

    def test_while_the_prompt_is_run(self):
        for stream in (True, False):
            body = long_prompt(f'A {stream}') | {'stream': stream}
            connection = self.server.send('POST', COMPLETIONS, body)
            until(lambda: self.server.running() == 1, 'the request runs')
            connection.close()
            until(self.idle, 'the work of one that has gone stops')
        # Had the prompt been run to its end, all of it would be known.
        found = self.cached(long_prompt('A False'))
        self.assertGreater(found, 0)
        self.assertLess(found, WORDS)

    def test_before_anything_was_sent(self):
        before = self.ended()
        for _ in range(5):
            self.server.send('POST', COMPLETIONS, endless('B') | {'stream': True}).close()
        # An idle server may not have begun to look at them.
        until(lambda: self.ended() == before + 5, 'none of the requests is left')
        until(self.idle, 'nor is anything else')

    def test_while_it_waits(self):
        with self.server.stream(COMPLETIONS, endless('C')):
            until(lambda: self.server.running() == 1, 'the first runs')
            second = self.server.stream(COMPLETIONS, endless('D'))
            until(lambda: self.server.waiting() == 1, 'the second waits')
            second.close()
            until(lambda: self.server.waiting() == 0, 'its place is free again')
            self.assertEqual(self.server.running(), 1)
            third = self.server.send('POST', COMPLETIONS, {'prompt': 'It was', 'max_tokens': 3})
            until(lambda: self.server.waiting() == 1, 'the third waits')
        self.assertEqual(third.getresponse().status, 200)
        third.close()

    def test_while_the_answer_is_written(self):
        before = self.server.metric('vllm:generation_tokens_total')
        body = {'prompt': 'It was', 'max_tokens': 3000, 'ignore_eos': True}
        with self.server.stream(COMPLETIONS, body) as stream:
            pieces = stream.data()
            for _ in range(5):
                next(pieces)
        until(self.idle, 'the work of one that has gone stops')
        self.assertLess(self.server.metric('vllm:generation_tokens_total') - before, 3000)


class Reuse(SlowTest):
    def test_conversations_share_the_system_message(self):
        system = {'role': 'system', 'content': 'Be brief.' + ' word' * 100}
        answers = []
        for question in ('What is the capital of France?', 'What is 2 plus 3?'):
            messages = [system, {'role': 'user', 'content': question}]
            answers.append(self.server.post(CHAT, {'messages': messages, 'max_tokens': 8,
                                                   'temperature': 0}))
        first, second = (answer['usage']['prompt_tokens_details']['cached_tokens']
                         for answer in answers)
        self.assertEqual(first, 0)
        self.assertGreater(second, 100)


class Waiting(SlowTest):
    def test_a_stream_shows_that_it_lives_and_how_far_it_is(self):
        body = {'messages': [{'role': 'user', 'content': 'E' + ' word' * WORDS}], 'max_tokens': 2,
                'return_progress': True}
        with self.server.stream(CHAT, body) as stream:
            # The status is here while the prompt has hardly begun.
            self.assertEqual(stream.status, 200)
            self.assertEqual(stream.headers['content-type'].split(';')[0], 'text/event-stream')
            lines = stream.lines()
            first = json.loads(next(lines).removeprefix('data: '))
            self.assertEqual(first['choices'][0]['delta'], {'role': 'assistant', 'content': ''})
            self.assertEqual(self.server.request('GET', '/health').status, 200)
            rest = list(lines)
        self.assertGreaterEqual(sum(line.startswith(':') for line in rest), 2)
        chunks = [json.loads(line.removeprefix('data: ')) for line in rest
                  if line.startswith('data: {')]
        told = [chunk['prompt_progress'] for chunk in chunks if chunk.get('prompt_progress')]
        done = [progress['processed'] for progress in told]
        self.assertGreaterEqual(len(done), 2)
        self.assertEqual(done, sorted(done))
        self.assertGreaterEqual(told[-1]['total'], WORDS)

    def test_one_that_waits_is_told_its_place(self):
        with self.server.stream(COMPLETIONS, endless('F')), \
                self.server.stream(COMPLETIONS, endless('G')) as second, \
                self.server.stream(COMPLETIONS, endless('H')) as third:
            for stream, ahead in ((second, 0), (third, 1)):
                sign = next(line for line in stream.lines() if line.startswith(':'))
                self.assertEqual(sign, f': waiting, {ahead} ahead')


class Stopping(ServerTest):
    @classmethod
    def setUpClass(cls) -> None:
        """Each test stops a server of its own."""

    def test_an_answer_under_way_is_finished(self):
        with Server(self.SLUICE, '--threads', 1, '--context', 2048) as server:
            stream = server.stream(COMPLETIONS, {'prompt': 'It was', 'max_tokens': 400,
                                                 'ignore_eos': True,
                                                 'stream_options': {'include_usage': True}})
            pieces = stream.data()
            next(pieces)
            server.terminate()
            last = list(pieces)[-1]
            self.assertEqual(last['usage']['completion_tokens'], 400)
            stream.close()

    def test_an_answer_that_takes_too_long_ends_with_an_error(self):
        def chat(first: str) -> dict[str, Any]:
            content = long_prompt(first)['prompt']
            return {'messages': [{'role': 'user', 'content': content}], 'max_tokens': 4}

        requests = {COMPLETIONS: long_prompt('I'), CHAT: chat('You'), '/v1/messages': chat('They'),
                    '/v1/responses': {'input': long_prompt('We')['prompt']}}
        with Server(self.SLUICE, '--threads', 1, '--context', 4096, '--prefill-chunk', 1,
                    '--grace', 0, '--max-sequences', len(requests)) as server:
            streams = {path: server.stream(path, body) for path, body in requests.items()}
            until(lambda: server.running() == len(requests), 'all requests run')
            server.terminate()
            for path, stream in streams.items():
                with self.subTest(path), stream:
                    # Throws for a body that breaks off, of which browsers drop what came last.
                    lines = stream.read().decode().strip().splitlines()
                    self.assertNotIn('data: [DONE]', lines)
                    self.assertIn('"error"', lines[-1])


class Secrets(ServerTest):
    OPTIONS = ('--context', 2048, '--max-sequences', 2)
    WORDS = ('zebra', 'quartz')
    QUESTIONS = ('What is the capital of France?', 'What is 2 plus 3?', 'What is my word?',
                 'Say my word.')

    @staticmethod
    def request(word: str, question: str) -> dict[str, Any]:
        return {'messages': [{'role': 'user', 'content': f'My word is {word}. {question}'}],
                'temperature': 0, 'max_tokens': 40}

    def test_two_conversations_know_nothing_of_each_other(self):
        expected = {}
        for word, question in itertools.product(self.WORDS, self.QUESTIONS):
            answer = self.server.post(CHAT, self.request(word, question))
            expected[word, question] = choices(answer)
        for number in range(20):
            question = self.QUESTIONS[number % len(self.QUESTIONS)]
            streams = [self.server.stream(CHAT, self.request(word, question))
                       for word in self.WORDS]
            for index, (word, stream) in enumerate(zip(self.WORDS, streams)):
                with stream:
                    if index == number % 3:  # This one is given up; in a third of the rounds none.
                        next(stream.data())
                        continue
                    found = choices(join_chat(stream.data()))
                self.assertEqual(found, expected[word, question], number)
                self.assertNotIn(self.WORDS[1 - index], str(found))


if __name__ == '__main__':
    main(sys.argv)

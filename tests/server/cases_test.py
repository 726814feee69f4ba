"""What others met with their servers, over HTTP: cases_test.py SLUICE [CLASS...]

Without these tests a fault that was once reported of another server could be one of this too.
docs/cases.md says which case is tested where.
"""

import json
import sys
from typing import Any

from serving import ServerTest, main

try:
    from jsonschema import Draft202012Validator
except ImportError:
    Draft202012Validator = None

CHAT = '/v1/chat/completions'
FRANCE = 'What is the capital of France?'
PARIS = 'The capital of France is Paris.'
TOOL: dict[str, Any] = {'type': 'function', 'function': {'name': 'f'}}


def user(text: Any) -> list[dict[str, Any]]:
    return [{'role': 'user', 'content': text}]


def ask(text: str = FRANCE, **fields: Any) -> dict[str, Any]:
    return {'messages': user(text), 'temperature': 0} | fields


def named(name: Any) -> dict[str, Any]:
    return {'type': 'function', 'function': {'name': name}}


class Lengths(ServerTest):
    OPTIONS = ('--context', 1024)

    def test_more_tokens_than_there_is_room_for(self):
        for field in ('max_tokens', 'max_completion_tokens'):
            for count in (65_536, 131_072, 1 << 40):
                choice = self.server.post(CHAT, ask(**{field: count}))['choices'][0]
                self.assertEqual((choice['message']['content'], choice['finish_reason']),
                                 (PARIS, 'stop'))
        answer = self.server.post(CHAT, ask(max_tokens=65_536, ignore_eos=True))
        self.assertEqual(answer['choices'][0]['finish_reason'], 'length')
        self.assertEqual(answer['usage']['total_tokens'], 1024)

    def test_a_prompt_that_is_longer_than_the_context(self):
        for stream in (False, True):
            error = self.refused(CHAT,
                                 ask('word ' * 2000, stream=stream),
                                 code='context_length_exceeded')
            self.assertEqual(error['n_ctx'], 1024)
            self.assertGreater(error['n_prompt_tokens'], 2000)
            for number in (error['n_ctx'], error['n_prompt_tokens']):
                self.assertIn(str(number), error['message'])
        self.refused('/v1/completions', {'prompt': 'word ' * 2000}, code='context_length_exceeded')

    def test_what_has_no_end_of_its_own_ends(self):
        answer = self.server.post('/v1/completions',
                                  {'prompt': '1+1=', 'max_tokens': 64, 'temperature': 0})
        self.assertLessEqual(answer['usage']['completion_tokens'], 64)
        self.assertIn(answer['choices'][0]['finish_reason'], ('stop', 'length'))
        choice = self.server.post(CHAT, ask('1+1='))['choices'][0]
        self.assertEqual(choice['finish_reason'], 'stop')
        self.assertNotIn('<|', choice['message']['content'])
        self.assertEqual(choice['message']['content'].count('1+1'),
                         choice['message']['content'].count('1+1=2'))


class Refusals(ServerTest):
    OPTIONS = ('--context', 2048)

    def test_choices_of_tools(self):
        for body in (ask(tool_choice='required'), ask(tool_choice='required', tools=[]),
                     ask(tool_choice='bogus'), ask(tool_choice='bogus', tools=[TOOL])):
            self.refused(CHAT, body, param='tool_choice')
        self.refused(CHAT,
                     ask(tool_choice=named('other'), tools=[TOOL]),
                     param='tool_choice.function.name')
        for choice in ('none', 'auto'):
            self.server.post(CHAT, ask(tool_choice=choice, max_tokens=2))

    def test_response_formats(self):
        schema = {'type': 'object'}
        for spec in (None, {'schema': schema}, {'name': 'n'}, {'name': 'n', 'schema': 'x'},
                     {'name': 'n', 'schema': schema, 'strict': 'yes'},
                     {'name': '', 'schema': schema}):
            error = self.refused(CHAT,
                                 ask(response_format={'type': 'json_schema', 'json_schema': spec}))
            self.assertTrue(error['param'].startswith('response_format.json_schema'), error)
        for form in ({'type': 'bogus'}, {}, 'json_object'):
            error = self.refused(CHAT, ask(response_format=form))
            self.assertTrue(error['param'].startswith('response_format'), error)

    def test_tools_within_messages(self):
        after = user('Hi')
        for role in ('user', 'assistant'):
            self.refused(CHAT,
                         ask(messages=[{'role': role, 'content': '', 'tools': [TOOL]}, *after]),
                         param='messages[0].tools')
        self.refused(CHAT,
                     ask(messages=[{'role': 'system', 'content': 'x', 'tools': [TOOL]}, *after]),
                     param='messages[0].content')
        wrong = ({}, [None], [{}], [{'function': {'name': 'f'}}], [{'type': 'function'}],
                 [{'type': 'function', 'function': {}}], [named('1bad_name')], [named('bad@name')],
                 [named('')], [named('a' * 257)], [named('a<b')], [named('f'), named('f')])
        for tools in wrong:
            self.refused(CHAT, ask(tools=tools))
            if tools != {}:
                self.refused(
                    CHAT, ask(messages=[{'role': 'system', 'content': '', 'tools': tools}, *after]))
        self.refused(CHAT, ask(messages=[{'role': 'system', 'tools': [TOOL]}, *after],
                               tools=[TOOL]))
        for content in ({'content': ''}, {'content': None}, {}):
            self.server.post(CHAT, ask(max_tokens=2, messages=[
                {'role': 'system', 'tools': [named('g')], **content}, *after], tools=[TOOL]))

    def test_a_result_of_no_call(self):
        self.refused(CHAT, ask(messages=[*user('x'), {'role': 'tool', 'content': 'y'}]),
                     param='messages[1].tool_call_id')

    def test_sampling(self):
        wrong: dict[str, tuple[Any, ...]] = {
            'temperature': (-0.1, 2.1, '0', True),
            'top_p': (0, -0.1, 1.1, '1'),
            'presence_penalty': (-2.1, 2.1),
            'frequency_penalty': (3, 'x'),
            'n': (0, -1, 1.5, '2', 1000),
            'seed': ('x', 1.5),
            'top_logprobs': (-1, 21),
            'logit_bias': ([], {'-1': 1}, {'1': 101}, {'99999999': 1}),
            'max_tokens': (0, -1, 'x'),
            'stop': (7, [1]),
            'stream': ('yes',),
            'stream_options': ('x',),
        }
        for field, values in wrong.items():
            for value in values:
                error = self.refused(CHAT, ask(**{field: value}))
                self.assertTrue(error['param'].startswith(field), (value, error))
        for number in (b'NaN', b'Infinity', b'1e999'):
            self.refused(
                CHAT, b'{"messages":[{"role":"user","content":"x"}],"temperature":' + number + b'}')

    def test_sampling_that_a_local_server_may_do(self):
        for fields in ({'temperature': 1.1}, {'temperature': 2.0}, {'top_p': 0.8},
                       {'presence_penalty': 0.5}, {'frequency_penalty': 0.5}, {'n': 2}):
            self.server.post(CHAT, ask(**fields, max_tokens=2))

    def test_bodies_that_are_no_requests(self):
        for body in (b'', b'{', b'[]', b'null', b'"x"', b'\xff', b'[' * 100_000):
            for path in (CHAT, '/v1/completions', '/v1/responses', '/tokenize'):
                self.refused(path, body)


class StrictSampling(ServerTest):
    OPTIONS = ('--context', 2048, '--strict-sampling')

    def test_what_the_interface_of_the_vendor_refuses(self):
        for field, value in (('temperature', 1.1), ('temperature', 2.0), ('temperature', -0.1),
                             ('temperature', 0), ('top_p', 0.8), ('presence_penalty', 0.5),
                             ('frequency_penalty', 0.5), ('n', 2)):
            error = self.refused(CHAT, {'messages': user('x'), field: value}, param=field)
            self.assertIn('--strict-sampling', error['message'])

    def test_what_it_has(self):
        for fields in ({}, {'temperature': 1, 'top_p': 0.95, 'n': 1, 'presence_penalty': 0},
                       {'temperature': None, 'top_p': 1}):
            self.server.post(CHAT, {'messages': user('x'), 'max_tokens': 2, **fields})


class Messages(ServerTest):
    OPTIONS = ('--context', 2048)

    def prompt(self, **request: Any) -> str:
        return self.server.post('/apply-template', request)['prompt']

    def test_efforts(self):
        for effort in ('low', 'high', 'max'):
            for wrong in ('medium', 'enormous'):
                error = self.refused(CHAT, ask(reasoning_effort=wrong), param='reasoning_effort')
                self.assertIn(effort, error['message'])
            self.assertIn(f'thinking_effort={effort}`',
                          self.prompt(messages=user('x'), reasoning_effort=effort))
        self.assertIn('thinking_effort=max`', self.prompt(messages=user('x')))
        without = self.server.post(CHAT, ask(reasoning_effort='none'))
        self.assertFalse(without['choices'][0]['message'].get('reasoning_content'))
        self.assertEqual(without['choices'][0]['message']['content'], PARIS)
        both = self.prompt(messages=user('x'), reasoning_effort='max',
                           thinking={'type': 'enabled', 'effort': 'low'})
        self.assertIn('thinking_effort=low`', both)

    def test_forms_of_messages(self):
        call = {'id': 'c', 'type': 'function', 'function': {'name': 'f', 'arguments': '{}'}}
        for messages in ([{'role': 'developer', 'content': 'x'}, *user('y')],
                         user([{'type': 'text', 'text': 'x'}, {'type': 'text', 'text': 'y'}]),
                         [*user('x'), {'role': 'assistant', 'content': None, 'tool_calls': [call]},
                          {'role': 'tool', 'tool_call_id': 'c', 'content': 'z'}]):
            self.server.post(CHAT, ask(messages=messages, max_tokens=2))
        self.refused(CHAT, {'messages': []}, param='messages')
        self.refused(CHAT, {}, param='messages')
        self.refused(CHAT,
                     ask(messages=[{'role': 'robot', 'content': 'x'}]),
                     param='messages[0].role')
        for part in ({'type': 'image_url', 'image_url': {'url': 'data:image/png;base64,AAAA'}},
                     {'type': 'input_audio', 'input_audio': {}}, {'type': 'file', 'file': {}}):
            self.refused(CHAT, ask(messages=user([part])), param='messages[0].content[0].type')

    def test_a_placeholder_is_text(self):
        text = 'look at <|kimi_image_placeholder|> please'
        for content in (text, [{'type': 'text', 'text': text}]):
            self.assertIn(text, self.prompt(messages=user(content)))
            self.server.post(CHAT, ask(messages=user(content), max_tokens=2))

    def test_usage_in_a_stream(self):
        with self.server.stream(CHAT, ask(stream_options={'include_usage': True})) as stream:
            lines = list(stream.lines())
        self.assertEqual(lines[-1], 'data: [DONE]')
        last = json.loads(lines[-2].removeprefix('data: '))
        self.assertEqual(last['choices'], [])
        self.assertGreater(last['usage']['completion_tokens'], 5)

    def test_the_order_of_keys_in_tools_does_not_matter(self):
        first = {'type': 'function', 'function': {'name': 'f', 'parameters': {
            'type': 'object', 'properties': {'a': {'type': 'string'}, 'b': {'type': 'null'}}}}}
        second = {'function': {'parameters': {
            'properties': {'b': {'type': 'null'}, 'a': {'type': 'string'}}, 'type': 'object'},
            'name': 'f'}, 'type': 'function'}
        prompts = [self.prompt(messages=user('x'), tools=[tool]) for tool in (first, second)]
        self.assertEqual(*prompts)
        request = {'messages': user('tell me about the order of keys'), 'max_tokens': 2}
        self.server.post(CHAT, request | {'tools': [first]})
        again = self.server.post(CHAT, request | {'tools': [second]})
        self.assertGreater(again['usage']['prompt_tokens_details']['cached_tokens'], 0)

    def test_reasoning_of_earlier_turns_is_kept(self):
        def history(**reasoning: str) -> list[dict[str, Any]]:
            return [*user('x'), {'role': 'assistant', 'content': 'y', **reasoning}, *user('z')]

        without, with_it = history(), history(reasoning_content='7382 4915 2067')
        counts = [self.server.post(CHAT, ask(messages=messages, max_tokens=1))['usage']
                  ['prompt_tokens'] for messages in (without, with_it)]
        self.assertLess(*counts)
        self.assertIn('7382 4915 2067', self.prompt(messages=with_it))


class Hosts(ServerTest):
    OPTIONS = ('--context', 512, '--allow-host', 'machine.example')

    def test_names_of_the_machine(self):
        port = self.server.port
        for host in (f'127.0.0.1:{port}', f'localhost:{port}', '127.0.0.1',
                     f'machine.example:{port}', 'machine.example'):
            self.assertEqual(
                self.server.request('GET', '/v1/models', headers={'Host': host}).status, 200, host)
        for host in ('another.example', f'another.example:{port}',
                     'machine.example.another.example'):
            answer = self.server.request('GET', '/v1/models', headers={'Host': host})
            self.assertEqual(answer.status, 403, host)
            self.assertIn('--allow-host', answer.json()['error']['message'])


def closed(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    """The schema of an object that has these properties alone."""
    return {'type': 'object', 'properties': properties, 'required': list(required),
            'additionalProperties': False, **more}


def ref(name: str) -> dict[str, str]:
    return {'$ref': f'#/$defs/{name}'}


DIGIT = {'type': 'integer', 'minimum': 0, 'maximum': 9}
TREE = closed({'value': DIGIT, 'left': ref('tree'), 'right': ref('tree')}, 'value')
LIST_OR_END = {'anyOf': [{'enum': ['end']}, ref('list')]}
OLD_TREE = {'$ref': '#/definitions/tree'}
# Of the kinds that vendors are tested with: each refers to itself in another way.
RECURSIVE = {
    'a tree': {'$defs': {'tree': TREE}, **TREE},
    'the root': closed({'child': {'$ref': '#'}}),
    'two that need each other': closed({'first': ref('even')}, 'first', **{
        '$defs': {'even': closed({'next': ref('odd')}), 'odd': closed({'next': ref('even')})}}),
    'a list with an end': closed({'head': LIST_OR_END}, 'head', **{
        '$defs': {'list': closed({'next': LIST_OR_END}, 'next')}}),
    'arrays of itself': closed({'node': ref('node')}, 'node', **{
        '$defs': {'node': {'type': 'array', 'items': ref('node'), 'maxItems': 2}}}),
    'an old definition': closed({'t': OLD_TREE}, definitions={'tree': closed({'left': OLD_TREE})}),
}
# No finite value is valid.
ENDLESS_CYCLE = closed({'node': ref('node')}, 'node', **{
    '$defs': {'node': closed({'next': ref('node')}, 'next')}})


class Schemas(ServerTest):
    OPTIONS = ('--context', 4096)

    @staticmethod
    def tool(schema: dict[str, Any]) -> dict[str, Any]:
        return {'type': 'function', 'function': {'name': 'f', 'parameters': schema}}

    def test_schemas_that_refer_to_themselves_are_accepted(self):
        for name, schema in (RECURSIVE | {'a cycle without an end': ENDLESS_CYCLE}).items():
            with self.subTest(name):
                self.server.post(CHAT, ask(tools=[self.tool(schema)], max_tokens=2))

    def test_calls_keep_them(self):
        ends = self.server.post('/tokenize', {'content': '}<|close|>', 'parse_special': True})
        self.assertEqual(ends['count'], 2)
        request = {'tool_choice': 'required', 'parallel_tool_calls': False,
                   'reasoning_effort': 'none', 'max_tokens': 400,
                   # The small model would go ever deeper.
                   'logit_bias': {str(token): 30 for token in ends['tokens']}}
        for name, schema in RECURSIVE.items():
            with self.subTest(name):
                body = ask('Go on.', tools=[self.tool(schema)], **request)
                choice = self.server.post(CHAT, body)['choices'][0]
                self.assertEqual(choice['finish_reason'], 'tool_calls', choice)
                value = json.loads(choice['message']['tool_calls'][0]['function']['arguments'])
                if Draft202012Validator is not None:
                    Draft202012Validator(schema).validate(value)


if __name__ == '__main__':
    main(sys.argv)

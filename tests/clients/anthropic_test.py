"""Messages by the official client: anthropic_test.py SLUICE [CLASS...]

Without these tests a program that works with Anthropic's server could fail with this one, or read
something else.
"""

import json
import sys
from typing import Any, Iterable, Literal

import anthropic
import jsonschema
import pydantic
from clients import ADD, CONTEXT, FRANCE, KEY, MODEL, PARIS, SET_LAMP, ClientsTest, main


def tool(signature: dict[str, Any]) -> dict[str, Any]:
    return {'name': signature['name'], 'description': signature['description'],
            'input_schema': signature['parameters']}


DELTAS = {'text_delta': 'text', 'thinking_delta': 'thinking', 'input_json_delta': 'partial_json'}


def join_events(events: Iterable[Any]) -> list[dict[str, str]]:
    """The type of each block and the text that its deltas add up to, checked by their order."""
    blocks: list[dict[str, str]] = []
    is_open = False
    for event in events:
        if event.type == 'content_block_start':
            assert not is_open and event.index == len(blocks), event
            is_open = True
            blocks.append({'type': event.content_block.type, 'text': ''})
        elif event.type == 'content_block_delta':
            assert is_open and event.index == len(blocks) - 1, event
            if event.delta.type != 'signature_delta':
                blocks[-1]['text'] += getattr(event.delta, DELTAS[event.delta.type])
        elif event.type == 'content_block_stop':
            assert is_open, event
            is_open = False
    assert not is_open
    return blocks


class AnthropicTest(ClientsTest):
    def setUp(self) -> None:
        self.client = anthropic.Anthropic(api_key=KEY, base_url=self.server.url, max_retries=0)

    def both(self, **request: Any) -> Any:
        """The answer to a request, which must be the same in both streams of the client."""
        request = {'model': MODEL, 'max_tokens': 300, 'extra_body': {'temperature': 0}} | request
        if isinstance(request['messages'], str):
            request['messages'] = [{'role': 'user', 'content': request['messages']}]
        whole = self.client.messages.create(**request)
        events = list(self.client.messages.create(**request, stream=True))
        names = [event.type for event in events]
        self.assertEqual((names[0], names[-2], names[-1]),
                         ('message_start', 'message_delta', 'message_stop'))
        self.assertEqual(events[0].message.content, [])
        self.assertEqual(events[-2].delta.stop_reason, whole.stop_reason)
        self.assertEqual(events[-2].delta.stop_sequence, whole.stop_sequence)
        self.assertEqual(events[-2].usage.output_tokens, whole.usage.output_tokens)
        self.check_blocks(join_events(events), whole)
        with self.client.messages.stream(**request) as stream:
            final = stream.get_final_message()
        self.assertEqual([self.of(block) for block in final.content],
                         [self.of(block) for block in whole.content])
        self.assertEqual(final.stop_reason, whole.stop_reason)
        return whole

    @staticmethod
    def of(block: Any) -> dict[str, Any]:
        """A block without its id, which is another in each answer."""
        return {key: value for key, value in block.to_dict().items()
                if key != 'id' and value is not None and key != 'parsed_output'}

    def check_blocks(self, joined: list[dict[str, str]], whole: Any) -> None:
        self.assertEqual([block['type'] for block in joined],
                         [block.type for block in whole.content])
        for streamed, block in zip(joined, whole.content):
            if block.type == 'tool_use':
                self.assertEqual(json.loads(streamed['text'] or '{}'), block.input)
            else:
                self.assertEqual(streamed['text'],
                                 block.text if block.type == 'text' else block.thinking)


class Messages(AnthropicTest):
    THINKING = {'max_tokens': 1500, 'thinking': {'type': 'enabled', 'budget_tokens': 1024}}

    def test_an_answer(self):
        answer = self.both(messages=FRANCE, thinking={'type': 'disabled'})
        self.assertEqual((answer.type, answer.role, answer.model), ('message', 'assistant', MODEL))
        self.assertRegex(answer.id, r'^msg_\w+$')
        (block,) = answer.content
        self.assertEqual((block.type, block.text, answer.stop_reason), ('text', PARIS, 'end_turn'))
        self.assertIsNone(answer.stop_sequence)
        self.assertGreater(answer.usage.output_tokens, 5)

    def test_thinking(self):
        answer = self.both(messages=FRANCE, **self.THINKING)
        thought, text = answer.content
        self.assertIn('The user asks', thought.thinking)
        self.assertEqual((thought.type, text.text), ('thinking', PARIS))

    def test_thinking_is_sent_back(self):
        first = self.both(messages=FRANCE, **self.THINKING)
        thought = {'role': 'assistant', 'content': [block.to_dict() for block in first.content]}
        second = self.both(messages=[{'role': 'user', 'content': FRANCE}, thought,
                                     {'role': 'user', 'content': 'What is 2 plus 3?'}],
                           **self.THINKING)
        self.assertIn('5', second.content[-1].text)
        self.assertGreater(second.usage.cache_read_input_tokens, 30)

    def test_system_texts(self):
        counts = set()
        block = {'type': 'text', 'text': 'Be brief.', 'cache_control': {'type': 'ephemeral'}}
        for system in ('Be brief.', [block]):
            answer = self.both(messages=FRANCE, system=system, thinking={'type': 'disabled'})
            counts.add(answer.usage.input_tokens + (answer.usage.cache_read_input_tokens or 0))
        self.assertEqual(len(counts), 1)

    def test_the_length_is_kept(self):
        answer = self.both(messages=FRANCE, max_tokens=3, thinking={'type': 'disabled'})
        self.assertEqual((answer.stop_reason, answer.usage.output_tokens), ('max_tokens', 3))

    def test_a_stop_sequence_ends_the_text(self):
        answer = self.both(messages=FRANCE, stop_sequences=['never', 'Paris'],
                           thinking={'type': 'disabled'})
        self.assertEqual((answer.stop_reason, answer.stop_sequence), ('stop_sequence', 'Paris'))
        self.assertEqual(answer.content[0].text, 'The capital of France is ')

    def test_tokens_are_counted_beforehand(self):
        messages = [{'role': 'user', 'content': FRANCE}]
        counted = self.client.messages.count_tokens(model=MODEL, messages=messages,
                                                    tools=[tool(ADD)])
        answer = self.both(messages=messages, tools=[tool(ADD)], max_tokens=2)
        cached = answer.usage.cache_read_input_tokens or 0
        self.assertEqual(counted.input_tokens, answer.usage.input_tokens + cached)


class Tools(AnthropicTest):
    REQUEST = {'tools': [tool(SET_LAMP), tool(ADD)], 'thinking': {'type': 'disabled'}}

    def call_of(self, answer: Any) -> Any:
        self.assertEqual(answer.stop_reason, 'tool_use')
        (call,) = (block for block in answer.content if block.type == 'tool_use')
        self.assertRegex(call.id, r'^toolu_\w+$')
        jsonschema.validate(call.input, (ADD if call.name == 'add' else SET_LAMP)['parameters'])
        return call

    def test_a_call_and_its_result(self):
        asked = self.both(messages='Go on.', **self.REQUEST,
                          tool_choice={'type': 'any', 'disable_parallel_tool_use': True})
        call = self.call_of(asked)
        result = {'type': 'tool_result', 'tool_use_id': call.id,
                  'content': [{'type': 'text', 'text': 'done'}]}
        answer = self.both(messages=[
            {'role': 'user', 'content': 'Go on.'},
            {'role': 'assistant', 'content': [block.to_dict() for block in asked.content]},
            {'role': 'user', 'content': [result, {'type': 'text', 'text': FRANCE}]}],
            tool_choice={'type': 'none'}, max_tokens=60, **self.REQUEST)
        self.assertNotIn('tool_use', [block.type for block in answer.content])

    def test_a_named_call(self):
        for name in ('add', 'set_lamp'):
            choice = {'type': 'tool', 'name': name, 'disable_parallel_tool_use': True}
            asked = self.both(messages='Go on.', tool_choice=choice, **self.REQUEST)
            self.assertEqual(self.call_of(asked).name, name)


class StructuredOutput(AnthropicTest):
    def test_a_class(self):
        class City(pydantic.BaseModel):
            name: Literal['Paris', 'Rome']
            river: bool

        answer = self.client.messages.parse(model=MODEL, max_tokens=300, output_format=City,
                                            messages=[{'role': 'user', 'content': FRANCE}])
        self.assertIsInstance(answer.parsed_output, City)


class Errors(AnthropicTest):
    OPTIONS = (*ClientsTest.OPTIONS, '--strict-model')

    def ask(self, **request: Any) -> Any:
        messages = [{'role': 'user', 'content': 'x'}]
        return self.client.messages.create(
            **{'model': MODEL, 'max_tokens': 5, 'messages': messages} | request)

    def test_a_request_that_is_wrong(self):
        image = {'type': 'image', 'source': {'type': 'base64', 'media_type': 'image/png',
                                             'data': 'AAAA'}}
        for wrong in ({'extra_body': {'temperature': -1}}, {'max_tokens': 0}, {'messages': []},
                      {'messages': [{'role': 'user', 'content': [image]}]},
                      {'messages': [{'role': 'robot', 'content': 'x'}]},
                      {'tool_choice': {'type': 'any'}}):
            with self.assertRaises(anthropic.BadRequestError, msg=wrong) as caught:
                self.ask(**wrong)
            self.assertEqual(caught.exception.body['type'], 'error')
            self.assertEqual(caught.exception.body['error']['type'], 'invalid_request_error')

    def test_a_prompt_that_is_too_long(self):
        for stream in (False, True):
            with self.assertRaises(anthropic.BadRequestError) as caught:
                self.ask(messages=[{'role': 'user', 'content': 'word ' * 3000}], stream=stream)
            self.assertRegex(caught.exception.message, rf'\b3\d\d\d\b.*\b{CONTEXT}\b')

    def test_a_wrong_key(self):
        stranger = anthropic.Anthropic(api_key='wrong', base_url=self.server.url, max_retries=0)
        with self.assertRaises(anthropic.AuthenticationError) as caught:
            stranger.messages.create(model=MODEL, max_tokens=5,
                                     messages=[{'role': 'user', 'content': 'x'}])
        self.assertEqual(caught.exception.body['error']['type'], 'authentication_error')

    def test_another_model(self):
        with self.assertRaises(anthropic.NotFoundError) as caught:
            self.ask(model='claude')
        self.assertEqual(caught.exception.body['error']['type'], 'not_found_error')


class Busy(AnthropicTest):
    OPTIONS = ('--context', CONTEXT, '--max-sequences', 1, '--max-queue', 0)

    def test_who_finds_no_place_is_told_that_the_server_is_overloaded(self):
        request: dict[str, Any] = {
            'model': MODEL, 'messages': [{'role': 'user', 'content': 'Tell me a story.'}]}
        first = self.client.messages.create(**request, max_tokens=1900, stream=True,
                                            extra_body={'ignore_eos': True})
        next(iter(first))
        with self.assertRaises(anthropic.APIStatusError) as caught:
            self.client.messages.create(**request, max_tokens=5)
        first.close()
        self.assertEqual(caught.exception.status_code, 529)
        self.assertEqual(caught.exception.body['error']['type'], 'overloaded_error')


if __name__ == '__main__':
    main(sys.argv)

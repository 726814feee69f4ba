"""Completions, models and responses by the official client: openai_other_test.py SLUICE [CLASS...]

Without these tests a program that uses another of OpenAI's interfaces than chat could fail here.
"""

import json
import sys
from typing import Any, Iterable, Literal

import jsonschema
import openai
import pydantic
from clients import ADD, CONTEXT, FRANCE, KEY, MODEL, PARIS, SET_LAMP, ClientsTest, main
from replies import choices, join_completion

SEA = 'She looked at the sea and'


class OpenAiTest(ClientsTest):
    def setUp(self) -> None:
        self.client = openai.OpenAI(api_key=KEY, base_url=self.server.url + '/v1', max_retries=0)

    def ids(self, text: str) -> list[int]:
        return self.server.post('/tokenize', {'content': text})['tokens']


class Completions(OpenAiTest):
    def both(self, **request: Any) -> Any:
        """The answer to a request, which must be the same streamed."""
        request = {'model': MODEL, 'temperature': 0, 'seed': 1, 'max_tokens': 12} | request
        whole = self.client.completions.create(**request)
        joined = join_completion(chunk.to_dict() for chunk in self.client.completions.create(
            **request, stream=True, stream_options={'include_usage': True}))
        self.assertEqual(choices(joined), choices(whole.to_dict()))
        for name in ('prompt_tokens', 'completion_tokens', 'total_tokens'):
            self.assertEqual(joined['usage'][name], getattr(whole.usage, name))
        self.assertEqual(whole.object, 'text_completion')
        return whole

    def test_every_form_of_a_prompt(self):
        ids = self.ids(SEA)
        text = self.both(prompt=SEA)
        self.assertEqual(text.usage.prompt_tokens, len(ids))
        self.assertEqual((text.usage.completion_tokens, text.choices[0].finish_reason),
                         (12, 'length'))
        expected = text.choices[0].text
        self.assertGreater(len(expected.split()), 3)
        self.assertEqual(self.both(prompt=[SEA]).choices[0].text, expected)
        self.assertEqual(self.both(prompt=ids).choices[0].text, expected)
        self.assertEqual(self.both(prompt=[ids]).choices[0].text, expected)
        several = self.both(prompt=[SEA, 'It was', SEA])
        self.assertEqual([choice.index for choice in several.choices], [0, 1, 2])
        self.assertEqual([choice.text for choice in several.choices],
                         [expected, self.both(prompt='It was').choices[0].text, expected])
        mixed = self.both(prompt=[self.ids('It was'), ids], n=2, temperature=1)
        self.assertEqual([choice.index for choice in mixed.choices], [0, 1, 2, 3])

    def test_an_echo(self):
        plain = self.both(prompt=SEA).choices[0].text
        self.assertEqual(self.both(prompt=SEA, echo=True).choices[0].text, SEA + plain)

    def test_a_stop_text(self):
        plain = self.both(prompt=SEA, max_tokens=30).choices[0].text
        stop = plain.split()[3]
        choice = self.both(prompt=SEA, max_tokens=30, stop=stop).choices[0]
        self.assertEqual((choice.text, choice.finish_reason), (plain[:plain.index(stop)], 'stop'))

    def test_penalties_make_repetition_rare(self):
        plain = self.both(prompt='It was', max_tokens=60).choices[0].text.split()
        answer = self.both(prompt='It was', max_tokens=60, frequency_penalty=2, presence_penalty=2)
        varied = answer.choices[0].text.split()
        self.assertGreater(len(set(varied)) / len(varied), len(set(plain)) / len(plain))

    def test_probabilities(self):
        choice = self.both(prompt=SEA, logprobs=2).choices[0]
        logprobs = choice.logprobs
        self.assertEqual(''.join(logprobs.tokens), choice.text)
        self.assertEqual(len(logprobs.token_logprobs), 12)
        self.assertTrue(all(value <= 0 for value in logprobs.token_logprobs))
        for token, value, likely in zip(logprobs.tokens, logprobs.token_logprobs,
                                        logprobs.top_logprobs):
            self.assertEqual(likely[token], value)
        offsets = [sum(map(len, logprobs.tokens[:i])) for i in range(12)]
        self.assertEqual([offset - logprobs.text_offset[0] for offset in logprobs.text_offset],
                         offsets)

    def test_what_is_not_done_is_refused(self):
        for field, value in (('suffix', 'x'), ('best_of', 2), ('logprobs', 21),
                             ('prompt', [[1 << 30]]), ('prompt', 7)):
            with self.assertRaises(openai.BadRequestError) as caught:
                self.client.completions.create(**{'model': MODEL, 'prompt': SEA} | {field: value})
            self.assertTrue(caught.exception.param.startswith(field), caught.exception)
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.completions.create(model=MODEL, prompt='word ' * 3000)
        self.assertEqual(caught.exception.code, 'context_length_exceeded')


class Models(OpenAiTest):
    def test_the_model_is_listed(self):
        (model,) = self.client.models.list().data
        self.assertEqual((model.id, model.object), (MODEL, 'model'))
        self.assertGreater(model.created, 0)
        self.assertEqual(model.max_model_len, CONTEXT)
        self.assertEqual(self.client.models.retrieve(MODEL), model)
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve('another')


def join_response(events: Iterable[Any]) -> list[dict[str, Any]]:
    """The output items of a response from the pieces that its events bring, in their order."""
    items: list[dict[str, Any]] = []
    for number, event in enumerate(events):
        assert event.sequence_number == number, event
        kind = event.type.removeprefix('response.')
        if kind == 'output_item.added':
            assert event.output_index == len(items), event
            items.append({'type': event.item.type, 'text': '', 'done': False})
        elif kind in ('output_text.delta', 'reasoning_text.delta', 'function_call_arguments.delta'):
            assert event.output_index == len(items) - 1 and not items[-1]['done'], event
            items[-1]['text'] += event.delta
        elif kind in ('output_text.done', 'reasoning_text.done'):
            assert event.text == items[-1]['text'], event
        elif kind == 'function_call_arguments.done':
            assert event.arguments == items[-1]['text'], event
        elif kind == 'output_item.done':
            items[event.output_index]['done'] = True
    assert all(item.pop('done') for item in items), items
    return items


def texts_of(response: Any) -> list[dict[str, Any]]:
    """The output items of a whole response in the form of join_response()."""
    items = []
    for item in response.output:
        is_call = item.type == 'function_call'
        text = item.arguments if is_call else ''.join(part.text for part in item.content)
        items.append({'type': item.type, 'text': text})
    return items


class Responses(OpenAiTest):
    TOOLS = [{'type': 'function', 'strict': True, **signature} for signature in (SET_LAMP, ADD)]

    def both(self, **request: Any) -> Any:
        """The response to a request, which must be the same streamed."""
        request = {'model': MODEL, 'temperature': 0} | request
        whole = self.client.responses.create(**request)
        events = list(self.client.responses.create(**request, stream=True))
        names = [event.type for event in events]
        last = 'response.completed' if whole.status == 'completed' else 'response.incomplete'
        self.assertEqual(names[:2], ['response.created', 'response.in_progress'])
        self.assertEqual(names[-1], last)
        self.assertEqual(join_response(events), texts_of(whole))
        self.assertEqual(texts_of(events[-1].response), texts_of(whole))
        self.assertEqual(events[-1].response.usage.output_tokens, whole.usage.output_tokens)
        self.assertEqual(whole.usage.total_tokens,
                         whole.usage.input_tokens + whole.usage.output_tokens)
        return whole

    def test_a_text(self):
        response = self.both(input=FRANCE)
        self.assertEqual((response.object, response.status, response.model),
                         ('response', 'completed', MODEL))
        self.assertEqual(response.output_text, PARIS)
        self.assertEqual([item.type for item in response.output], ['reasoning', 'message'])
        self.assertGreater(response.usage.output_tokens_details.reasoning_tokens, 3)

    def test_items_and_instructions(self):
        answered = {'type': 'message', 'role': 'assistant',
                    'content': [{'type': 'output_text', 'text': PARIS}]}
        asked = {'role': 'user', 'content': [{'type': 'input_text', 'text': 'What is 2 plus 3?'}]}
        response = self.both(instructions='Be brief.', reasoning={'effort': 'none'},
                             input=[{'role': 'user', 'content': FRANCE}, answered, asked])
        self.assertIn('5', response.output_text)
        self.assertEqual([item.type for item in response.output], ['message'])

    def test_a_length(self):
        response = self.both(input=FRANCE, max_output_tokens=3)
        self.assertEqual((response.status, response.incomplete_details.reason),
                         ('incomplete', 'max_output_tokens'))
        self.assertEqual(response.usage.output_tokens, 3)

    def test_the_stream_of_the_client(self):
        with self.client.responses.stream(model=MODEL, temperature=0, input=FRANCE) as stream:
            text = ''.join(event.delta for event in stream
                           if event.type == 'response.output_text.delta')
            self.assertEqual(stream.get_final_response().output_text, text)
        self.assertEqual(text, PARIS)

    def test_a_call_and_its_result(self):
        request = {'tools': self.TOOLS, 'parallel_tool_calls': False}
        for choice in ('required', {'type': 'function', 'name': 'add'}):
            response = self.both(input='Go on.', tool_choice=choice, **request)
            (call,) = (item for item in response.output if item.type == 'function_call')
            signature = ADD if call.name == 'add' else SET_LAMP
            self.assertIn(call.name, ('set_lamp', 'add') if choice == 'required' else ('add',))
            jsonschema.validate(json.loads(call.arguments), signature['parameters'])
            history = [{'role': 'user', 'content': 'Go on.'},
                       *(item.to_dict() for item in response.output),
                       {'type': 'function_call_output', 'call_id': call.call_id, 'output': 'done'}]
            answer = self.both(input=history, tool_choice='none', max_output_tokens=80, **request)
            self.assertNotIn('function_call', [item.type for item in answer.output])
            self.assertGreater(answer.usage.input_tokens, response.usage.input_tokens)

    def test_a_schema(self):
        class City(pydantic.BaseModel):
            name: Literal['Paris', 'Rome']
            river: bool

        response = self.client.responses.parse(model=MODEL, temperature=0, input=FRANCE,
                                               text_format=City)
        self.assertIsInstance(response.output_parsed, City)
        schema = City.model_json_schema() | {'additionalProperties': False}
        form = {'format': {'type': 'json_schema', 'name': 'city', 'strict': True, 'schema': schema}}
        self.assertEqual(json.loads(self.both(input=FRANCE, text=form).output_text),
                         response.output_parsed.model_dump())

    def test_tokens_are_counted_beforehand(self):
        counted = self.client.responses.input_tokens.count(model=MODEL, input=FRANCE)
        self.assertEqual(counted.input_tokens, self.both(input=FRANCE).usage.input_tokens)

    def test_what_is_not_kept_cannot_be_gone_on_from(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.responses.create(model=MODEL, input='x', previous_response_id='resp_1')
        self.assertEqual(caught.exception.param, 'previous_response_id')
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.responses.create(model=MODEL, input='word ' * 3000, stream=True)
        self.assertEqual(caught.exception.code, 'context_length_exceeded')


if __name__ == '__main__':
    main(sys.argv)

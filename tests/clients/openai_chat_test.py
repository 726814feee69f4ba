"""Chat completions by the official client: openai_chat_test.py SLUICE [CLASS...]

Without these tests a program that works with OpenAI's server could fail with this one, or read
something else.
"""

import asyncio
import enum
import json
import sys
from typing import Any, Literal

import jsonschema
import openai
import pydantic
from clients import (ADD, CONTEXT, ENDLESS, FRANCE, KEY, MODEL, PARIS, SET_LAMP, ClientsTest,
                     function, main)
from replies import choices, comparable, join_chat

LAMP_TOOLS = [function(SET_LAMP), function(ADD)]
CHAT_FIELDS = {'id', 'object', 'created', 'model', 'choices', 'usage', 'system_fingerprint'}


def user(text: str) -> list[dict[str, Any]]:
    return [{'role': 'user', 'content': text}]


class ChatTest(ClientsTest):
    def setUp(self) -> None:
        self.client = openai.OpenAI(api_key=KEY, base_url=self.server.url + '/v1', max_retries=0)

    def both(self, **request: Any) -> Any:
        """The answer to a request, which must be the same streamed."""
        request = {'model': MODEL, 'temperature': 0, 'seed': 1} | request
        whole = self.client.chat.completions.create(**request)
        stream = self.client.chat.completions.create(
            **request, stream=True, stream_options={'include_usage': True})
        joined = join_chat(chunk.to_dict() for chunk in stream)
        self.assertEqual(choices(joined), choices(whole.to_dict()))
        self.check_usage(whole.usage)
        # The second request finds the prompt of the first.
        joined['usage']['prompt_tokens_details'] = whole.usage.prompt_tokens_details.to_dict()
        self.assertEqual(joined['usage'], whole.usage.to_dict())
        return whole

    def check_usage(self, usage: Any) -> None:
        self.assertGreater(usage.prompt_tokens, 0)
        self.assertEqual(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
        self.assertLessEqual(usage.completion_tokens_details.reasoning_tokens,
                             usage.completion_tokens)
        self.assertLessEqual(usage.prompt_tokens_details.cached_tokens, usage.prompt_tokens)

    def call_of(self, answer: Any, signature: dict[str, Any]) -> Any:
        """The only call of an answer, which must keep the tool's schema."""
        choice = answer.choices[0]
        self.assertEqual(choice.finish_reason, 'tool_calls')
        (call,) = choice.message.tool_calls
        self.assertEqual((call.type, call.function.name), ('function', signature['name']))
        self.assertRegex(call.id, r'^call_\w+$')
        jsonschema.validate(json.loads(call.function.arguments), signature['parameters'])
        return call


class Answers(ChatTest):
    def test_an_answer_with_its_reasoning(self):
        answer = self.both(messages=user(FRANCE))
        self.assertEqual(answer.to_dict().keys() & CHAT_FIELDS, CHAT_FIELDS)
        self.assertEqual((answer.object, answer.model), ('chat.completion', MODEL))
        choice = answer.choices[0]
        self.assertEqual((choice.index, choice.finish_reason, choice.message.role),
                         (0, 'stop', 'assistant'))
        self.assertEqual(choice.message.content, PARIS)
        self.assertIn('The user asks', choice.message.reasoning_content)
        self.assertEqual(choice.message.reasoning, choice.message.reasoning_content)
        self.assertIsNone(choice.message.tool_calls)
        self.assertGreater(answer.usage.completion_tokens_details.reasoning_tokens, 3)

    def test_a_stream_begins_with_the_role_and_ends_with_the_reason(self):
        stream = self.client.chat.completions.create(model=MODEL, messages=user(FRANCE),
                                                     stream=True)
        chunks = [chunk.to_dict() for chunk in stream]
        self.assertEqual(chunks[0]['choices'][0]['delta'], {'role': 'assistant', 'content': ''})
        self.assertEqual(chunks[-1]['choices'][0]['delta'], {})
        self.assertEqual(chunks[-1]['choices'][0]['finish_reason'], 'stop')
        self.assertFalse(any(chunk.get('usage') for chunk in chunks))

    def test_usage_comes_last_and_only_when_asked_for(self):
        stream = self.client.chat.completions.create(
            model=MODEL, messages=user(FRANCE), stream=True, stream_options={'include_usage': True})
        chunks = [chunk.to_dict() for chunk in stream]
        self.assertTrue(all('usage' in chunk and chunk['usage'] is None for chunk in chunks[:-1]))
        self.assertEqual(chunks[-1]['choices'], [])
        self.assertGreater(chunks[-1]['usage']['completion_tokens'], 0)

    def test_the_stream_of_the_client(self):
        answer = self.both(messages=user(FRANCE))
        with self.client.chat.completions.stream(model=MODEL, temperature=0,
                                                 messages=user(FRANCE)) as stream:
            content = ''.join(event.delta for event in stream if event.type == 'content.delta')
            final = stream.get_final_completion()
        self.assertEqual(content, PARIS)
        self.assertEqual(final.choices[0].message.content, PARIS)
        self.assertEqual(final.choices[0].finish_reason, answer.choices[0].finish_reason)

    def test_the_asynchronous_client(self):
        async def ask() -> list[str]:
            async with openai.AsyncOpenAI(api_key=KEY, base_url=self.server.url + '/v1') as client:
                answers = await asyncio.gather(*(client.chat.completions.create(
                    model=MODEL, temperature=0, messages=user(FRANCE)) for _ in range(6)))
            return [answer.choices[0].message.content for answer in answers]

        self.assertEqual(asyncio.run(ask()), [PARIS] * 6)

    def test_every_effort(self):
        for effort in ('none', 'low', 'high', 'max'):
            answer = self.both(messages=user(FRANCE), extra_body={'reasoning_effort': effort})
            self.assertEqual(answer.choices[0].message.content, PARIS)
            reasoned = answer.usage.completion_tokens_details.reasoning_tokens
            self.assertEqual(reasoned > 0, effort != 'none', effort)

    def test_a_conversation_goes_on_from_what_is_known(self):
        first = self.both(messages=user(FRANCE)).choices[0].message
        history = [*user(FRANCE), {'role': 'assistant', 'content': first.content,
                                   'reasoning_content': first.reasoning_content}]
        second = self.both(messages=[*history, *user('What is 2 plus 3?')])
        self.assertIn('5', second.choices[0].message.content)
        self.assertGreater(second.usage.prompt_tokens_details.cached_tokens, 50)

    def test_all_roles_and_forms_of_messages(self):
        parts = [{'type': 'text', 'text': 'Be '}, {'type': 'text', 'text': 'kind.'}]
        messages = [{'role': 'developer', 'content': 'Be brief.'},
                    {'role': 'system', 'content': parts},
                    {'role': 'user', 'content': [{'type': 'text', 'text': FRANCE}], 'name': 'ann'}]
        answer = self.both(messages=messages, user='ann', metadata={'a': 'b'}, store=False,
                           service_tier='auto', max_completion_tokens=60)
        self.assertGreater(answer.usage.prompt_tokens, 91)


class Sampling(ChatTest):
    def test_a_seed_repeats_and_others_differ(self):
        texts = set()
        for seed in range(3):
            answer = self.both(messages=user('Tell me a story.'), temperature=1.5, top_p=0.95,
                               seed=seed, max_tokens=40, reasoning_effort='none')
            texts.add(answer.choices[0].message.content)
        self.assertGreater(len(texts), 1)

    def test_several_choices(self):
        answer = self.both(messages=user('Tell me a story.'), temperature=1.5, n=3, max_tokens=30)
        self.assertEqual([choice.index for choice in answer.choices], [0, 1, 2])
        different = {str(comparable(choice.message.to_dict())) for choice in answer.choices}
        self.assertGreater(len(different), 1)
        self.assertEqual(answer.usage.completion_tokens, 90)
        greedy = self.both(messages=user(FRANCE), n=2)
        self.assertEqual([choice.message.content for choice in greedy.choices], [PARIS, PARIS])

    def test_the_length_is_kept(self):
        for field in ('max_tokens', 'max_completion_tokens'):
            answer = self.both(messages=user(FRANCE), **{field: 3})
            choice = answer.choices[0]
            self.assertEqual((choice.finish_reason, answer.usage.completion_tokens), ('length', 3))
            self.assertEqual(choice.message.content, '')
            self.assertTrue(choice.message.reasoning_content)
        answer = self.both(messages=user(FRANCE), max_tokens=3, max_completion_tokens=5)
        self.assertEqual(answer.usage.completion_tokens, 5)

    def test_a_stop_text_ends_the_content_alone(self):
        cases = (('Paris', 'The capital of France is '),
                 ([' is', 'nothing'], 'The capital of France'),
                 ('of Fr', 'The capital '), ('The', ''), ('The user', PARIS))
        for stop, content in cases:
            choice = self.both(messages=user(FRANCE), stop=stop).choices[0]
            self.assertEqual((choice.message.content, choice.finish_reason), (content, 'stop'))
            self.assertIn('The user', choice.message.reasoning_content)

    def test_a_biased_token_does_not_come(self):
        ids = self.server.post('/tokenize', {'content': ' Paris'})['tokens']
        choice = self.both(messages=user(FRANCE), reasoning_effort='none',
                           logit_bias={str(token): -100 for token in ids}, max_tokens=20).choices[0]
        self.assertNotIn(' Paris', choice.message.content)


class Logprobs(ChatTest):
    def test_each_token_of_the_content_has_its_probability(self):
        choice = self.both(messages=user(FRANCE), logprobs=True, top_logprobs=3).choices[0]
        tokens = choice.logprobs.content
        self.assertEqual(b''.join(bytes(token.bytes) for token in tokens).decode(), PARIS)
        for token in tokens:
            self.assertEqual(bytes(token.bytes).decode(errors='replace'), token.token)
            self.assertLessEqual(token.logprob, 0)
            self.assertEqual(len(token.top_logprobs), 3)
            self.assertEqual(token.top_logprobs[0].token, token.token)
            self.assertEqual(token.top_logprobs[0].logprob, token.logprob)
            likely = [other.logprob for other in token.top_logprobs]
            self.assertEqual(likely, sorted(likely, reverse=True))

    def test_only_the_chosen_token_without_top_logprobs(self):
        choice = self.both(messages=user(FRANCE), logprobs=True).choices[0]
        self.assertTrue(choice.logprobs.content)
        self.assertTrue(all(token.top_logprobs == [] for token in choice.logprobs.content))
        self.assertIsNone(self.both(messages=user(FRANCE)).choices[0].logprobs)


class Tools(ChatTest):
    def test_a_required_call_and_its_result(self):
        request = {'tools': LAMP_TOOLS, 'parallel_tool_calls': False}
        asked = self.both(messages=user('Light the hall.'), tool_choice='required', **request)
        name = asked.choices[0].message.tool_calls[0].function.name
        call = self.call_of(asked, SET_LAMP if name == 'set_lamp' else ADD)
        history = [*user('Light the hall.'), asked.choices[0].message.to_dict(),
                   {'role': 'tool', 'tool_call_id': call.id, 'content': 'done'}]
        answer = self.both(messages=history, tool_choice='none', max_tokens=80, **request)
        self.assertIsNone(answer.choices[0].message.tool_calls)
        self.assertGreater(answer.usage.prompt_tokens, asked.usage.prompt_tokens)

    def test_a_named_call(self):
        for signature in (SET_LAMP, ADD):
            choice = {'type': 'function', 'function': {'name': signature['name']}}
            asked = self.both(messages=user('Go on.'), tools=LAMP_TOOLS, tool_choice=choice,
                              parallel_tool_calls=False)
            self.call_of(asked, signature)

    def test_sampled_calls_are_valid_too(self):
        for seed in range(2):
            asked = self.both(messages=user('Go on.'), tools=[function(SET_LAMP)], seed=seed,
                              tool_choice='required', parallel_tool_calls=False, temperature=1.5)
            self.call_of(asked, SET_LAMP)

    def test_the_model_may_leave_its_tools_alone(self):
        for choice in ('auto', 'none'):
            answer = self.both(messages=user(FRANCE), tools=LAMP_TOOLS, tool_choice=choice,
                               max_tokens=100)
            self.assertIn(answer.choices[0].finish_reason, ('stop', 'length', 'tool_calls'))
            if choice == 'none':
                self.assertIsNone(answer.choices[0].message.tool_calls)

    def test_calls_as_objects_of_the_client(self):
        class Room(str, enum.Enum):
            KITCHEN = 'kitchen'
            HALL = 'hall'

        class Lamp(pydantic.BaseModel):
            """Sets a lamp."""

            room: Room
            level: Literal[0, 5, 10]

        answer = self.client.chat.completions.parse(
            model=MODEL, temperature=0, messages=user('Light the hall.'), tool_choice='required',
            parallel_tool_calls=False, tools=[openai.pydantic_function_tool(Lamp)])
        (call,) = answer.choices[0].message.tool_calls
        self.assertIsInstance(call.function.parsed_arguments, Lamp)


class City(pydantic.BaseModel):
    name: Literal['Paris', 'Rome', 'Zürich']
    population: int = pydantic.Field(ge=0, le=9999)
    river: bool
    twins: list[Literal['Rome', 'Berlin']] = pydantic.Field(max_length=2)


class StructuredOutput(ChatTest):
    def test_an_object(self):
        answer = self.both(messages=user(FRANCE), response_format={'type': 'json_object'},
                           max_tokens=200)
        choice = answer.choices[0]
        self.assertTrue(choice.message.content.startswith('{'), choice)
        if choice.finish_reason == 'stop':
            self.assertIsInstance(json.loads(choice.message.content), dict)

    def test_a_schema(self):
        schema = {'name': 'city', 'strict': True, 'schema': City.model_json_schema()}
        for temperature in (0, 1.5):
            answer = self.both(messages=user(FRANCE), temperature=temperature,
                               response_format={'type': 'json_schema', 'json_schema': schema})
            choice = answer.choices[0]
            self.assertEqual(choice.finish_reason, 'stop')
            jsonschema.validate(json.loads(choice.message.content), City.model_json_schema())
            self.assertNotRegex(choice.message.content, '[\n\t]')
            self.assertIn('The user', choice.message.reasoning_content)

    def test_a_class(self):
        answer = self.client.chat.completions.parse(
            model=MODEL, temperature=0, messages=user(FRANCE), response_format=City)
        self.assertIsInstance(answer.choices[0].message.parsed, City)
        with self.client.chat.completions.stream(
                model=MODEL, temperature=0, messages=user(FRANCE), response_format=City) as stream:
            final = stream.get_final_completion()
        self.assertEqual(final.choices[0].message.parsed, answer.choices[0].message.parsed)


class Errors(ChatTest):
    OPTIONS = (*ClientsTest.OPTIONS, '--strict-model')

    def test_a_prompt_that_is_too_long(self):
        for stream in (False, True):
            with self.assertRaises(openai.BadRequestError) as caught:
                self.client.chat.completions.create(model=MODEL, messages=user('word ' * 3000),
                                                    stream=stream)
            error = caught.exception
            self.assertEqual((error.status_code, error.code), (400, 'context_length_exceeded'))
            self.assertEqual(error.body['n_ctx'], CONTEXT)
            self.assertGreater(error.body['n_prompt_tokens'], 3000)
            for number in (error.body['n_ctx'], error.body['n_prompt_tokens']):
                self.assertIn(str(number), error.message)

    def test_a_field_that_is_wrong(self):
        for wrong in ({'temperature': -0.1}, {'top_logprobs': 21}, {'n': 0}, {'max_tokens': 0},
                      {'tool_choice': 'bogus'}, {'stop': [1]}, {'logit_bias': {'x': 1}}):
            (field,) = wrong
            with self.assertRaises(openai.BadRequestError) as caught:
                self.client.chat.completions.create(model=MODEL, messages=user('x'), **wrong)
            self.assertTrue(caught.exception.param.startswith(field), caught.exception)
            self.assertEqual(caught.exception.type, 'invalid_request_error')

    def test_a_wrong_key(self):
        stranger = openai.OpenAI(api_key='wrong', base_url=self.server.url + '/v1', max_retries=0)
        with self.assertRaises(openai.AuthenticationError) as caught:
            stranger.chat.completions.create(model=MODEL, messages=user('x'))
        self.assertEqual(caught.exception.code, 'invalid_api_key')
        with self.assertRaises(openai.AuthenticationError):
            stranger.models.list()

    def test_another_model(self):
        with self.assertRaises(openai.NotFoundError) as caught:
            self.client.chat.completions.create(model='gpt-5', messages=user('x'))
        self.assertEqual(caught.exception.code, 'model_not_found')
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve('gpt-5')

    def test_something_that_is_not_done(self):
        with self.assertRaises(openai.APIStatusError) as caught:
            self.client.embeddings.create(model=MODEL, input='x')
        self.assertEqual(caught.exception.status_code, 501)


class Busy(ChatTest):
    OPTIONS = ('--context', CONTEXT, '--max-sequences', 1, '--max-queue', 0)

    def test_who_finds_no_place_is_told_when_to_come_again(self):
        first = self.client.chat.completions.create(model=MODEL, messages=user(FRANCE), stream=True,
                                                    extra_body=ENDLESS)
        next(iter(first))
        with self.assertRaises(openai.RateLimitError) as caught:
            self.client.chat.completions.create(model=MODEL, messages=user(FRANCE))
        self.assertGreaterEqual(int(caught.exception.response.headers['retry-after']), 1)
        first.close()
        # The client tries again by itself until the place of the one that has gone is free.
        patient = self.client.with_options(max_retries=10)
        answer = patient.chat.completions.create(model=MODEL, messages=user(FRANCE), temperature=0)
        self.assertEqual(answer.choices[0].message.content, PARIS)


if __name__ == '__main__':
    main(sys.argv)

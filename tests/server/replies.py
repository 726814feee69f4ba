"""Puts streamed answers together again, so that they can be compared with whole ones."""

from typing import Any, Iterable

# Of each answer anew.
NEVER_EQUAL = {'id', 'created', 'timings', 'request_id'}
TEXTS = ('content', 'reasoning_content', 'reasoning', 'refusal')


def _add_call(calls: list[dict[str, Any]], delta: dict[str, Any]) -> None:
    if delta['index'] == len(calls):
        # Only the first piece has them.
        assert delta['id'] and delta['type'] == 'function' and delta['function']['name'], delta
        calls.append(
            {'type': 'function', 'function': {'name': delta['function']['name'], 'arguments': ''}})
    else:
        assert delta['index'] == len(calls) - 1, delta
        assert not delta.get('id') and not delta['function'].get('name'), delta
    calls[delta['index']]['function']['arguments'] += delta['function'].get('arguments') or ''


def _add_delta(message: dict[str, Any], delta: dict[str, Any]) -> None:
    for key, value in delta.items():
        if key == 'tool_calls' and value is not None:
            assert value, 'an empty list of calls'
            for call in value:
                _add_call(message.setdefault('tool_calls', []), call)
        elif key in TEXTS and value is not None:
            message[key] = message.get(key, '') + value
        elif value is not None:
            message[key] = value


def _add_logprobs(choice: dict[str, Any], logprobs: dict[str, Any] | None) -> None:
    for key, values in (logprobs or {}).items():
        if values is not None:
            choice.setdefault('logprobs', {}).setdefault(key, []).extend(values)


def _add_ids(choice: dict[str, Any], part: dict[str, Any]) -> None:
    if part.get('token_ids'):
        choice.setdefault('token_ids', []).extend(part['token_ids'])


def _end(choice: dict[str, Any], part: dict[str, Any]) -> None:
    for key in ('finish_reason', 'stop_reason'):
        choice[key] = part.get(key)


def _in_order(choices_of: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    return [choice | {'index': index} for index, choice in sorted(choices_of.items())]


def join_chat(chunks: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The chat completion that chunks add up to."""
    whole: dict[str, Any] = {'choices': {}}
    for chunk in chunks:
        assert chunk['object'] == 'chat.completion.chunk', chunk
        for key in ('id', 'created', 'model', 'system_fingerprint'):
            assert whole.setdefault(key, chunk.get(key)) == chunk.get(key), (key, chunk)
        if chunk.get('usage') is not None:
            assert chunk['choices'] == [], chunk
            whole['usage'] = chunk['usage']
        for part in chunk['choices']:
            empty = {'message': {}, 'finish_reason': None}
            choice = whole['choices'].setdefault(part['index'], empty)
            assert choice['finish_reason'] is None, f'after the end: {part}'
            _add_delta(choice['message'], part['delta'])
            _add_logprobs(choice, part.get('logprobs'))
            _add_ids(choice, part)
            _end(choice, part)
    return whole | {'choices': _in_order(whole['choices'])}


def join_completion(chunks: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The text completion that chunks add up to."""
    whole: dict[str, Any] = {'choices': {}}
    for chunk in chunks:
        assert chunk['object'] == 'text_completion', chunk
        if chunk.get('usage') is not None:
            whole['usage'] = chunk['usage']
        for part in chunk['choices']:
            choice = whole['choices'].setdefault(part['index'], {'text': '', 'finish_reason': None})
            assert choice['finish_reason'] is None, f'after the end: {part}'
            choice['text'] += part['text']
            _add_logprobs(choice, part.get('logprobs'))
            _add_ids(choice, part)
            _end(choice, part)
    return whole | {'choices': _in_order(whole['choices'])}


def comparable(answer: Any) -> Any:
    """An answer without what is new each time, and without the fields that say nothing."""
    if isinstance(answer, dict):
        return {key: comparable(value) for key, value in answer.items()
                if key not in NEVER_EQUAL and value not in (None, '', [], {})}
    if isinstance(answer, list):
        return [comparable(item) for item in answer]
    return answer


def choices(answer: dict[str, Any]) -> Any:
    """The choices of an answer, as they can be compared."""
    return comparable(answer['choices'])

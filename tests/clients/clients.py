"""What the tests of the clients share: the server, questions whose answers are known, tools."""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'server'))

from serving import KEY, ServerTest, main  # noqa: E402

__all__ = [
    'ADD', 'CONTEXT', 'ENDLESS', 'FRANCE', 'KEY', 'MODEL', 'PARIS', 'SET_LAMP', 'ClientsTest',
    'function', 'main'
]

MODEL = 'nano'
FRANCE = 'What is the capital of France?'
PARIS = 'The capital of France is Paris.'
ENDLESS = {'ignore_eos': True}  # The model's own end is no end, only the number of tokens.
CONTEXT = 2048

# The small model knows no tools, so the values must be few, or it might write one without an end.
SET_LAMP: dict[str, Any] = {
    'name': 'set_lamp',
    'description': 'Sets a lamp.',
    'parameters': {
        'type': 'object',
        'properties': {'room': {'type': 'string', 'enum': ['kitchen', 'hall', 'café']},
                       'level': {'type': 'integer', 'minimum': 0, 'maximum': 10},
                       'blink': {'type': 'boolean'}},
        'required': ['room', 'level', 'blink'],
        'additionalProperties': False,
    },
}
ADD: dict[str, Any] = {
    'name': 'add',
    'description': 'Adds two numbers.',
    'parameters': {
        'type': 'object',
        'properties': {'a': {'type': 'integer', 'minimum': 0, 'maximum': 99},
                       'b': {'type': 'integer', 'minimum': 0, 'maximum': 99}},
        'required': ['a', 'b'],
        'additionalProperties': False,
    },
}


def function(signature: dict[str, Any]) -> dict[str, Any]:
    """A tool as chat completions take it."""
    return {'type': 'function', 'function': signature}


class ClientsTest(ServerTest):
    API_KEY = KEY
    OPTIONS = ('--context', CONTEXT, '--max-sequences', 4)

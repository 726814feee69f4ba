"""Random schemas of the subset in docs/structured-output.md, from a seed."""

import random
from typing import Any

Schema = Any  # An object or a boolean.
KEYS = ['a', 'b', 'ab', 'name', 'a b', 'é', 'quo"te', 'x/y', 'длина', '']
# Those that match somewhere match easily: values are drawn at random.
PATTERNS = ['^[a-c]+$', '^x?[0-9]{1,3}$', '[a-z].', '^(?:on|off)$', '^"|[aeiou]$', '^[^"x]{2,4}$', '^\\w+-\\d+$']
FORMATS = ['date', 'time', 'date-time', 'uuid', 'email', 'ipv4', 'unheard-of']
VALUES = ['x', 'é"\n', '', 0, -12, 3.5, True, None, [1, 'a'], {'k': []}]


class Generator:
    """Draws schemas that some value satisfies."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.definitions: list[str] = []

    def document(self) -> Schema:
        """A whole schema, with definitions that refer to each other."""
        draw = self.random
        self.definitions = [f'd{i}' for i in range(draw.choice([0, 0, 1, 3]))]
        schema = self.schema(draw.randint(1, 4))
        if self.definitions and isinstance(schema, dict):
            # Arrays and objects: a definition that is just another could be itself.
            schema['$defs'] = {name: draw.choice([self.array, self.object])(2) for name in self.definitions}
        return schema

    def schema(self, depth: int) -> Schema:
        draw = self.random
        if depth == 0:
            makers = [self.string, self.integer, self.number, self.constant, self.simple]
        else:
            makers = [self.string, self.integer, self.number, self.constant, self.simple, self.array, self.array,
                      self.object, self.object, self.object, self.union, self.one_of, self.intersection]
            if self.definitions:
                makers += [self.reference, self.reference]
        schema = draw.choice(makers)(depth)
        if isinstance(schema, dict) and draw.random() < 0.2:
            schema['description'] = 'what it is for'
        return schema

    def simple(self, _: int) -> Schema:
        return self.random.choice([True, {}, {'type': 'null'}, {'type': 'boolean'}, {'type': 'object'},
                                   {'type': 'array'}, {'type': ['string', 'integer', 'null']}])

    def constant(self, _: int) -> Schema:
        if self.random.random() < 0.4:
            return {'const': self.random.choice(VALUES)}
        return {'enum': self.random.sample(VALUES, self.random.randint(1, 5))}

    def string(self, _: int) -> Schema:
        draw = self.random
        schema: dict[str, Any] = {'type': 'string'}
        kind = draw.randrange(4)
        if kind == 1:
            low = draw.randint(0, 8)
            schema.update(draw.choice([{'minLength': low}, {'maxLength': low},
                                       {'minLength': low, 'maxLength': low + draw.randint(0, 6)}]))
        elif kind == 2:
            schema['pattern'] = draw.choice(PATTERNS)
            if draw.random() < 0.3:
                schema['maxLength'] = draw.randint(6, 12)
        elif kind == 3:
            schema['format'] = draw.choice(FORMATS)
        return schema

    def integer(self, _: int) -> Schema:
        draw = self.random
        low = draw.randint(-2000, 2000)
        high = low + draw.choice([0, 7, 150, 100_000])
        schema: dict[str, Any] = {'type': 'integer'}
        if draw.random() < 0.6:
            schema['minimum'] = low
        if draw.random() < 0.6:
            schema['maximum'] = high
        elif draw.random() < 0.3:
            schema['exclusiveMaximum'] = high + 1
        if draw.random() < 0.2 and ('minimum' not in schema or high - low > 100):
            schema['multipleOf'] = draw.choice([2, 5, 30])
        return schema

    def number(self, _: int) -> Schema:
        draw = self.random
        low = round(draw.uniform(-300, 300), draw.randint(0, 3))
        schema: dict[str, Any] = {'type': 'number'}
        if draw.random() < 0.6:
            schema[draw.choice(['minimum', 'exclusiveMinimum'])] = low
        if draw.random() < 0.6:
            schema[draw.choice(['maximum', 'exclusiveMaximum'])] = low + draw.choice([0.125, 2, 1000])
        return schema

    def array(self, depth: int) -> Schema:
        draw = self.random
        schema: dict[str, Any] = {'type': 'array'}
        if draw.random() < 0.3:
            schema['prefixItems'] = [self.schema(depth - 1) for _ in range(draw.randint(1, 3))]
        if draw.random() < 0.8:
            schema['items'] = self.schema(depth - 1)
        if draw.random() < 0.4:
            schema['minItems'] = draw.randint(0, 3)
        if draw.random() < 0.4:
            schema['maxItems'] = draw.randint(3, 5)
        return schema

    def object(self, depth: int) -> Schema:
        draw = self.random
        keys = draw.sample(KEYS, draw.randint(0, 5))
        schema: dict[str, Any] = {'type': 'object', 'properties': {key: self.schema(depth - 1) for key in keys}}
        if draw.random() < 0.7:
            schema['required'] = draw.sample(keys, draw.randint(0, len(keys)))
        if draw.random() < 0.5:
            schema['additionalProperties'] = draw.choice([False, True, self.schema(0)])
        if draw.random() < 0.1:
            del schema['type']
        return schema

    def union(self, depth: int) -> Schema:
        return {'anyOf': [self.schema(depth - 1) for _ in range(self.random.randint(1, 4))]}

    def one_of(self, depth: int) -> Schema:
        """Alternatives that exclude each other, since they are taken for those of anyOf."""
        draw = self.random
        if draw.random() < 0.5:
            return {'oneOf': [self.string(0), {'type': 'null'}, self.integer(0), self.array(depth)]}
        return {'oneOf': [{'type': 'object', 'required': ['kind'],
                           'properties': {'kind': {'const': kind}, 'value': self.schema(depth - 1)}}
                          for kind in ('one', 'two', 'three')[:draw.randint(1, 3)]]}

    def intersection(self, depth: int) -> Schema:
        draw = self.random
        parts = [{'type': 'object', 'properties': {key: self.schema(depth - 1) for key in part}, 'required': part[:1]}
                 for part in (['a', 'name'], ['b', 'é'])]
        return draw.choice([
            {'allOf': parts},
            {**parts[0], 'allOf': parts[1:]},
            {**parts[0], 'anyOf': [{'required': ['name']}, parts[1]]},
            {'allOf': [{'type': ['integer', 'string']}, {'minimum': 3, 'maxLength': 5}]},
        ])

    def reference(self, _: int) -> Schema:
        return {'$ref': '#/$defs/' + self.random.choice(self.definitions)}

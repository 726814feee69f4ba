"""What GET /sluice/live of a busy server with four drives tells."""

import base64
import math
import random
from typing import Any

LAYERS, EXPERTS, SLOTS = 92, 896, 14_336
RATES = (6.9e9, 6.7e9, 5.8e9, 3.4e9)
Json = dict[str, Any]


def model_facts() -> Json:
    return {
        'name': 'kimi-k3',
        'parameters': 2_800_000_000_000,
        'layers': LAYERS + 1,
        'experts': EXPERTS,
        'experts_per_token': 16,
        'context': 131_072,
        'weights_bytes': 1_560_000_000_000,
    }


def heat() -> Json:
    random.seed(4)
    bits = bytearray((LAYERS * EXPERTS + 7) // 8)
    for index in range(LAYERS * EXPERTS):
        popular = 0.75 * math.exp(-(index * 7919 % EXPERTS) / 160)
        if random.random() < popular + 0.03:
            bits[index >> 3] |= 1 << (index & 7)
    return {'layers': LAYERS, 'experts': EXPERTS, 'resident': base64.b64encode(bits).decode()}


HEAT = heat()


def drives(seconds: float) -> list[Json]:
    total = sum(RATES)
    return [
        {
            'name': f'nvme{i}n1',
            'bytes': int(rate * seconds),
            'share': rate / total,
            'bytes_per_second': rate * (1 + 0.06 * math.sin(seconds + i)),
            'busy_share': 0.97 - 0.06 * i,
            'reads': int(seconds * rate / 1e6),
            'errors': 3 if i == 3 else 0,
            'quarantines': 0,
            'in_flight_bytes': 33_554_432 - 4_194_304 * i,
            'p50_ms': 4.1 + 1.7 * i,
            'p99_ms': 11.3 + 14 * i * i,
            'last_at_barrier': (120, 140, 210, 480)[i],
        }
        for i, rate in enumerate(RATES)
    ]


def layers() -> list[Json]:
    random.seed(1)
    return [
        {
            'layer': 1 + i,
            'wait_seconds': 3 + 4 * random.random() + 9 * math.exp(-i / 5),
            'last_drive': random.choice((0, 1, 2, 3, 3, 3)),
            'hits': 9_000 + 37 * i,
            'misses': 4_000 - 11 * i,
        }
        for i in range(LAYERS)
    ]


def phase(tokens: int, passes: int, seconds: float, waiting: float) -> Json:
    return {
        'tokens': tokens,
        'passes': passes,
        'seconds': seconds,
        'waiting_seconds': waiting * seconds,
        'computing_seconds': (0.96 - waiting) * seconds,
        'tokens_per_second': tokens / max(seconds, 1e-9),
    }


def live(seconds: float) -> Json:
    """What GET /sluice/live of a busy server with four drives tells."""
    generated = int(1.4 * seconds)
    memory = [
        ('expert_slots', 'experts, 14,336 slots', 251e9),
        ('spine', 'spine, kept', 109e9),
        ('sequences', 'two sequences', 9e9),
        ('buffers', 'buffers of reads', 1.2e9),
    ]
    return {
        'model': model_facts(),
        'uptime_seconds': seconds,
        'requests': {
            'running': 1,
            'waiting': 2,
            'finished': 31,
            'cancelled': 4,
            'failed': 0,
            'refused': 1,
        },
        'tokens': {'prompt': 48_211, 'cached': 31_870, 'generated': generated},
        'phases': {
            'prefill': phase(16_341, 64, 811.0, 0.55),
            'decode': phase(generated, generated, seconds, 0.8),
        },
        'pass': {'running': True, 'rows': 1, 'layers_done': int(seconds * 60) % 93, 'layers': 93},
        'drives': drives(seconds),
        'layers': layers(),
        'cache': {
            'hits': 9_811_210,
            'misses': 3_812_004,
            'hit_rate': 0.72,
            'slots': SLOTS,
            'slots_used': SLOTS,
            'heat': HEAT,
        },
        'memory': [{'use': use, 'text': text, 'bytes': int(size)} for use, text, size in memory],
        'rss_bytes': 371_000_000_000,
        'budget_bytes': 384_000_000_000,
    }

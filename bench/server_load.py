"""Many clients at one server, some of which go away: are the answers right, does it stay as it is?

usage: server_load.py SLUICE [options]. Each answer is compared with the one that the same request
got alone. Fails when one differs, when a request gets another error than that the queue is full, or
when memory grows. How long /health took is for people to judge.
"""

import argparse
import collections
import http.client
import json
import multiprocessing
import random
import statistics
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'tests' / 'server'))

from replies import choices, comparable, join_chat, join_completion  # noqa: E402
from serving import NANO, Server, Stream  # noqa: E402

CHAT, COMPLETIONS, MESSAGES = '/v1/chat/completions', '/v1/completions', '/v1/messages'
BUSY = (429, 529)
OUTCOMES = ('right', 'left', 'busy', 'wrong', 'errors')
COUNTRIES = ('France', 'Spain', 'Italy', 'Japan', 'Peru', 'Kenya')
CONTEXT = 2048


@dataclass(frozen=True)
class Task:
    """A request whose answer is known."""

    question: int  # Those of one number have one answer.
    kind: str
    path: str
    body: dict[str, Any]
    is_stream: bool


def user(text: str) -> list[dict[str, str]]:
    return [{'role': 'user', 'content': text}]


def tasks(variety: int) -> list[Task]:
    """So many of each: questions, stories, calls, long prompts; each whole and streamed."""
    properties = {'room': {'enum': ['kitchen', 'hall']}, 'on': {'type': 'boolean'}}
    schema = {'type': 'object', 'properties': properties, 'required': [*properties],
              'additionalProperties': False}
    tool = {'type': 'function', 'function': {'name': 'light', 'parameters': schema}}
    call = {'tools': [tool], 'tool_choice': 'required', 'parallel_tool_calls': False,
            'max_tokens': 200}
    form = {'type': 'json_schema', 'json_schema': {'name': 'light', 'schema': schema}}
    bodies: list[tuple[str, str, dict[str, Any]]] = []
    for number in range(variety):
        question = user(f'What is the capital of {COUNTRIES[number % len(COUNTRIES)]}?')
        sea = f'{number} ' + 'and the sea ' * (100 + 50 * (number % 6))
        bodies += [
            ('question', CHAT, {'messages': question}),
            ('message', MESSAGES, {'messages': question, 'max_tokens': 100}),
            ('story', CHAT, {'messages': user(f'Tell me story {number}.'), 'max_tokens': 60,
                             'reasoning_effort': 'none'}),
            ('long prompt', COMPLETIONS, {'prompt': sea, 'max_tokens': 8}),
            ('call', CHAT, {'messages': user(f'Light room {number}.'), **call}),
            ('schema', CHAT, {'messages': user(f'Is lamp {number} on?'), 'response_format': form}),
            ('choices', CHAT, {'messages': user(f'Tell me joke {number}.'), 'n': 2,
                               'max_tokens': 20}),
        ]
    return [Task(number, kind, path, body | {'temperature': 0, 'stream': is_stream}, is_stream)
            for number, (kind, path, body) in enumerate(bodies) for is_stream in (False, True)]


def join_message(events: Any) -> list[Any]:
    """What the events of a streamed message add up to."""
    blocks: list[Any] = []
    for event in events:
        if event['type'] == 'content_block_start':
            blocks.append([event['content_block']['type'], ''])
        elif event['type'] == 'content_block_delta':
            blocks[-1][1] += event['delta'].get('text') or event['delta'].get('thinking') or ''
    return blocks


def essence(task: Task, answer: Any) -> Any:
    """What must be the same each time: of a whole answer, or of the events of a streamed one."""
    if task.path == MESSAGES:
        if task.is_stream:
            return join_message(answer)
        return [[block['type'], block.get('text') or block.get('thinking') or '']
                for block in answer['content']]
    if task.is_stream:
        answer = (join_chat if task.path == CHAT else join_completion)(answer)
    return comparable(choices(answer))


@dataclass
class Tally:
    """What has happened, by kind of request; all clients add to it."""

    outcomes: dict[str, collections.Counter] = field(
        default_factory=lambda: collections.defaultdict(collections.Counter))
    faults: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, kind: str, outcome: str, fault: str = '') -> None:
        with self.lock:
            self.outcomes[kind][outcome] += 1
            if fault:
                self.faults.append(f'{kind}: {fault}')

    def total(self, outcome: str) -> int:
        return sum(counter[outcome] for counter in self.outcomes.values())


class Client:
    """Sends one request after another, and leaves some before they are answered."""

    def __init__(self, server: Server, all_tasks: list[Task], expected: dict[int, Any],
                 tally: Tally, seed: int):
        self.server, self.tasks, self.expected, self.tally = server, all_tasks, expected, tally
        self.random = random.Random(seed)

    def run(self, stop: threading.Event, leave_share: float) -> None:
        while not stop.is_set():
            task = self.random.choice(self.tasks)
            leave_after = self.random.randrange(12) if self.random.random() < leave_share else None
            try:
                outcome = self.ask(task, self.expected[task.question], leave_after)
            except Exception as error:  # A client that ends early would hide what it had to ask.
                outcome = self.note(task, 'errors', f'{type(error).__name__}: {error}')
            if outcome in ('busy', 'errors'):
                stop.wait(self.random.uniform(0.5, 1.5))  # A second is what Retry-After says.

    def ask(self, task: Task, expected: Any, leave_after: int | None) -> str:
        stream = self.server.open(task.path, task.body)
        with stream:
            if stream.status in BUSY:
                return self.note(task, 'busy')
            if stream.status != 200:
                return self.note(task, 'errors', f'status {stream.status}: {stream.read()!r}')
            if leave_after is not None:
                self.read_some(task, stream, leave_after)
                return self.note(task, 'left')
            answer = stream.data() if task.is_stream else json.loads(stream.read())
            found = essence(task, answer)
        if found != expected:
            return self.note(task, 'wrong',
                             f'{json.dumps(task.body)}: {found} instead of {expected}')
        return self.note(task, 'right')

    def note(self, task: Task, outcome: str, fault: str = '') -> str:
        self.tally.add(task.kind, outcome, fault)
        return outcome

    @staticmethod
    def read_some(task: Task, stream: Stream, count: int) -> None:
        if task.is_stream:
            for _, _ in zip(range(count), stream.lines()):
                pass


def watch_health(port: int, seconds: float, results: Any) -> None:
    """Asks for /health all the time, in a process of its own, and tells how long each took."""
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=30)
    latencies = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.perf_counter()
        connection.request('GET', '/health')
        assert connection.getresponse().read()
        latencies.append(time.perf_counter() - begin)
        time.sleep(0.01)
    results.send(latencies)


def resident_bytes(pid: int) -> int:
    for line in Path(f'/proc/{pid}/status').read_text().splitlines():
        if line.startswith('VmRSS:'):
            return int(line.split()[1]) << 10
    raise ValueError('no VmRSS')


def alone(server: Server, all_tasks: list[Task]) -> dict[int, Any]:
    """What each question is answered when there is no other."""
    return {task.question: essence(task, server.post(task.path, task.body))
            for task in all_tasks if not task.is_stream}


def load(server: Server, options: argparse.Namespace) -> dict[str, Any]:
    """Runs all clients for the time, and returns what was seen."""
    all_tasks, tally, stop = tasks(options.variety), Tally(), threading.Event()
    expected = alone(server, all_tasks)
    mine, its = multiprocessing.Pipe()
    prober = multiprocessing.Process(target=watch_health, args=(server.port, options.seconds, its))
    prober.start()
    clients = []
    for number in range(options.clients):
        client = Client(server, all_tasks, expected, tally, options.seed * 1000 + number)
        clients.append(threading.Thread(target=client.run, args=(stop, options.leave)))
        clients[-1].start()
    memory = []
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        memory.append(resident_bytes(server.process.pid))
        stop.wait(min(1, options.seconds / 20))
    stop.set()
    latencies = sorted(mine.recv())
    prober.join()
    for client in clients:
        client.join()
    return report(tally, latencies, memory)


def report(tally: Tally, latencies: list[float], memory: list[int]) -> dict[str, Any]:
    warm = memory[len(memory) // 5:]  # The first fifth of the time is the warm-up.
    part = max(1, len(warm) // 5)
    first, last = statistics.median(warm[:part]), statistics.median(warm[-part:])

    def percentile(share: float) -> float:
        return latencies[min(len(latencies) - 1, int(share * len(latencies)))] * 1e3

    return {'outcomes': {kind: dict(tally.outcomes[kind]) for kind in sorted(tally.outcomes)},
            **{outcome: tally.total(outcome) for outcome in OUTCOMES},
            'faults': tally.faults[:20],
            'health_ms': {'count': len(latencies), 'p50': percentile(0.5), 'p99': percentile(0.99),
                          'max': latencies[-1] * 1e3},
            'memory': {'warm': first, 'end': last, 'growth': last / first - 1}}


def table(seen: dict[str, Any]) -> str:
    lines = [f'{"":12}' + ''.join(f'{outcome:>9}' for outcome in OUTCOMES)]
    for kind, counter in [*seen['outcomes'].items(), ('all', seen)]:
        lines.append(f'{kind:12}' + ''.join(f'{counter.get(key, 0):9}' for key in OUTCOMES))
    health, memory = seen['health_ms'], seen['memory']
    lines.append(f'/health: {health["count"]} times, p50 {health["p50"]:.1f} ms, '
                 f'p99 {health["p99"]:.1f} ms, at most {health["max"]:.1f} ms')
    lines.append(f'memory: {memory["warm"] / 2**20:.1f} MiB after the warm-up, '
                 f'{memory["end"] / 2**20:.1f} MiB at the end, {memory["growth"]:+.1%}')
    return '\n'.join([*lines, *seen['faults']])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('sluice')
    parser.add_argument('--model', type=Path, default=NANO)
    parser.add_argument('--clients', type=int, default=64)
    parser.add_argument('--seconds', type=float, default=300)
    parser.add_argument('--leave', type=float, default=0.15,
                        help='share of the requests whose client goes away')
    parser.add_argument('--sequences', type=int, default=8)
    parser.add_argument('--queue', type=int, default=32)
    parser.add_argument('--growth', type=float, default=0.05,
                        help='of the memory after the warm-up that is allowed')
    parser.add_argument('--variety', type=int, default=6, help='requests of each kind')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--json', action='store_true')
    options = parser.parse_args()
    with Server(options.sluice, '--quiet', '--context', CONTEXT, '--max-sequences',
                options.sequences, '--max-queue', options.queue, model=options.model) as server:
        seen = load(server, options)
    print(json.dumps(seen, indent=1) if options.json else table(seen))
    is_right = seen['right'] and not seen['wrong'] and not seen['errors']
    return 0 if is_right and seen['memory']['growth'] < options.growth else 1


if __name__ == '__main__':
    sys.exit(main())

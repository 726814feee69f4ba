"""Monitoring: Prometheus accepts what the server measures, and it is what clients were told."""

import re
import shutil
import subprocess
import sys
import unittest
from collections import defaultdict
from typing import Any

from serving import ServerTest, main, until

Samples = dict[str, list[tuple[dict[str, str], float]]]
SAMPLE = re.compile(r'([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)')
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')
CHAT = {'messages': [{'role': 'user', 'content': 'Tell me a story.'}], 'temperature': 0}

STORY = {'prompt': 'Once upon a time', 'ignore_eos': True}


def parse(text: str) -> Samples:
    """Samples by name, each as labels and value."""
    samples: Samples = defaultdict(list)
    for line in text.splitlines():
        if not line.startswith('#'):
            name, labels, value = SAMPLE.fullmatch(line).groups()
            samples[name].append((dict(LABEL.findall(labels or '')), float(value)))
    return samples


def total(samples: Samples, name: str, **labels: str) -> float:
    """The sum of the samples of a name that have these labels; there must be one."""
    values = [value for has, value in samples[name] if labels.items() <= has.items()]
    assert values, (name, labels)
    return sum(values)


def check(text: str) -> list[str]:
    """What promtool has to say."""
    run = subprocess.run(['promtool', 'check', 'metrics'], input=text, text=True,
                         capture_output=True)
    complaints = (run.stdout + run.stderr).splitlines()
    assert (run.returncode == 0) == (not complaints), run
    return complaints


class Metrics(ServerTest):
    """A server that has answered some requests, of which one was given up."""

    OPTIONS = ('--max-sequences', 2)

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        post = cls.server.post
        cls.usages = [
            post('/v1/chat/completions', CHAT | {'max_tokens': 7})['usage'],
            post('/v1/chat/completions', CHAT | {'max_tokens': 5})['usage'],
            post('/v1/completions', STORY | {'max_tokens': 9})['usage'],
        ]
        with cls.server.stream('/v1/completions', STORY | {'max_tokens': 400}) as stream:
            next(stream.data())
        until(lambda: cls.live()['requests']['running'] == 0, 'no request runs')

    @classmethod
    def live(cls) -> dict[str, Any]:
        return cls.server.get('/sluice/live')

    @classmethod
    def text(cls, query: str = '') -> str:
        answer = cls.server.request('GET', '/metrics' + query)
        assert answer.status == 200, answer
        assert answer.headers['content-type'].startswith('text/plain; version=0.0.4'), answer
        return answer.body.decode()

    @unittest.skipUnless(shutil.which('promtool'), 'promtool is not installed')
    def test_prometheus_has_no_complaint(self) -> None:
        self.assertEqual(check(self.text()), [])

    @unittest.skipUnless(shutil.which('promtool'), 'promtool is not installed')
    def test_of_the_names_of_vllm_only_the_colon_is_unusual(self) -> None:
        for complaint in check(self.text('?names=vllm')):
            self.assertRegex(complaint, "^vllm:[a-z_0-9]+ metric names should not contain ':'$")

    def test_tokens_and_answers_are_those_of_the_clients(self) -> None:
        live = self.live()
        for query, prefix in ('', 'sluice_'), ('?names=vllm', 'vllm:'):
            samples = parse(self.text(query))
            of = lambda name, **labels: total(samples, prefix + name, **labels)
            self.assertEqual(of('request_success_total', finished_reason='abort'), 1)
            self.assertEqual(of('request_success_total'), len(self.usages) + 1)
            self.assertEqual(of('request_prompt_tokens_count'), len(self.usages) + 1)
            told = sum(usage['completion_tokens'] for usage in self.usages)
            self.assertEqual(of('request_generation_tokens_sum'), told)
            self.assertEqual(of('generation_tokens_total'), live['tokens']['generated'])
            self.assertGreater(of('generation_tokens_total'), told)  # The last one had some, too.
            self.assertEqual(of('prompt_tokens_total'), live['tokens']['prompt'])
            self.assertEqual(of('prefix_cache_hits_total'), live['tokens']['cached'])
            cached = sum(usage['prompt_tokens_details']['cached_tokens'] for usage in self.usages)
            self.assertGreater(cached, 0)
            self.assertGreaterEqual(of('prefix_cache_hits_total'), cached)
            self.assertEqual(of('num_requests_running'), 0)
            self.assertEqual(of('time_to_first_token_seconds_count'), len(self.usages) + 1)
            labels, _ = samples[prefix + 'prompt_tokens_total'][0]
            self.assertEqual(labels, {'model_name': 'nano', 'engine': '0'})

    def test_the_live_view_and_the_metrics_agree(self) -> None:
        samples, live = self.at_rest()
        of = lambda name, **labels: total(samples, name, **labels)
        for index, drive in enumerate(live['drives']):
            on = {'drive': str(index), 'folder': drive['name']}
            self.assertEqual(of('sluice_drive_read_bytes_total', **on), drive['bytes'])
            self.assertEqual(of('sluice_drive_reads_total', **on), drive['reads'])
            self.assertEqual(of('sluice_drive_read_latency_seconds_count', **on),
                             drive['reads'] - drive['errors'])
            self.assertEqual(of('sluice_barrier_last_drive_total', **on), drive['last_at_barrier'])
        self.assertGreater(of('sluice_drive_read_bytes_total'), 0)
        self.assertEqual(of('sluice_expert_cache_hits_total'), live['cache']['hits'])
        self.assertEqual(of('sluice_expert_cache_misses_total'),
                         sum(layer['misses'] for layer in live['layers']))
        for layer in live['layers']:
            waited = of('sluice_barrier_wait_seconds_total', layer=str(layer['layer']))
            self.assertEqual(waited, layer['wait_seconds'])
        for phase, figures in live['phases'].items():
            self.assertEqual(of('sluice_phase_tokens_total', phase=phase), figures['tokens'])
        self.assertEqual(of('sluice_memory_bytes'), sum(use['bytes'] for use in live['memory']))
        self.assertLessEqual(of('sluice_memory_bytes'), live['budget_bytes'])

    def at_rest(self) -> tuple[Samples, dict[str, Any]]:
        """Metrics and live view of one moment: no read ended between them."""
        while True:
            before, samples, after = self.live(), parse(self.text()), self.live()
            reads = [[drive['reads'] for drive in live['drives']] for live in (before, after)]
            if reads[0] == reads[1]:
                return samples, after

    def test_buckets_count_up_to_all(self) -> None:
        series = defaultdict(list)
        samples = parse(self.text())
        for name in [name for name in samples if name.endswith('_bucket')]:
            for labels, value in samples[name]:
                rest = tuple(sorted(item for item in labels.items() if item[0] != 'le'))
                series[name.removesuffix('_bucket'), rest].append((float(labels['le']), value))
        self.assertGreater(len(series), 10)
        for (name, labels), buckets in series.items():
            self.assertEqual(buckets, sorted(buckets), name)
            counts = [count for _, count in buckets]
            self.assertEqual(counts, sorted(counts), name)
            count = total(samples, name + '_count', **dict(labels))
            self.assertEqual(buckets[-1], (float('inf'), count), name)

    def test_unknown_names_are_refused(self) -> None:
        answer = self.server.request('GET', '/metrics?names=other')
        self.assertEqual((answer.status, answer.json()['error']['param']), (400, 'names'))


if __name__ == '__main__':
    main(sys.argv)

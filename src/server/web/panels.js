// The parts of the live view that are words and numbers.

import { bar, barWithShare, stackedBar, table } from './charts.js';
import { el } from './dom.js';
import * as format from './format.js';

function tile(name, value, detail) {
  return el('div', { class: 'tile' }, el('dt', {}, name),
    el('dd', {}, el('strong', {}, value), el('span', {}, detail)));
}

/** What matters most, at a glance. `generated`: tokens a second now, if that is known. */
export function tilesNode(live, generated) {
  const { cache, requests, drives } = live;
  const read = drives.reduce((sum, drive) => sum + drive.bytes_per_second, 0);
  const asked = cache.hits + cache.misses;
  const average = format.tokenRate(live.phases.decode.tokens_per_second);
  const now = generated === undefined ? '–' : format.tokenRate(generated);
  const [running, waiting] = [format.number(requests.running), format.number(requests.waiting)];
  return el('dl', { class: 'tiles' },
    tile('Answer speed', now, `${average} on average`),
    tile('Drives', format.byteRate(read), format.plural(drives.length, 'drive')),
    tile('Experts found', asked > 0 ? format.percent(cache.hit_rate) : '–', 'without reading'),
    tile('Requests', `${running} running`, `${waiting} waiting`),
    tile('Memory', format.bytes(live.rss_bytes), `of ${format.bytes(live.budget_bytes)} allowed`));
}

export function passNode({ running, rows, layers_done: done, layers }) {
  if (!running) return el('p', { class: 'none' }, 'Nothing runs at the moment.');
  return el('div', {},
    el('p', { class: 'summary' }, `Layer ${format.number(done)} of ${format.number(layers)}, ` +
      `${format.plural(rows, 'token')} at once`),
    bar(layers > 0 ? done / layers : 0));
}

const PHASES = [['prefill', 'Reading prompts'], ['decode', 'Writing answers']];

export function phasesNode(phases) {
  return el('div', { class: 'phases' },
    ...PHASES.map(([key, name]) => phaseNode(name, phases[key])),
    el('ul', { class: 'legend' },
      el('li', {}, el('span', { class: 'spot waiting' }), 'waiting for drives'),
      el('li', {}, el('span', { class: 'spot computing' }), 'computing')));
}

function phaseNode(name, phase) {
  const { tokens, passes, seconds, waiting_seconds: waiting, computing_seconds: computing } = phase;
  if (passes === 0) {
    return el('div', {}, el('h3', {}, name), el('p', { class: 'none' }, 'Not yet.'));
  }
  const all = Math.max(seconds, waiting + computing, 1e-9);
  return el('div', {},
    el('h3', {}, name, el('span', {}, format.tokenRate(phase.tokens_per_second))),
    stackedBar([
      { share: waiting / all, kind: 'waiting' },
      { share: computing / all, kind: 'computing' },
    ]),
    el('p', { class: 'hint' },
      `${format.plural(tokens, 'token')} in ${format.plural(passes, 'pass', 'passes')}: ` +
      `${format.seconds(waiting)} waiting, ${format.seconds(computing)} computing, ` +
      `${format.seconds(seconds)} in all`));
}

const MEMORY_COLUMNS = [
  { name: 'Use' },
  { name: 'Share of the budget', kind: 'widest' },
  { name: 'Size', kind: 'number' },
];

export function memoryNode({ memory, budget_bytes: budget }) {
  if (memory.length === 0) return el('p', { class: 'none' }, 'Nothing is known of the memory.');
  const rows = memory.map(({ text, bytes }) =>
    [text, barWithShare(bytes / budget), format.bytes(bytes)]);
  return table('Memory', MEMORY_COLUMNS, rows);
}

export function totalsNode({ requests, tokens, uptime_seconds: uptime }) {
  const rows = [
    ['Running for', format.seconds(uptime)],
    ['Requests answered', format.number(requests.finished)],
    ['Requests stopped by clients', format.number(requests.cancelled)],
    ['Requests that failed', format.number(requests.failed)],
    ['Requests refused', format.number(requests.refused)],
    ['Prompt tokens', format.number(tokens.prompt)],
    ['Prompt tokens found in memory', format.number(tokens.cached)],
    ['Tokens generated', format.number(tokens.generated)],
  ];
  return el('dl', { class: 'totals' }, ...rows.map(([name, value]) =>
    el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

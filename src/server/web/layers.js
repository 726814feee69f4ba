// How long the layers have waited for their weights: a column for each, in the colour of the drive
// that was last.

import { niceTop, stretched, table } from './charts.js';
import { el, svg } from './dom.js';
import { DRIVE_COLOURS, driveName } from './drives.js';
import * as format from './format.js';

const HEIGHT = 120;
const GAP = 0.25;  // Of a column's width.

export function layersNode(layers, drives) {
  if (layers.length === 0) return el('p', { class: 'none' }, 'No layer has run yet.');
  const most = layers.reduce((a, b) => (b.wait_seconds > a.wait_seconds ? b : a));
  const waited = layers.reduce((sum, layer) => sum + layer.wait_seconds, 0);
  const summary = waited === 0 ? 'No layer has waited yet.'
    : `${format.seconds(waited)} in all; layer ${most.layer} waited most, ` +
      `${format.seconds(most.wait_seconds)}.`;
  return el('div', {},
    el('p', { class: 'summary' }, summary),
    columns(layers, drives, niceTop(most.wait_seconds)),
    el('div', { class: 'chart-ends' }, el('span', {}, `layer ${layers[0].layer}`),
      el('span', {}, `layer ${layers.at(-1).layer}`)),
    legend(drives),
    el('details', { class: 'as-table' }, el('summary', {}, 'As a table'),
      table('Layers', TABLE, layers.map((layer) => rowOf(layer, drives)))));
}

const TABLE = [
  { name: 'Layer', kind: 'number' }, { name: 'Waited', kind: 'number' }, { name: 'Last drive' },
  { name: 'Experts found', kind: 'number' }, { name: 'Experts read', kind: 'number' },
];

function columns(layers, drives, top) {
  const bars = layers.map((layer, index) => svg('g', {},
    svg('title', {}, textOf(layer, drives)),
    svg('rect', { class: 'target', x: index, y: 0, width: 1, height: HEIGHT }),
    column(layer, index, top)));
  return el('div', { class: 'plot columns' },
    el('span', { class: 'chart-top' }, format.seconds(top)),
    stretched(layers.length, HEIGHT, 'Seconds that each layer has waited', ...bars));
}

function column({ last_drive: drive, wait_seconds: waited }, index, top) {
  const height = (HEIGHT * waited) / top;
  const colour = drive === null ? '' : `drive-${drive % DRIVE_COLOURS}`;
  return svg('rect', {
    class: `column ${colour}`, x: index + GAP / 2, y: HEIGHT - height, width: 1 - GAP, height,
  });
}

function textOf(layer, drives) {
  const last = layer.last_drive === null ? '' : `, last for ${drives[layer.last_drive].name}`;
  return `Layer ${layer.layer}: waited ${format.seconds(layer.wait_seconds)}${last}`;
}

function legend(drives) {
  return el('ul', { class: 'legend', 'aria-label': 'The drive that was last' },
    ...drives.map((drive, index) => el('li', {}, driveName(drive, index))));
}

function rowOf(layer, drives) {
  const drive = layer.last_drive;
  return [
    format.number(layer.layer),
    format.seconds(layer.wait_seconds),
    drive === null ? '–' : driveName(drives[drive], drive),
    format.number(layer.hits),
    format.number(layer.misses),
  ];
}

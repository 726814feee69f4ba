// The table of drives: how fast each reads now, and which of them the others wait for.

import { barWithShare, table } from './charts.js';
import { el } from './dom.js';
import * as format from './format.js';

export const DRIVE_COLOURS = 8;

/** A spot in the colour that a drive has in all drawings. */
export function driveSpot(index) {
  return el('span', { class: `spot drive-${index % DRIVE_COLOURS}`, 'aria-hidden': 'true' });
}

export function driveName({ name }, index) {
  return el('span', { class: 'name', title: name }, driveSpot(index), el('span', {}, name));
}

const COLUMNS = [
  { name: 'Drive' },
  { name: 'Reads now', kind: 'number' },
  { name: 'Share of bytes', kind: 'wide' },
  { name: 'Busy', kind: 'wide' },
  { name: 'Queue', kind: 'number' },
  { name: 'p50', kind: 'number' },
  { name: 'p99', kind: 'number' },
  { name: 'Read in all', kind: 'number' },
  { name: 'Errors', kind: 'number' },
  { name: 'Last at the barrier', kind: 'wide' },
];

export function drivesNode(drives) {
  if (drives.length === 0) return el('p', { class: 'none' }, 'Nothing is read from drives.');
  const barriers = drives.reduce((sum, drive) => sum + (drive.last_at_barrier ?? 0), 0);
  const rows = drives.map((drive, index) => rowOf(drive, index, barriers));
  return el('div', {}, table('Drives', COLUMNS, rows, true), el('p', { class: 'hint' },
    'Queue: bytes asked for at once. p50, p99: half, and 99 of 100, of the latest reads took no ' +
    'longer. Last at the barrier: how often a layer waited for this drive when all others were ' +
    'done.'));
}

function rowOf(drive, index, barriers) {
  const share = (value) => barWithShare(value, `drive-${index % DRIVE_COLOURS}`);
  return [
    driveName(drive, index),
    format.byteRate(drive.bytes_per_second),
    share(drive.share),
    share(drive.busy_share),
    format.bytes(drive.in_flight_bytes ?? 0),
    format.milliseconds(drive.p50_ms ?? 0),
    format.milliseconds(drive.p99_ms ?? 0),
    format.bytes(drive.bytes),
    drive.errors > 0 ? el('strong', { class: 'bad' }, format.number(drive.errors)) : '0',
    barriers > 0 ? share(drive.last_at_barrier / barriers) : 'never',
  ];
}

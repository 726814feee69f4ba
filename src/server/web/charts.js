// Drawings of numbers: lines over time, columns, shares.

import { el, svg } from './dom.js';
import { percent } from './format.js';

const [WIDTH, HEIGHT] = [320, 96];

/** A line over the last `span` seconds, with a scale of its own. */
export class LineChart {
  constructor(title, span, text) {
    this.title = title;
    this.span = span;
    this.text = text;
    this.now = el('span', { class: 'chart-now' });
    this.top = el('span', { class: 'chart-top' });
    this.area = svg('path', { class: 'area' });
    this.line = svg('path', { class: 'line', 'vector-effect': 'non-scaling-stroke' });
    this.drawing = stretched(WIDTH, HEIGHT, title, grid(), this.area, this.line);
    this.root = el('figure', { class: 'chart' },
      el('figcaption', {}, el('span', {}, title), this.now),
      el('div', { class: 'plot' }, this.top, this.drawing),
      el('div', { class: 'chart-ends' }, el('span', {}, '5 min ago'), el('span', {}, 'now')));
  }

  /** `points`: {age, rate}, the oldest first. */
  update(points) {
    const top = niceTop(Math.max(0, ...points.map(({ rate }) => rate)));
    const now = points.at(-1)?.rate ?? 0;
    this.now.textContent = points.length > 0 ? this.text(now) : 'no numbers yet';
    this.top.textContent = points.length > 0 ? this.text(top) : '';
    this.drawing.setAttribute('aria-label', `${this.title}: ${this.now.textContent}`);
    this.draw(points, top);
  }

  draw(points, top) {
    const x = ({ age }) => round(WIDTH * (1 - age / this.span));
    const y = ({ rate }) => round(HEIGHT * (1 - rate / top));
    const path = points.map((point) => `${x(point)} ${y(point)}`).join('L');
    const enough = points.length > 1;
    this.line.setAttribute('d', enough ? `M${path}` : '');
    this.area.setAttribute(
      'd', enough ? `M${x(points[0])} ${HEIGHT}L${path}L${WIDTH} ${HEIGHT}Z` : '');
  }
}

/** A drawing that is stretched to the place that it has. */
export function stretched(width, height, label, ...parts) {
  const box = { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none' };
  return svg('svg', { ...box, role: 'img', 'aria-label': label }, ...parts);
}

function grid() {
  return svg('path', { class: 'grid', 'vector-effect': 'non-scaling-stroke',
                       d: `M0 .5H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT - 0.5}H${WIDTH}` });
}

const round = (value) => Math.round(value * 10) / 10;

/** A round number that is not less. */
export function niceTop(value) {
  if (value <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return unit * [1, 1.5, 2, 3, 4, 6, 8, 10].find((step) => step * unit >= value * 0.999);
}

/** A bar of which a share is filled. */
export function bar(share, kind = '') {
  return el('span', { class: 'bar', 'aria-hidden': 'true' }, filled(share, kind));
}

/** One bar of several parts, {share, kind}. */
export function stackedBar(parts) {
  return el('span', { class: 'bar', 'aria-hidden': 'true' },
    ...parts.map(({ share, kind }) => filled(share, kind)));
}

function filled(share, kind) {
  const node = el('span', { class: `fill ${kind}` });
  node.style.width = `${100 * Math.min(1, Math.max(0, share))}%`;
  return node;
}

/** A bar, and its share in words. */
export function barWithShare(share, kind) {
  return el('span', { class: 'with-bar' }, bar(share, kind), percent(share));
}

/** A table; columns are {name, kind}, cells texts or nodes. With `stacks`, rows become blocks on
    narrow screens. */
export function table(label, columns, rows, stacks = false) {
  const cell = (tag) => (content, index) => el(tag, {
    class: columns[index].kind ?? null,
    scope: tag === 'th' ? 'col' : null,
    'data-name': tag === 'td' && stacks ? columns[index].name : null,
  }, content);
  const place = { class: stacks ? 'table stacks' : 'table', tabindex: 0, role: 'region' };
  return el('div', { ...place, 'aria-label': label }, el('table', {},
    el('thead', {}, el('tr', {}, ...columns.map(({ name }) => name).map(cell('th')))),
    el('tbody', {}, ...rows.map((row) => el('tr', {}, ...row.map(cell('td')))))));
}

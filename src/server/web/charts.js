// Drawings of numbers: lines over time, columns, shares.

import { el, svg } from './dom.js';

const [WIDTH, HEIGHT] = [320, 96];

/** A line over the last `span` seconds, with its own scale. `points` are {age, rate}, the oldest first. */
export class LineChart {
  constructor(title, span, text) {
    this.span = span;
    this.text = text;
    this.now = el('span', { class: 'chart-now' });
    this.top = el('span', { class: 'chart-top' });
    this.area = svg('path', { class: 'area' });
    this.line = svg('path', { class: 'line', 'vector-effect': 'non-scaling-stroke' });
    this.drawing = svg('svg', {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': title,
    }, grid(), this.area, this.line);
    this.root = el('figure', { class: 'chart' },
      el('figcaption', {}, el('span', {}, title), this.now),
      el('div', { class: 'plot' }, this.top, this.drawing),
      el('div', { class: 'chart-ends' }, el('span', {}, '5 min ago'), el('span', {}, 'now')));
  }

  update(points) {
    const top = niceTop(Math.max(0, ...points.map(({ rate }) => rate)));
    const now = points.at(-1)?.rate ?? 0;
    this.now.textContent = points.length > 0 ? this.text(now) : 'no numbers yet';
    this.top.textContent = points.length > 0 ? this.text(top) : '';
    const at = ({ age, rate }) => `${round(WIDTH * (1 - age / this.span))} ${round(HEIGHT * (1 - rate / top))}`;
    const path = points.map(at).join('L');
    this.line.setAttribute('d', points.length > 1 ? `M${path}` : '');
    const first = points.length > 0 ? round(WIDTH * (1 - points[0].age / this.span)) : 0;
    this.area.setAttribute('d', points.length > 1 ? `M${first} ${HEIGHT}L${path}L${WIDTH} ${HEIGHT}Z` : '');
    this.drawing.setAttribute('aria-label', `${this.root.querySelector('figcaption').firstChild.textContent}: ` +
      this.now.textContent);
  }
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

/** A bar that is filled by a share of one. Words say the number beside it. */
export function bar(share, kind = '') {
  const fill = el('span', { class: `fill ${kind}` });
  fill.style.width = `${100 * Math.min(1, Math.max(0, share))}%`;
  return el('span', { class: 'bar', 'aria-hidden': 'true' }, fill);
}

/** One bar of several parts, {share, kind}. */
export function stackedBar(parts) {
  return el('span', { class: 'bar stacked', 'aria-hidden': 'true' }, ...parts.map(({ share, kind }) => {
    const fill = el('span', { class: `fill ${kind}` });
    fill.style.width = `${100 * share}%`;
    return fill;
  }));
}

/** A table; columns are {name, kind}, cells texts or nodes. With `stacks`, each row becomes a block of its own
    on narrow screens. */
export function table(label, columns, rows, stacks = false) {
  const cell = (tag) => (content, index) => el(tag, {
    class: columns[index].kind ?? null,
    scope: tag === 'th' ? 'col' : null,
    'data-name': tag === 'td' && stacks ? columns[index].name : null,
  }, content);
  return el('div', { class: stacks ? 'table stacks' : 'table', tabindex: 0, role: 'region', 'aria-label': label }, el('table', {},
    el('thead', {}, el('tr', {}, ...columns.map(({ name }) => name).map(cell('th')))),
    el('tbody', {}, ...rows.map((row) => el('tr', {}, ...row.map(cell('td')))))));
}

// Which experts are in memory: a picture with a row for each layer and a column for each expert.

import { el } from './dom.js';
import * as format from './format.js';

const [ROW_MIN, ROW_MAX] = [5, 16];  // Pixels; the last of them parts the rows.
const GAP_FROM = 6;  // Pixels of a column from which on one of them parts the columns.

export class HeatMap {
  constructor() {
    this.summary = el('p', { class: 'summary' });
    this.canvas = el('canvas', { role: 'img' });
    this.point = el('p', { class: 'hint', 'aria-hidden': 'true' });
    this.canvas.addEventListener('pointermove', (event) => this.onPointer(event));
    this.canvas.addEventListener('pointerleave', () => this.tell());
    this.root = el('div', { class: 'heat' }, this.summary, this.canvas, this.point);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.root);
  }

  /** `firstLayer`: the number of the first row's. */
  update({ hits, misses, hit_rate: rate, slots, slots_used: used, heat }, firstLayer) {
    this.firstLayer = firstLayer;
    const found = hits + misses > 0
      ? `${format.percent(rate)} of ${format.number(hits + misses)} experts were found in memory`
      : 'No expert was needed yet';
    const inUse = `${format.number(used)} of ${format.number(slots)} slots are in use`;
    this.summary.textContent = `${found}; ${inUse}.`;
    if (this.heat?.resident === heat.resident) return;
    this.heat = heat;
    this.bits = Uint8Array.from(atob(heat.resident), (character) => character.charCodeAt(0));
    this.draw();
    this.tell();
  }

  resident(layer, expert) {
    const bit = layer * this.heat.experts + expert;
    return (this.bits[bit >> 3] >> (bit & 7)) & 1;
  }

  draw() {
    const scale = window.devicePixelRatio || 1;
    const width = Math.round(this.root.clientWidth * scale);
    if (!this.heat?.layers || width === 0) return;
    const { layers, experts } = this.heat;
    const row = Math.round(scale * Math.min(ROW_MAX, Math.max(ROW_MIN, width / scale / experts)));
    this.canvas.width = width;
    this.canvas.height = layers * row;
    const context = this.canvas.getContext('2d');
    context.imageSmoothingEnabled = false;
    context.drawImage(this.mask(width), 0, 0, width, layers * row);
    context.globalCompositeOperation = 'source-in';
    context.fillStyle = getComputedStyle(this.canvas).getPropertyValue('--accent');
    context.fillRect(0, 0, width, layers * row);
    this.drawGaps(context, width, row);
  }

  /** A pixel high for each layer, as opaque as the share of the experts there that is in memory. */
  mask(width) {
    const { layers, experts } = this.heat;
    const image = new ImageData(width, layers);
    for (let layer = 0; layer < layers; ++layer) {
      const sums = this.sums(layer);
      // Of the experts before a place; part of one counts in part.
      const before = (place) => {
        const whole = Math.min(experts - 1, Math.floor(place));
        return sums[whole] + (place - whole) * (sums[whole + 1] - sums[whole]);
      };
      for (let x = 0; x < width; ++x) {
        const held = before(((x + 1) * experts) / width) - before((x * experts) / width);
        image.data[4 * (layer * width + x) + 3] = Math.round((255 * held * width) / experts);
      }
    }
    const mask = new OffscreenCanvas(width, layers);
    mask.getContext('2d').putImageData(image, 0, 0);
    return mask;
  }

  /** How many experts before each are in memory; the last is all of them. */
  sums(layer) {
    const sums = [0];
    for (let expert = 0; expert < this.heat.experts; ++expert) {
      sums.push(sums[expert] + this.resident(layer, expert));
    }
    return sums;
  }

  drawGaps(context, width, row) {
    const { layers, experts } = this.heat;
    context.globalCompositeOperation = 'source-over';
    context.fillStyle = getComputedStyle(this.canvas).getPropertyValue('--surface');
    for (let layer = 1; layer <= layers; ++layer) context.fillRect(0, layer * row - 1, width, 1);
    if (width / experts < GAP_FROM) return;
    for (let expert = 1; expert < experts; ++expert) {
      context.fillRect(Math.round(expert * width / experts) - 1, 0, 1, layers * row);
    }
  }

  tell(text) {
    const { layers, experts } = this.heat ?? { layers: 0, experts: 0 };
    const size = `${format.plural(layers, 'layer')}, one below the other, ` +
      `of ${format.plural(experts, 'expert')}`;
    this.canvas.setAttribute('aria-label', `Experts in memory: ${size}`);
    this.point.textContent = text ?? `${size}; coloured: in memory.`;
  }

  onPointer(event) {
    if (!this.heat) return;
    const box = this.canvas.getBoundingClientRect();
    const at = (share, count) => Math.min(count - 1, Math.max(0, Math.floor(share * count)));
    const layer = at((event.clientY - box.top) / box.height, this.heat.layers);
    const expert = at((event.clientX - box.left) / box.width, this.heat.experts);
    const state = this.resident(layer, expert) ? 'in memory' : 'not in memory';
    const count = format.number(this.sums(layer).at(-1));
    this.tell(`Layer ${this.firstLayer + layer}, expert ${expert}: ${state}; ` +
      `${count} of ${format.number(this.heat.experts)} of the layer are.`);
  }
}

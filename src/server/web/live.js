// The live view: asks once a second what the engine and its drives do, while it can be seen.

import { getJson } from './api.js';
import { LineChart } from './charts.js';
import { byId } from './dom.js';
import { drivesNode } from './drives.js';
import * as format from './format.js';
import { HeatMap } from './heat_map.js';
import { History, SPAN_SECONDS } from './history.js';
import { layersNode } from './layers.js';
import { show } from './morph.js';
import { memoryNode, passNode, phasesNode, tilesNode, totalsNode } from './panels.js';

const EVERY_MS = 1000;
const readBytes = (live) => live.drives.reduce((sum, drive) => sum + drive.bytes, 0);

export class LiveView {
  constructor() {
    this.series = [
      this.newSeries('Tokens generated', format.tokenRate, (live) => live.tokens.generated),
      this.newSeries('Prompt tokens run', format.tokenRate, (live) => live.phases.prefill.tokens),
      this.newSeries('Read from drives', format.byteRate, readBytes),
    ];
    byId('charts').append(...this.series.map(({ chart }) => chart.root));
    this.heatMap = new HeatMap();
    byId('cache').append(this.heatMap.root);
    document.addEventListener('visibilitychange', () => this.schedule(0));
  }

  newSeries(title, text, value) {
    return { chart: new LineChart(title, SPAN_SECONDS, text), history: new History(), value };
  }

  show(visible) {
    this.visible = visible;
    this.schedule(0);
  }

  schedule(delay) {
    clearTimeout(this.timer);
    if (this.visible && !document.hidden) this.timer = setTimeout(() => this.refresh(), delay);
  }

  async refresh() {
    if (!this.visible || this.asking) return;
    this.asking = true;
    try {
      this.draw(await getJson('sluice/live'));
      this.notice(null);
    } catch (error) {
      this.notice(error.message);
    }
    this.asking = false;
    this.schedule(EVERY_MS);
  }

  notice(text) {
    byId('live-notice').hidden = text === null;
    byId('live').classList.toggle('stale', text !== null);
    if (text === null) return;
    byId('live-notice').textContent = `${text} The numbers below are not the newest.`;
  }

  draw(live) {
    for (const { chart, history, value } of this.series) {
      history.add(live.uptime_seconds, value(live));
      chart.update(history.rates());
    }
    show(byId('tiles'), tilesNode(live, this.series[0].history.rate()));
    show(byId('pass'), passNode(live.pass));
    show(byId('phases'), phasesNode(live.phases));
    show(byId('drives'), drivesNode(live.drives));
    show(byId('layers'), layersNode(live.layers, live.drives));
    this.heatMap.update(live.cache, live.layers[0]?.layer ?? 0);
    show(byId('memory'), memoryNode(live));
    show(byId('totals'), totalsNode(live));
  }
}

// The small panel with what is known of the model and its memory.

import { getJson } from './api.js';
import { byId, el } from './dom.js';
import * as format from './format.js';

/** Asks the server and shows what it tells; an error leaves what was there. */
export async function showFacts() {
  const asked = [getJson('v1/models'), getJson('sluice/live')];
  const [models, live] = await Promise.all(asked.map(orNothing));
  const model = live?.model;
  const name = model?.name ?? models?.data[0]?.id;
  byId('model-name').textContent = name ?? '';
  if (name) document.title = `${name} · Sluice`;
  byId('facts').replaceChildren(...factsOf(models?.data[0], live).map(row));
}

const orNothing = (promise) => promise.catch(() => null);

function factsOf(listed, live) {
  if (!listed && !live) return [['Server', 'not reached']];
  const facts = [
    ['Model', live?.model.name ?? listed.id],
    ['Context', format.plural(live?.model.context ?? listed.max_model_len, 'token')],
  ];
  return live ? [...facts, ...factsOfLive(live)] : facts;
}

function factsOfLive({ model, cache, rss_bytes: rss, budget_bytes: budget }) {
  const used = format.number(model.experts_per_token);
  const facts = [
    ['Parameters', format.large(model.parameters)],
    ['Experts', `${used} of ${format.number(model.experts)} a token`],
    ['Weights', format.bytes(model.weights_bytes)],
    ['Memory', `${format.bytes(rss)} of ${format.bytes(budget)}`],
  ];
  const asked = cache.hits + cache.misses > 0;
  if (asked) facts.push(['Experts found', `${format.percent(cache.hit_rate)} in memory`]);
  return facts;
}

function row([name, value]) {
  return el('div', {}, el('dt', {}, name), el('dd', {}, value));
}

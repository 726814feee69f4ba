// The small panel with what is known of the model and its memory.

import { getJson } from './api.js';
import { byId, el } from './dom.js';
import * as format from './format.js';

/** Asks the server and shows what it tells; an error leaves what was there. */
export async function showFacts() {
  const [models, live] = await Promise.all([getJson('v1/models'), getJson('sluice/live')].map(orNothing));
  const model = live?.model;
  const name = model?.name ?? models?.data[0]?.id;
  byId('model-name').textContent = name ?? '';
  if (name) document.title = `${name} · Sluice`;
  byId('facts').replaceChildren(...factsOf(models?.data[0], live).map(row));
}

const orNothing = (promise) => promise.catch(() => null);

function factsOf(listed, live) {
  if (!listed && !live) return [['Server', 'not reached']];
  const { name, parameters, experts, experts_per_token: used, context, weights_bytes: weights } = live?.model ?? {};
  const facts = [['Model', name ?? listed.id]];
  if (parameters) facts.push(['Parameters', format.large(parameters)]);
  if (experts) facts.push(['Experts', `${format.number(used)} of ${format.number(experts)} a token`]);
  facts.push(['Context', format.plural(context ?? listed.max_model_len, 'token')]);
  if (weights) facts.push(['Weights', format.bytes(weights)]);
  if (live) facts.push(['Memory', `${format.bytes(live.rss_bytes)} of ${format.bytes(live.budget_bytes)}`]);
  if (live && live.cache.hits + live.cache.misses > 0) {
    facts.push(['Experts found', `${format.percent(live.cache.hit_rate)} in memory`]);
  }
  return facts;
}

function row([name, value]) {
  return el('div', {}, el('dt', {}, name), el('dd', {}, value));
}

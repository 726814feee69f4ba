// Small helpers that build the document. Text always becomes text nodes, never markup.

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** An element with attributes, listeners (names that begin with "on") and children. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export const byId = (id) => document.getElementById(id);

// Outlines on a grid of 16.
const ICONS = {
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  plus: 'M8 3v10M3 8h10',
  close: 'M4 4l8 8M12 4l-8 8',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  check: 'M3 8.5l3.5 3.5L13 4.5',
  pencil: 'M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3zM9 4.7L11.3 7',
  trash: 'M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9',
  retry: 'M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3',
  stop: 'M4.5 4.5h7v7h-7z',
  send: 'M8 13V3M4 7l4-4 4 4',
  down: 'M8 3v10M4 9l4 4 4-4',
  sliders: 'M2.5 5h6M12 5h1.5M10.2 3.2v3.6M2.5 11h1.5M7.5 11h6M5.8 9.2v3.6',
};

export function icon(name) {
  return svg('svg', { viewBox: '0 0 16 16', class: 'icon', 'aria-hidden': 'true' },
             svg('path', { d: ICONS[name] }));
}

/** Gives every element that names an icon its drawing. */
export function drawIcons() {
  for (const node of document.querySelectorAll('[data-icon]')) {
    node.prepend(icon(node.dataset.icon));
  }
}

export function button(label, iconName, onclick, attributes = {}) {
  return el('button', { type: 'button', class: 'small-button', onclick, ...attributes },
            icon(iconName), label);
}

/** A button that copies what `text` returns, and says so. */
export function copyButton(text, label = 'Copy') {
  const node = button(label, 'copy', async () => {
    await copy(text());
    node.replaceChildren(icon('check'), 'Copied');
    setTimeout(() => node.replaceChildren(icon('copy'), label), 1500);
  });
  return node;
}

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Pages from other computers over plain HTTP have no clipboard interface.
  const area = el('textarea', { class: 'visually-hidden' });
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
  return undefined;
}

/** Tells something in passing, with an action that may still be taken. */
export function toast(text, actionLabel, action) {
  const box = byId('toast');
  const hide = () => box.replaceChildren();
  const parts = [el('span', {}, text)];
  if (action) {
    const act = () => { hide(); action(); };
    parts.push(el('button', { type: 'button', class: 'small-button', onclick: act }, actionLabel));
  }
  box.replaceChildren(...parts);
  clearTimeout(toast.timer);
  toast.timer = setTimeout(hide, 8000);
}

// Shows a Markdown text that may grow: blocks whose source is as before keep their nodes.

import { copyButton, el } from './dom.js';
import { highlight } from './highlight.js';
import { inlineNodes } from './inline.js';
import { parseBlocks } from './markdown.js';

export class MarkdownView {
  constructor() {
    this.root = el('div', { class: 'markdown' });
    this.shown = [];  // {source, node}
    this.text = '';
  }

  update(text) {
    if (text === this.text) return;
    this.text = text;
    const blocks = parseBlocks(text);
    let same = 0;
    while (same < blocks.length && blocks[same].source === this.shown[same]?.source) ++same;
    for (const { node } of this.shown.splice(same)) node.remove();
    for (const block of blocks.slice(same)) {
      const node = blockNode(block);
      this.root.append(node);
      this.shown.push({ source: block.source, node });
    }
  }
}

function blockNode(block) {
  switch (block.type) {
    case 'code': return codeNode(block);
    case 'heading': return headingNode(block);
    case 'rule': return el('hr');
    case 'quote': return el('blockquote', {}, ...block.blocks.map(blockNode));
    case 'list': return listNode(block);
    case 'table': return tableNode(block);
    default: return el('p', {}, ...inlineNodes(block.text));
  }
}

/** The page has headings of its own above those of an answer. */
function headingNode({ level, text }) {
  return el(`h${Math.min(6, level + 2)}`, { class: `level-${level}` }, ...inlineNodes(text));
}

function codeNode({ language, text }) {
  const bar = el('figcaption', {}, el('span', {}, language || 'text'), copyButton(() => text));
  const code = el('code', {}, ...highlight(text, language));
  const pre = el('pre', { tabindex: 0, 'aria-label': 'Code' }, code);
  return el('figure', { class: 'code' }, bar, pre);
}

function listNode({ ordered, start, items, loose }) {
  const itemOf = (blocks) => el('li', {}, ...blocks.flatMap((block) => itemNodes(block, loose)));
  const nodes = items.map(itemOf);
  return ordered ? el('ol', { start }, ...nodes) : el('ul', {}, ...nodes);
}

function itemNodes(block, loose) {
  return block.type === 'paragraph' && !loose ? inlineNodes(block.text) : [blockNode(block)];
}

function tableNode({ head, align, rows }) {
  const cell = (tag) => (text, column) =>
    el(tag, { class: `align-${align[column]}` }, ...inlineNodes(text));
  const table = el('table', {},
    el('thead', {}, el('tr', {}, ...head.map(cell('th')))),
    el('tbody', {}, ...rows.map((row) => el('tr', {}, ...row.map(cell('td'))))));
  return el('div', { class: 'table', tabindex: 0, role: 'region', 'aria-label': 'Table' }, table);
}

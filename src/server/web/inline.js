// What stands inside a block of Markdown: emphasis, code, links, line breaks; as nodes.

import { el } from './dom.js';

const DEPTH_MAX = 8;
const MARKS = [
  ['***', 'strong'], ['**', 'strong'], ['__', 'strong'], ['~~', 'del'], ['*', 'em'], ['_', 'em'],
];
const SPECIAL = /[\\`*_~[!<\n]|https?:\/\//g;
const WORD = /[\p{L}\p{N}]/u;

/** The nodes of a text. */
export function inlineNodes(text, depth = 0) {
  const nodes = [];
  const missing = new Set();  // Marks that close nowhere behind: no need to look again.
  let plain = '';
  let at = 0;
  while (at < text.length) {
    SPECIAL.lastIndex = at;
    const special = SPECIAL.exec(text);
    const start = special ? special.index : text.length;
    plain += text.slice(at, start);
    if (!special) break;
    const found = elementAt(text, start, depth, missing);
    if (found?.node) {
      if (plain) nodes.push(plain);
      plain = '';
      nodes.push(found.node);
    } else {
      plain += found?.text ?? text[start];
    }
    at = found?.end ?? start + 1;
  }
  if (plain) nodes.push(plain);
  return nodes;
}

/** What begins at a special character, as {node or text, end}; null: the character is itself. */
function elementAt(text, at, depth, missing) {
  switch (text[at]) {
    case '\\': return escapeAt(text, at);
    case '`': return codeAt(text, at, missing);
    case '\n': return breakAt(text, at);
    case '[': return linkAt(text, at, depth);
    // Pictures become links, for nothing is loaded from elsewhere.
    case '!': return text[at + 1] === '[' ? linkAt(text, at + 1, depth) : null;
    case '<': return angleAt(text, at);
    case 'h': return bareLinkAt(text, at);
    default: return emphasisAt(text, at, depth, missing);
  }
}

function escapeAt(text, at) {
  const next = text[at + 1];
  if (next === '\n') return { node: el('br'), end: at + 2 };
  // With brackets it opens and closes formulas, which stay as they are.
  const isMark = next && /[!-/:-@[-`{-~]/.test(next) && !/[()[\]]/.test(next);
  return isMark ? { text: next, end: at + 2 } : null;
}

function codeAt(text, at, missing) {
  const mark = /^`+/.exec(text.slice(at, at + 64))[0];
  let end = missing.has(mark) ? -1 : text.indexOf(mark, at + mark.length);
  while (end >= 0 && (text[end + mark.length] === '`' || text[end - 1] === '`')) {
    end = text.indexOf(mark, end + 1);
  }
  if (end < 0) {
    missing.add(mark);
    return { text: mark, end: at + mark.length };
  }
  let inner = text.slice(at + mark.length, end).replace(/\n/g, ' ');
  if (/^ .*[^ ].* $/.test(inner)) inner = inner.slice(1, -1);
  return { node: el('code', {}, inner), end: end + mark.length };
}

function breakAt(text, at) {
  const hard = text.slice(Math.max(0, at - 2), at) === '  ';
  return hard ? { node: el('br'), end: at + 1 } : { text: '\n', end: at + 1 };
}

function linkAt(text, at, depth) {
  const close = closingBracket(text, at);
  if (close < 0 || text[close + 1] !== '(') return null;
  const target = /^\(\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+"[^"]*")?\s*\)/
    .exec(text.slice(close + 1, close + 2100));
  if (!target) return null;
  const inner = text.slice(at + 1, close);
  const children = depth < DEPTH_MAX ? inlineNodes(inner, depth + 1) : [inner];
  return { node: link(target[1], children), end: close + 1 + target[0].length };
}

function closingBracket(text, at) {
  let open = 0;
  for (let i = at; i < Math.min(text.length, at + 1000); ++i) {
    if (text[i] === '\\') ++i;
    else if (text[i] === '[') ++open;
    else if (text[i] === ']' && --open === 0) return i;
  }
  return -1;
}

function angleAt(text, at) {
  const address = /^<((?:https?:\/\/|mailto:)[^\s<>]+)>/.exec(text.slice(at, at + 2100));
  if (address) return { node: link(address[1], [address[1]]), end: at + address[0].length };
  const lineBreak = /^<br ?\/?>/i.exec(text.slice(at, at + 6));
  return lineBreak ? { node: el('br'), end: at + lineBreak[0].length } : null;
}

function bareLinkAt(text, at) {
  const found = /^https?:\/\/[^\s<>"`]+/.exec(text.slice(at, at + 2100));
  if (!found) return null;
  // What ends the sentence is no part of the address, nor a bracket that was opened before it.
  let address = found[0].replace(/[.,:;!?'*_~]+$/, '');
  if (address.endsWith(')') && !address.includes('(')) address = address.slice(0, -1);
  return { node: link(address, [address]), end: at + address.length };
}

/** Addresses that could run something are not made links. */
function link(address, children) {
  if (!/^(?:https?:\/\/|mailto:)/i.test(address)) return el('span', {}, ...children);
  return el('a', { href: address, target: '_blank', rel: 'noopener noreferrer' }, ...children);
}

function emphasisAt(text, at, depth, missing) {
  const run = /^([*_~])\1*/.exec(text.slice(at, at + 16))[0];
  for (const [mark, tag] of MARKS) {
    if (!run.startsWith(mark) || depth >= DEPTH_MAX || missing.has(mark)) continue;
    if (!opens(text, at, mark)) continue;
    const end = closingMark(text, at + mark.length, mark);
    if (end < 0) {
      missing.add(mark);
      continue;
    }
    const children = inlineNodes(text.slice(at + mark.length, end), depth + 1);
    const node = el(tag, {}, ...children);
    return { node: mark === '***' ? el('em', {}, node) : node, end: end + mark.length };
  }
  return { text: run, end: at + run.length };
}

function opens(text, at, mark) {
  const next = text[at + mark.length];
  if (!next || /\s/.test(next)) return false;
  return mark[0] !== '_' || at === 0 || !WORD.test(text[at - 1]);
}

function closingMark(text, from, mark) {
  for (let end = text.indexOf(mark, from); end >= 0; end = text.indexOf(mark, end + 1)) {
    const after = text[end + mark.length] ?? ' ';
    if (end === from || /\s/.test(text[end - 1])) continue;
    if (mark.length === 1 && (after === mark || text[end - 1] === mark)) {
      ++end;  // Part of a double mark.
      continue;
    }
    if (mark.length === 2 && after === mark[0]) return end + 1;  // **strong *and em***
    if (mark[0] === '_' && WORD.test(after)) continue;
    return end;
  }
  return -1;
}

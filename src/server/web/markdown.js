// Markdown as language models write it, as a list of blocks. Their source is kept, so that a text
// that grows is rendered anew only where it changed. inline.js does what stands inside of them.

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)(?:\s+#+)?\s*$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?: +|$)/;
const TABLE_RULE = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const DEPTH_MAX = 12;

const isBlank = (line) => line.trim() === '';
const indentOf = (line) => line.length - line.trimStart().length;

/** The blocks of a text: {type, source, ...}. */
export function parseBlocks(text) {
  return blocksOf(text.split('\n').map((line) => line.replace(/\t/g, '    ')), 0);
}

function blocksOf(lines, depth) {
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (isBlank(lines[at])) {
      ++at;
      continue;
    }
    const { block, end } = blockAt(lines, at, depth);
    block.source = lines.slice(at, end).join('\n');
    blocks.push(block);
    at = end;
  }
  return blocks;
}

function blockAt(lines, at, depth) {
  const line = lines[at];
  const fence = FENCE.exec(line);
  if (fence) return codeAt(lines, at, fence);
  const heading = HEADING.exec(line);
  if (heading) {
    return { block: { type: 'heading', level: heading[1].length, text: heading[2] }, end: at + 1 };
  }
  if (RULE.test(line)) return { block: { type: 'rule' }, end: at + 1 };
  if (startsTable(lines, at)) return tableAt(lines, at);
  if (depth < DEPTH_MAX) {
    if (QUOTE.test(line)) return quoteAt(lines, at, depth);
    if (ITEM.test(line)) return listAt(lines, at, depth);
  }
  return paragraphAt(lines, at, depth);
}

function codeAt(lines, at, [, mark, language]) {
  const indent = indentOf(lines[at]);
  const isEnd = (line) => {
    const rest = line.trim();
    return rest.length >= mark.length && rest === mark[0].repeat(rest.length);
  };
  let end = at + 1;
  while (end < lines.length && !isEnd(lines[end])) ++end;
  const text = lines.slice(at + 1, end).map((line) => line.slice(Math.min(indent, indentOf(line))));
  const block = { type: 'code', language, text: text.join('\n') };
  return { block, end: Math.min(end + 1, lines.length) };
}

function quoteAt(lines, at, depth) {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end])) ++end;
  const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, ''));
  return { block: { type: 'quote', blocks: blocksOf(inner, depth + 1) }, end };
}

function listAt(lines, at, depth) {
  const [, space, mark] = ITEM.exec(lines[at]);
  const ordered = /\d/.test(mark);
  const items = [];
  let end = at;
  let loose = false;
  while (end < lines.length) {
    const next = isBlank(lines[end]) ? end + 1 : end;  // One blank line may part items.
    const item = next < lines.length && !RULE.test(lines[next]) ? ITEM.exec(lines[next]) : null;
    if (!item || item[1].length > space.length + 1 || /\d/.test(item[2]) !== ordered) break;
    loose ||= next !== end;
    const inner = itemAt(lines, next, item[0].length);
    items.push(blocksOf(inner.lines, depth + 1));
    end = inner.end;
  }
  const start = Number.parseInt(mark, 10) || 0;
  return { block: { type: 'list', ordered, start, items, loose }, end };
}

/** The lines of an item without their indent: those that are indented, or go on a paragraph. */
function itemAt(lines, at, indent) {
  const inner = [lines[at].slice(indent)];
  const content = indentOf(lines[at]) + 2;  // Models often indent less than CommonMark asks.
  let end = at + 1;
  while (end < lines.length) {
    const line = lines[end];
    const goesOn = !isBlank(lines[end - 1]) && !startsBlock(lines, end);
    if (isBlank(line)) {
      let next = end;
      while (next < lines.length && isBlank(lines[next])) ++next;
      if (next === lines.length || indentOf(lines[next]) < content) break;
    } else if (indentOf(line) < content && !goesOn) {
      break;
    }
    inner.push(line.slice(Math.min(indent, indentOf(line))));
    ++end;
  }
  return { lines: inner, end };
}

function startsTable(lines, at) {
  return lines[at].includes('|') && at + 1 < lines.length && lines[at + 1].includes('-') &&
    TABLE_RULE.test(lines[at + 1]) && cellsOf(lines[at]).length === cellsOf(lines[at + 1]).length;
}

function cellsOf(line) {
  const inner = line.trim().replace(/^\|/, '').replace(/(?<!\\)\|$/, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, '|'));
}

function tableAt(lines, at) {
  const head = cellsOf(lines[at]);
  const align = cellsOf(lines[at + 1]).map((cell) => {
    if (!cell.endsWith(':')) return 'left';
    return cell.startsWith(':') ? 'center' : 'right';
  });
  const rows = [];
  let end = at + 2;
  while (end < lines.length && !isBlank(lines[end]) && lines[end].includes('|')) {
    const cells = cellsOf(lines[end]);
    rows.push(head.map((_, column) => cells[column] ?? ''));
    ++end;
  }
  return { block: { type: 'table', head, align, rows }, end };
}

function startsBlock(lines, at) {
  const line = lines[at];
  return [FENCE, HEADING, RULE, QUOTE, ITEM].some((start) => start.test(line)) ||
    startsTable(lines, at);
}

function paragraphAt(lines, at, depth) {
  let end = at + 1;
  const endsIt = (line) => isBlank(lines[line]) || (depth < DEPTH_MAX && startsBlock(lines, line));
  while (end < lines.length && !endsIt(end)) ++end;
  const text = lines.slice(at, end).map((line) => line.trimStart()).join('\n');
  return { block: { type: 'paragraph', text }, end };
}

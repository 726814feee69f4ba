// Colours for code: comments, strings, numbers and keywords, which is most of what helps the eye.

import { el } from './dom.js';

const words = (list) => new Set(list.trim().split(/\s+/));

const C_LIKE = words(`
  abstract as async auto await bool boolean break byte case catch char class const constexpr
  continue default delete do double else enum explicit export extends extern false final finally
  float fn for friend func function go if impl implements import in inline instanceof int
  interface internal let long loop match mod move mut namespace new nil noexcept null nullptr
  operator override package private protected pub public readonly ref return self short signed
  sizeof static string struct super switch template this throw throws trait true try type
  typedef typename typeof undefined union unsafe unsigned use using val var virtual void
  volatile where while yield`);
const SCRIPT = words(`
  and as assert async await begin break case class continue def del do done elif else elsif end
  ensure esac except export False fi finally for from function global if import in is lambda
  local module None nonlocal not or pass raise require rescue return self then True try unless
  until when while with yield`);
const SQL = words(`
  add all alter and as asc between by case create delete desc distinct drop else end exists from
  full group having in index inner insert into is join key left like limit not null on or order
  outer primary references right select set table then union unique update values when where
  with`);

const STRING = '"(?:\\\\.|[^"\\\\\\n])*"?|\'(?:\\\\.|[^\'\\\\\\n])*\'?';
const REST = '|(?<number>\\b\\d[\\w.]*)|(?<word>[A-Za-z_]\\w*)';

const pattern = (comment, string) =>
  new RegExp(`(?<comment>${comment})|(?<string>${string})${REST}`, 'g');
const C_COMMENT = '//.*|/\\*[^]*?(?:\\*/|$)';
const SQL_COMMENT = '--.*|/\\*[^]*?(?:\\*/|$)';
const TRIPLE = `"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)`;

const FAMILIES = {
  c: { keywords: C_LIKE, pattern: pattern(C_COMMENT, `\`[^\`]*\`?|${STRING}`) },
  script: { keywords: SCRIPT, pattern: pattern('#.*', `${TRIPLE}|${STRING}`) },
  sql: { keywords: SQL, pattern: pattern(SQL_COMMENT, STRING), ignoreCase: true },
  data: { keywords: words('true false null'), pattern: pattern('#.*', STRING) },
};
const MEMBERS = {
  c: words(`c h cpp c++ cc hpp cxx cs csharp css cuda dart go java javascript js jsx kotlin php rust
    rs scala swift ts tsx typescript zig`),
  script: words(`python py ruby rb bash sh shell zsh perl r julia cmake makefile dockerfile console
    nix elixir`),
  sql: words('sql sqlite postgresql mysql'),
  data: words('json jsonc yaml yml toml ini'),
};
const LENGTH_MAX = 50_000;

/** The nodes of a piece of code; plain text for a language that is not known. */
export function highlight(code, language) {
  const isMember = (name) => MEMBERS[name].has(language.toLowerCase());
  const family = FAMILIES[Object.keys(MEMBERS).find(isMember)];
  if (!family || code.length > LENGTH_MAX) return [code];
  const nodes = [];
  let at = 0;
  for (const match of code.matchAll(family.pattern)) {
    const kind = kindOf(match.groups, family);
    if (!kind) continue;
    nodes.push(code.slice(at, match.index), el('span', { class: `code-${kind}` }, match[0]));
    at = match.index + match[0].length;
  }
  nodes.push(code.slice(at));
  return nodes;
}

function kindOf(groups, family) {
  if (groups.word === undefined) {
    return Object.keys(groups).find((kind) => groups[kind] !== undefined);
  }
  const word = family.ignoreCase ? groups.word.toLowerCase() : groups.word;
  return family.keywords.has(word) ? 'keyword' : null;
}

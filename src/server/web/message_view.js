// Shows one message of a conversation, and the buttons that belong to it.

import { isOpen } from './answer.js';
import { button, copyButton, el } from './dom.js';
import * as format from './format.js';
import { MarkdownView } from './markdown_view.js';

const HINT_LENGTH = 120;

/** What the user wrote; `edit(text)` replaces it and goes on from there. */
export class UserView {
  constructor(message, { edit }) {
    this.message = message;
    this.edit = edit;
    this.root = el('article', { class: 'message user', 'aria-label': 'You' });
    this.showText();
  }

  update() {}

  showText(focusButton = false) {
    const { content } = this.message;
    const change = button('Edit', 'pencil', () => this.showEditor());
    this.root.replaceChildren(
      el('div', { class: 'bubble' }, content),
      el('div', { class: 'actions' }, copyButton(() => content), change));
    if (focusButton) change.focus();
  }

  showEditor() {
    const area = el('textarea', { 'aria-label': 'Edit your message', rows: 3 });
    area.value = this.message.content;
    const send = () => {
      if (area.value.trim()) this.edit(area.value.trim());
    };
    const keys = (event) => {
      if (event.key === 'Escape') {
        event.stopPropagation();
        this.showText(true);
      } else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        send();
      }
    };
    area.addEventListener('keydown', keys);
    this.root.replaceChildren(el('div', { class: 'editor' }, area,
      el('p', { class: 'hint' }, 'What followed this message is replaced.'),
      el('div', { class: 'editor-row' },
        wideButton('Cancel', 'button', () => this.showText(true)),
        wideButton('Send', 'button primary', send))));
    area.focus();
    area.setSelectionRange(area.value.length, area.value.length);
  }
}

function wideButton(label, kind, onclick) {
  return el('button', { type: 'button', class: kind, onclick }, label);
}

export class AnswerView {
  constructor(message, { retry }) {
    this.message = message;
    this.hint = el('span', { class: 'hint-line' });
    this.label = el('span', { class: 'label' });
    this.thoughts = el('div', { class: 'thoughts' });
    this.reasoning = el('details', { class: 'reasoning', hidden: true },
      el('summary', {}, this.label, this.hint), this.thoughts);
    this.status = el('div', { class: 'status' });
    this.markdown = new MarkdownView();
    this.problem = el('div', { class: 'problem', role: 'alert', hidden: true });
    this.numbers = el('span', { class: 'numbers' });
    this.actions = el('div', { class: 'actions' }, this.numbers, copyButton(() => message.content),
      button('Retry', 'retry', retry));
    this.retry = retry;
    this.root = el('article', { class: 'message answer', 'aria-label': 'Answer' }, this.reasoning,
      this.status, this.markdown.root, this.problem, this.actions);
    this.update();
  }

  update() {
    const { message } = this;
    const open = isOpen(message);
    this.root.setAttribute('aria-busy', open);
    this.root.dataset.state = message.state;
    this.updateReasoning();
    this.updateStatus();
    this.markdown.update(message.content);
    this.updateProblem();
    this.actions.hidden = open;
    this.numbers.textContent = numbersOf(message);
  }

  updateReasoning() {
    const { message } = this;
    this.reasoning.hidden = !message.reasoning;
    if (!message.reasoning) return;
    const thinking = message.state === 'thinking';
    this.reasoning.classList.toggle('live', thinking);
    this.label.textContent = thinking ? 'Thinking' : thoughtLabel(message);
    this.hint.textContent = thinking ? lastLine(message.reasoning) : '';
    if (this.thoughts.textContent === message.reasoning) return;
    this.thoughts.textContent = message.reasoning;
  }

  updateStatus() {
    const { message } = this;
    const waiting = message.state === 'waiting';
    const rate = message.rate && isOpen(message) ? format.tokenRate(message.rate) : '';
    this.status.hidden = !waiting && !rate;
    if (waiting) this.status.replaceChildren(...waitingParts(message));
    else this.status.replaceChildren(rate);
  }

  updateProblem() {
    const { error, state, content, reasoning } = this.message;
    this.problem.hidden = state !== 'failed' && !(state === 'stopped' && !content && !reasoning);
    if (this.problem.hidden || this.problem.childElementCount > 0) return;
    const again = error?.retrySeconds ? ` Try again in ${format.seconds(error.retrySeconds)}.` : '';
    this.problem.classList.toggle('mild', state === 'stopped');
    this.problem.append(
      el('p', {}, error ? error.text + again : 'Stopped before there was an answer.'),
      button('Retry', 'retry', this.retry, { class: 'button' }));
  }
}

function lastLine(text) {
  const lines = text.slice(-4 * HINT_LENGTH).split('\n').filter((line) => line.trim());
  const line = lines.at(-1)?.trim() ?? '';
  return line.length > HINT_LENGTH ? `…${line.slice(-HINT_LENGTH)}` : line;
}

function thoughtLabel({ thinkingSeconds, usage }) {
  const time = thinkingSeconds === undefined ? '' : ` for ${format.seconds(thinkingSeconds)}`;
  const tokens = usage?.reasoning ? `, ${format.plural(usage.reasoning, 'token')}` : '';
  return `Thought${time}${tokens}`;
}

/** Where the request stands before the first token: in the queue, or in its prompt. */
function waitingParts({ progress, ahead }) {
  if (!progress) return [el('span', { class: 'pulse' }, queueText(ahead))];
  const { total, cache, processed, seconds_left: left } = progress;
  const bar = el('progress', { max: Math.max(1, total), 'aria-label': 'Prompt' });
  bar.value = processed;
  const done = `${format.number(processed)} of ${format.plural(total, 'token')}`;
  const parts = [`Reading the prompt: ${done}`];
  if (cache > 0) parts.push(`${format.number(cache)} were in memory`);
  if (left > 0) parts.push(`about ${format.seconds(left)} left`);
  return [el('span', {}, parts.join(', ')), bar];
}

function queueText(ahead) {
  if (ahead === undefined) return 'Waiting for the server';
  if (ahead === 0) return 'Next in the queue';
  return `In the queue, ${format.plural(ahead, 'request')} before this one`;
}

function numbersOf({ usage, rate, seconds, state, finish, content }) {
  const parts = [];
  if (state === 'stopped' && content) parts.push('stopped');
  if (finish === 'length') parts.push('cut: no more tokens allowed');
  if (usage) {
    parts.push(format.plural(usage.generated, 'token'));
    const cached = usage.cached ? `, ${format.number(usage.cached)} from memory` : '';
    parts.push(`prompt ${format.number(usage.prompt)}${cached}`);
  }
  if (rate) parts.push(format.tokenRate(rate));
  if (seconds !== undefined) parts.push(format.seconds(seconds));
  return parts.join(' · ');
}

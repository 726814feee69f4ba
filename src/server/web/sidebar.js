// The list of conversations.

import { byId, el, icon } from './dom.js';
import { titleOf } from './store.js';

export class Sidebar {
  /** `actions`: create(), rename(conversation, title), remove(conversation). */
  constructor(actions) {
    this.actions = actions;
    this.list = byId('conversations');
    this.panel = byId('sidebar');
    this.menu = byId('menu');
    this.shade = byId('sidebar-shade');
    byId('new-chat').addEventListener('click', () => actions.create());
    this.menu.addEventListener('click', () => this.toggle(!this.isOpen()));
    this.shade.addEventListener('click', () => this.toggle(false));
  }

  isOpen() {
    return this.panel.classList.contains('open');
  }

  /** On narrow screens the list lies over the conversation, when it is wanted. */
  toggle(open) {
    if (open === this.isOpen()) return;
    this.panel.classList.toggle('open', open);
    this.shade.hidden = !open;
    this.menu.setAttribute('aria-expanded', open);
    if (open) byId('new-chat').focus();
    else this.menu.focus();
  }

  /** `isAnswering(id)` tells whether an answer is under way. */
  show(conversations, currentId, isAnswering) {
    if (this.renaming) return;
    const focused = this.list.querySelector(':focus')?.closest('li')?.dataset.id;
    const rows = conversations.map((conversation) =>
      this.row(conversation, conversation.id === currentId, isAnswering(conversation.id)));
    if (rows.length === 0) rows.push(el('li', { class: 'none' }, 'No conversations yet'));
    this.list.replaceChildren(...rows);
    if (focused) this.list.querySelector(`[data-id="${focused}"] a`)?.focus();
  }

  row(conversation, isCurrent, isAnswering) {
    const title = titleOf(conversation);
    const act = (name, iconName, onclick) => el('button', {
      type: 'button', class: 'icon-button', 'aria-label': `${name} ${title}`, title: name, onclick,
    }, icon(iconName));
    const current = isCurrent ? 'page' : null;
    const link = { href: `#/c/${conversation.id}`, title, 'aria-current': current };
    const row = el('li', { 'data-id': conversation.id, class: isAnswering ? 'answering' : null },
      el('a', link, title),
      act('Rename', 'pencil', () => this.rename(row, conversation)),
      act('Delete', 'trash', () => this.remove(row, conversation)));
    return row;
  }

  rename(row, conversation) {
    this.renaming = true;
    const input = el('input', { 'aria-label': 'Name of the conversation', maxlength: 100 });
    input.value = titleOf(conversation);
    const done = (keep) => {
      if (!this.renaming) return;
      this.renaming = false;
      this.actions.rename(conversation, keep ? input.value.trim() : conversation.title);
      this.list.querySelector(`[data-id="${conversation.id}"] a`)?.focus();
    };
    input.addEventListener('blur', () => done(true));
    input.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== 'Escape') return;
      event.preventDefault();
      event.stopPropagation();
      done(event.key === 'Enter');
    });
    row.replaceChildren(input);
    input.select();
  }

  remove(row, conversation) {
    const near = row.nextElementSibling ?? row.previousElementSibling;
    const next = near?.dataset.id;
    this.actions.remove(conversation);
    (this.list.querySelector(`[data-id="${next}"] a`) ?? byId('new-chat')).focus();
  }
}

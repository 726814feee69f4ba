// The messages of one conversation, and where the reader is in them.

import { isOpen } from './answer.js';
import { byId, el, icon } from './dom.js';
import { AnswerView, UserView } from './message_view.js';

const EXAMPLES = [
  'What is the capital of France?', 'Which is larger, a mouse or a horse?', 'What is 17 plus 25?',
];

export class ConversationView {
  /** `actions`: send(text), edit(index, text), retry(index). */
  constructor(actions) {
    this.actions = actions;
    this.scroller = byId('scroller');
    this.list = byId('messages');
    this.toEnd = byId('to-end');
    this.follow = true;  // The reader is at the end, and stays there.
    this.views = [];
    this.scroller.addEventListener('scroll', () => this.onScroll());
    this.toEnd.addEventListener('click', () => this.scrollToEnd());
    new ResizeObserver(() => this.keepEnd()).observe(this.list);
  }

  show(conversation) {
    this.conversation = conversation;
    this.views = [];
    this.list.replaceChildren();
    this.list.classList.toggle('empty', conversation.messages.length === 0);
    if (conversation.messages.length === 0) this.list.append(this.welcome());
    this.extend();
    this.scrollToEnd();
  }

  /** Messages were added. */
  extend() {
    const { messages } = this.conversation;
    if (messages.length > 0 && this.views.length === 0) this.list.replaceChildren();
    this.list.classList.toggle('empty', messages.length === 0);
    for (let index = this.views.length; index < messages.length; ++index) {
      const view = this.viewOf(messages[index], index);
      this.views.push(view);
      this.list.append(view.root);
    }
  }

  viewOf(message, index) {
    return message.role === 'user'
      ? new UserView(message, { edit: (text) => this.actions.edit(index, text) })
      : new AnswerView(message, { retry: () => this.actions.retry(index) });
  }

  /** The last messages were taken away. */
  cut(length) {
    for (const { root } of this.views.splice(length)) root.remove();
  }

  /** The answer under way has changed: it is drawn once a frame. */
  refresh() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.views.at(-1)?.update();
      if (this.follow) this.scrollToEnd();
    });
  }

  welcome() {
    const example = (text) => el('button', {
      type: 'button', class: 'example', onclick: () => this.actions.send(text),
    }, text, icon('send'));
    return el('section', { class: 'welcome' },
      el('h2', {}, 'What would you like to know?'),
      el('p', {}, 'The model runs on the computer that this page came from. Nothing leaves it.'),
      el('div', { class: 'examples' }, ...EXAMPLES.map(example)));
  }

  onScroll() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    this.follow = scrollHeight - scrollTop - clientHeight < 40;
    this.toEnd.hidden = this.follow;
  }

  keepEnd() {
    if (this.follow && this.conversation?.messages.some(isOpen)) this.scrollToEnd();
  }

  scrollToEnd() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.follow = true;
    this.toEnd.hidden = true;
  }
}

// The chat: which conversations there are, which is shown, and which answers are under way.

import { Answer, isOpen, newAnswer } from './answer.js';
import { Composer } from './composer.js';
import { ConversationView } from './conversation_view.js';
import { toast } from './dom.js';
import { Sidebar } from './sidebar.js';
import * as store from './store.js';

const SAVE_EVERY_MS = 1000;

export class Chat {
  /** `answered` is called after each answer. */
  constructor(answered) {
    this.answered = answered;
    this.answers = new Map();  // Of conversations, by id; they go on when another one is shown.
    this.conversations = store.loadConversations();
    this.conversations.forEach(closeAnswers);
    this.view = new ConversationView({
      send: (text) => this.send(text),
      edit: (index, text) => this.goOn(index, text),
      retry: (index) => this.goOn(index),
    });
    this.composer = new Composer({ send: (text) => this.send(text), stop: () => this.stop() });
    this.sidebar = new Sidebar({
      create: () => this.create(),
      rename: (conversation, title) => this.rename(conversation, title),
      remove: (conversation) => this.remove(conversation),
    });
    store.onOtherWindow(() => this.reload());
    window.addEventListener('pagehide', () => this.leave());
    this.show(store.newConversation());
  }

  /** Shows a conversation by its id, or a new one. */
  open(id) {
    const found = this.conversations.find((conversation) => conversation.id === id);
    if (found === this.current) return;
    if (found || this.current.messages.length > 0) this.show(found ?? store.newConversation());
    this.sidebar.toggle(false);
    this.composer.focus();
  }

  show(conversation) {
    this.current = conversation;
    this.view.show(conversation);
    this.refreshLists();
  }

  refreshLists() {
    this.sidebar.show(this.conversations, this.current.id, (id) => this.answers.has(id));
    this.composer.setAnswering(this.answers.has(this.current.id));
  }

  create() {
    location.hash = '#/';
    this.open(null);
    this.composer.focus();
  }

  send(text) {
    if (this.answers.has(this.current.id)) return false;
    const conversation = this.current;
    conversation.messages.push({ role: 'user', content: text });
    const others = this.conversations.filter((one) => one !== conversation);
    this.conversations = [conversation, ...others];
    if (location.hash !== `#/c/${conversation.id}`) location.hash = `#/c/${conversation.id}`;
    this.answer(conversation);
    this.view.scrollToEnd();
    return true;
  }

  /** Takes away a message and what follows it, and answers anew: another text, if there is one. */
  goOn(index, text) {
    if (this.answers.has(this.current.id)) this.stop();
    this.current.messages.length = index;
    this.view.cut(index);
    if (text !== undefined) this.current.messages.push({ role: 'user', content: text });
    this.answer(this.current);
    this.composer.focus();
  }

  async answer(conversation) {
    const asked = [...conversation.messages];
    const message = newAnswer();
    conversation.messages.push(message);
    conversation.updated = Date.now();
    const answer = new Answer(message, () => this.changed(conversation, answer));
    this.answers.set(conversation.id, answer);
    if (conversation === this.current) this.view.extend();
    this.save(conversation);
    this.refreshLists();
    await answer.run(asked);
    if (this.answers.get(conversation.id) === answer) this.answers.delete(conversation.id);
    if (this.conversations.includes(conversation)) this.save(conversation);
    this.refreshLists();
    this.answered();
  }

  changed(conversation, answer) {
    if (conversation === this.current) this.view.refresh();
    if (!this.conversations.includes(conversation)) return;
    const now = Date.now();
    if (now - (answer.saved ?? 0) < SAVE_EVERY_MS) return;
    answer.saved = now;
    this.save(conversation);
  }

  stop() {
    this.answers.get(this.current.id)?.stop();
    this.answers.delete(this.current.id);
  }

  /** The Escape key: closes what lies over the conversation, or stops the answer. */
  escape() {
    if (this.sidebar.isOpen()) this.sidebar.toggle(false);
    else this.stop();
  }

  rename(conversation, title) {
    conversation.title = title;
    this.save(conversation);
    this.refreshLists();
  }

  remove(conversation) {
    this.answers.get(conversation.id)?.stop();
    this.conversations = this.conversations.filter((one) => one !== conversation);
    store.removeConversation(conversation.id);
    if (conversation === this.current) {
      location.hash = '#/';
      this.show(store.newConversation());
    }
    this.refreshLists();
    const undo = () => this.restore(conversation);
    toast(`“${store.titleOf(conversation)}” was deleted.`, 'Undo', undo);
  }

  restore(conversation) {
    this.conversations = [conversation, ...this.conversations].sort(store.newestFirst);
    this.save(conversation);
    location.hash = `#/c/${conversation.id}`;
    this.refreshLists();
  }

  save(conversation) {
    if (!store.saveConversation(conversation)) {
      toast('The browser has no room for this conversation. Delete some that you no longer need.');
    }
  }

  /** The page is being left, which ends the answers: that is no error of the server's. */
  leave() {
    for (const answer of this.answers.values()) answer.leave();
    this.conversations.filter(({ id }) => this.answers.has(id)).forEach(store.saveConversation);
  }

  /** Another window changed something: its conversations replace those that are at rest here. */
  reload() {
    const isBusy = ({ id }) => id === this.current.id || this.answers.has(id);
    const kept = this.conversations.filter(isBusy);
    const others = store.loadConversations().filter(({ id }) => !kept.some((one) => one.id === id));
    others.forEach(closeAnswers);
    this.conversations = [...kept, ...others].sort(store.newestFirst);
    this.refreshLists();
  }
}

/** An answer that was under way when the page was left has been stopped. */
function closeAnswers(conversation) {
  for (const message of conversation.messages) {
    if (isOpen(message)) message.state = 'stopped';
  }
}

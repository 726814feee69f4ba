// The field where messages are written, and the choices beside it.

import { byId } from './dom.js';
import { changeSettings, settings } from './store.js';

export class Composer {
  /** `send(text)` and `stop()` are called; `send` returns false to keep the text. */
  constructor({ send, stop }) {
    this.area = byId('message');
    this.form = byId('composer');
    this.sendButton = byId('send');
    this.stopButton = byId('stop');
    this.submit = () => this.trySend(send);
    this.form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.submit();
    });
    this.area.addEventListener('keydown', (event) => this.onKey(event));
    this.area.addEventListener('input', () => this.fit());
    this.stopButton.addEventListener('click', stop);
    this.watchEffort();
  }

  watchEffort() {
    const effort = byId('effort');
    effort.value = settings().effort;
    effort.addEventListener('change', () => changeSettings({ effort: effort.value }));
  }

  trySend(send) {
    const text = this.area.value.trim();
    if (!text || this.answering || send(text) === false) return;
    this.area.value = '';
    this.fit();
  }

  onKey(event) {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.submit();
  }

  /** As high as its text, within what the style allows. */
  fit() {
    this.area.style.height = 'auto';
    this.area.style.height = `${this.area.scrollHeight}px`;
  }

  setAnswering(answering) {
    const hadFocus = [this.sendButton, this.stopButton].includes(document.activeElement);
    this.answering = answering;
    this.sendButton.hidden = answering;
    this.stopButton.hidden = !answering;
    if (hadFocus) this.focus();
  }

  focus() {
    // On a phone this would bring up the keyboard over the answer.
    if (matchMedia('(hover: hover)').matches) this.area.focus({ preventScroll: true });
  }
}

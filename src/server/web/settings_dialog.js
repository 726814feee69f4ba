// The dialog with the settings of the chat and the key of the server.

import { byId } from './dom.js';
import { changeSettings, settings } from './store.js';

export class SettingsDialog {
  /** `keyChanged` is called when another key has been given. */
  constructor(keyChanged) {
    this.dialog = byId('settings');
    this.keyChanged = keyChanged;
    byId('open-settings').addEventListener('click', () => this.open());
    this.dialog.addEventListener('close', () => this.keep());
    this.dialog.addEventListener('click', (event) => {
      if (event.target === this.dialog) this.dialog.close();  // Beside it.
    });
  }

  open() {
    const { system, temperature, maxTokens, apiKey } = settings();
    byId('system').value = system;
    byId('temperature').value = temperature ?? '';
    byId('max-tokens').value = maxTokens ?? '';
    byId('api-key').value = apiKey;
    byId('key-wanted').hidden = true;
    this.dialog.showModal();
  }

  /** The server refused `usedKey`. Asks once for each key. */
  wantKey(usedKey) {
    if (this.dialog.open || this.refused === usedKey) return;
    this.refused = usedKey;
    this.open();
    byId('key-wanted').textContent = usedKey
      ? 'The server does not accept this API key.'
      : 'This server asks for an API key. It is one of those that sluice serve was started with.';
    byId('key-wanted').hidden = false;
    byId('api-key').focus();
  }

  keep() {
    const before = settings().apiKey;
    changeSettings({
      system: byId('system').value,
      temperature: numberIn('temperature'),
      maxTokens: numberIn('max-tokens'),
      apiKey: byId('api-key').value.trim(),
    });
    if (settings().apiKey !== before) this.keyChanged();
  }
}

/** Nothing for an empty field, and for one that is out of its range. */
function numberIn(id) {
  const field = byId(id);
  return field.value === '' || !field.checkValidity() ? null : field.valueAsNumber;
}

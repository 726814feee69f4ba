// Starts the page: the chat and the live view, one of which is shown, by the address behind the #.

import { onKeyWanted } from './api.js';
import { Chat } from './chat.js';
import { byId, drawIcons } from './dom.js';
import { showFacts } from './facts.js';
import { LiveView } from './live.js';
import { SettingsDialog } from './settings_dialog.js';

drawIcons();
const chat = new Chat(showFacts);
const live = new LiveView();
const dialog = new SettingsDialog(() => {
  showFacts();
  live.refresh();
});
onKeyWanted((key) => dialog.wantKey(key));

function route() {
  const isLive = location.hash === '#/live';
  byId('chat').hidden = isLive;
  byId('live').hidden = !isLive;
  byId('menu').hidden = isLive;
  markTab('tab-chat', !isLive);
  markTab('tab-live', isLive);
  live.show(isLive);
  if (!isLive) chat.open(/^#\/c\/(\w+)$/.exec(location.hash)?.[1]);
  byId('tab-chat').href = isLive ? `#/c/${chat.current.id}` : location.hash || '#/';
}

function markTab(id, isCurrent) {
  if (isCurrent) byId(id).setAttribute('aria-current', 'page');
  else byId(id).removeAttribute('aria-current');
}

document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && !byId('settings').open && !byId('chat').hidden) chat.escape();
});
// The address must stay what it is.
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  byId('message').focus();
});
window.addEventListener('hashchange', route);
route();
showFacts();

// Conversations and settings, kept by the browser: one entry a conversation, so that two windows do
// not write over each other's.

const CONVERSATION = 'sluice.conversation.';
const SETTINGS = 'sluice.settings';
const DEFAULTS = { effort: 'low', system: '', temperature: null, maxTokens: null, apiKey: '' };

function read(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;  // Damaged, or storage is switched off.
  }
}

function write(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;  // Full, or switched off.
  }
}

export function newConversation() {
  return { id: newId(), title: '', messages: [], updated: Date.now() };
}

// crypto.randomUUID() exists only in pages from this computer or over TLS.
function newId() {
  const bytes = [...crypto.getRandomValues(new Uint8Array(8))];
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

export const newestFirst = (a, b) => b.updated - a.updated;

/** The newest first. */
export function loadConversations() {
  const found = [];
  for (const key of storedKeys()) {
    const conversation = key.startsWith(CONVERSATION) ? read(key) : null;
    if (Array.isArray(conversation?.messages)) found.push(conversation);
  }
  return found.sort(newestFirst);
}

function storedKeys() {
  try {
    return Object.keys(localStorage);
  } catch {
    return [];
  }
}

/** False when the browser has no room. */
export function saveConversation(conversation) {
  return write(CONVERSATION + conversation.id, conversation);
}

export function removeConversation(id) {
  try {
    localStorage.removeItem(CONVERSATION + id);
  } catch {
    // Nothing was kept.
  }
}

/** Calls back when another window has changed a conversation. */
export function onOtherWindow(callback) {
  window.addEventListener('storage', (event) => {
    if (event.key === null || event.key.startsWith(CONVERSATION)) callback();
  });
}

let current = { ...DEFAULTS, ...read(SETTINGS) };

export function settings() {
  return current;
}

export function changeSettings(changes) {
  current = { ...current, ...changes };
  write(SETTINGS, current);
}

/** What the list calls a conversation. */
export function titleOf(conversation) {
  if (conversation.title) return conversation.title;
  const first = conversation.messages.find((message) => message.role === 'user');
  return first ? first.content.trim().replace(/\s+/g, ' ').slice(0, 60) : 'New chat';
}

// The server's interfaces: JSON, and answers that come as server-sent events.

import { settings } from './store.js';

/** What the server answered instead of the thing asked for; status 0: it could not be reached. */
export class ApiError extends Error {
  constructor(status, message, retrySeconds = 0) {
    super(message);
    this.status = status;
    this.retrySeconds = retrySeconds;
  }
}

let whenKeyWanted = () => {};

/** Calls back when the server refuses a request for want of the right key. */
export function onKeyWanted(callback) {
  whenKeyWanted = callback;
}

async function request(path, options = {}) {
  const headers = { ...options.headers };
  const key = settings().apiKey;
  if (key) headers.Authorization = `Bearer ${key}`;
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, 'The server cannot be reached. Is sluice serve running?');
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (response.status === 401) whenKeyWanted(key);
  throw problem;
}

async function problemOf(response) {
  const retry = Number(response.headers.get('Retry-After')) || 0;
  try {
    const { error } = await response.json();
    return new ApiError(response.status, error.message, retry);
  } catch {
    return new ApiError(response.status, `The server answered ${response.status}.`, retry);
  }
}

export async function getJson(path) {
  return (await request(path)).json();
}

/** Streams a chat completion: yields {chunk} for each object and {comment} for each comment. */
export async function* streamChat(body, signal) {
  const response = await request('v1/chat/completions', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });
  for await (const line of lines(response.body)) {
    if (line.startsWith(':')) yield { comment: line.slice(1).trim() };
    if (!line.startsWith('data:')) continue;
    const data = line.slice(5).trim();
    if (data === '[DONE]') return;
    const chunk = JSON.parse(data);
    if (chunk.error) throw new ApiError(response.status, chunk.error.message);
    yield { chunk };
  }
  throw new ApiError(0, 'The connection ended before the answer did.');
}

async function* lines(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const parts = (rest + value).split('\n');
      rest = parts.pop();
      yield* parts;
    }
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, 'The connection was lost.');
  } finally {
    reader.cancel().catch(() => {});
  }
}

// One answer under way: asks the server, and fills the message as its parts arrive.

import { ApiError, streamChat } from './api.js';
import { settings } from './store.js';

export const isOpen = (message) => ['waiting', 'thinking', 'answering'].includes(message.state);

export function newAnswer() {
  return { role: 'assistant', content: '', reasoning: '', state: 'waiting' };
}

/** What the server is asked, for the conversation up to the message that is to be answered. */
function requestFor(messages) {
  const { effort, system, temperature, maxTokens } = settings();
  const body = {
    messages: messages.filter((message) => message.role === 'user' || message.content).map(sent),
    stream: true,
    stream_options: { include_usage: true },
    return_progress: true,
    reasoning_effort: effort,
  };
  if (system.trim()) body.messages.unshift({ role: 'system', content: system });
  if (temperature !== null) body.temperature = temperature;
  if (maxTokens !== null) body.max_tokens = maxTokens;
  return body;
}

// Reasoning goes back as it came, so that the server finds the conversation in memory.
function sent({ role, content, reasoning }) {
  return reasoning ? { role, content, reasoning_content: reasoning } : { role, content };
}

export class Answer {
  /** `changed` is called after each change of `message`. */
  constructor(message, changed) {
    this.message = message;
    this.changed = changed;
    this.abort = new AbortController();
    this.pieces = 0;
  }

  /** Ends when the answer has, in whichever way. */
  async run(messages) {
    this.started = performance.now();
    try {
      for await (const { chunk, comment } of streamChat(requestFor(messages), this.abort.signal)) {
        if (chunk) this.take(chunk);
        else this.takeComment(comment);
        this.changed();
      }
      this.end('done');
    } catch (error) {
      this.fail(error);
    }
    this.changed();
  }

  stop() {
    this.abort.abort();
  }

  /** Stops at once, for there will be no time to learn that it has. */
  leave() {
    this.stop();
    this.end('stopped');
  }

  take(chunk) {
    const { message } = this;
    if (chunk.prompt_progress) message.progress = chunk.prompt_progress;
    const choice = chunk.choices?.[0];
    const { content, reasoning_content: reasoning } = choice?.delta ?? {};
    if (reasoning) this.takeReasoning(reasoning);
    if (content) this.takeContent(content);
    if (choice?.finish_reason) message.finish = choice.finish_reason;
    if (chunk.usage) this.takeUsage(chunk.usage);
    if (chunk.timings) message.rate = chunk.timings.predicted_per_second;
  }

  takeReasoning(text) {
    this.takePiece('thinking');
    this.message.reasoning += text;
  }

  takeContent(text) {
    this.takePiece('answering');
    this.message.content += text;
  }

  takePiece(state) {
    const { message } = this;
    const now = performance.now();
    this.first ??= now;
    ++this.pieces;
    if (state === 'answering' && message.state === 'thinking') {
      message.thinkingSeconds = (now - this.first) / 1000;
    }
    message.state = state;
    // Until the server tells the exact number, a piece counts as a token.
    if (now > this.first) message.rate = (1000 * (this.pieces - 1)) / (now - this.first);
  }

  takeUsage(usage) {
    this.message.usage = {
      prompt: usage.prompt_tokens,
      cached: usage.prompt_tokens_details?.cached_tokens ?? 0,
      generated: usage.completion_tokens,
      reasoning: usage.completion_tokens_details?.reasoning_tokens ?? 0,
    };
  }

  /** While a request waits, comments tell how many are before it. */
  takeComment(comment) {
    const ahead = /(\d+) ahead/.exec(comment);
    if (ahead && !this.message.progress) this.message.ahead = Number(ahead[1]);
  }

  end(state) {
    const { message } = this;
    if (message.state === 'thinking') {
      message.thinkingSeconds = (performance.now() - this.first) / 1000;
    }
    message.seconds = (performance.now() - this.started) / 1000;
    message.state = state;
    delete message.progress;
    delete message.ahead;
  }

  fail(error) {
    if (this.abort.signal.aborted) {
      this.end('stopped');
      return;
    }
    if (!(error instanceof ApiError)) console.error(error);
    this.message.error = { text: error.message, retrySeconds: error.retrySeconds ?? 0 };
    this.end('failed');
  }
}

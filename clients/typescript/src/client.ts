// The test client: starts a terminal UI in the background, types, looks, waits, ends it.

import { setTimeout as pause } from 'node:timers/promises';

import { Background, freePort, withPort } from './background.js';
import { Door } from './door.js';
import { WheelhouseError } from './error.js';
import type {
  ClientState,
  DoneBody,
  HealthBody,
  HistoryEntry,
  MessageBody,
  MessagesBody,
  OutputBody,
  QuestionBody,
  QuestionsBody,
  ReceiptBody,
  ScreenBody,
  SendInputBody,
  SentBody,
  WaitBody,
} from './types.js';

/** An answer to a question: one of its options, perhaps with a reason, or a text. */
export type Answer = { option: string; text?: string } | { text: string; option?: never };

export interface StartOptions {
  /** The program to start; `wh` on the PATH when absent. */
  command?: string;
  /** Its arguments, without the port; `['space', 'connect']` when absent. The port goes before a `--`. */
  args?: readonly string[];
  /** The control port; 0 or none picks a free one. */
  port?: number;
  /** Variables beside those of this process. Undefined takes one away. */
  env?: Record<string, string | undefined>;
  cwd?: string;
  /** Milliseconds until it must answer; 10000 when absent. */
  timeout?: number;
  /** Callers must know this token; given to wh as `WH_CONTROL_TOKEN`. */
  token?: string;
  signal?: AbortSignal | undefined;
}

export type ConnectOptions = Pick<StartOptions, 'timeout' | 'token' | 'signal'>;

export interface CallOptions {
  /** Gives the call up. What it has asked for may happen all the same. */
  signal?: AbortSignal | undefined;
}

export interface CommandOptions extends CallOptions {
  /** Makes a retry safe: the same id again does nothing and gets the first answer. */
  requestId?: string;
}

export interface PatienceOptions extends CallOptions {
  /** Milliseconds. */
  timeout?: number;
}

export interface ScreenOptions extends CallOptions {
  /** Also the retained raw output. */
  history?: boolean;
  /** Also every cell with its looks. */
  cells?: boolean;
  /** This moment, without waiting for a complete frame. */
  now?: boolean;
}

export interface MessagesOptions extends CallOptions {
  limit?: number;
  kind?: string;
  from?: string;
  since?: string | Date;
}

/** How long the server gets to say that a wait is over, beyond the wait itself. */
const MARGIN = 10_000;

export class CLITestClient {
  #door: Door | null = null;
  #background: Background | null = null;
  #lastScreen: ScreenBody | null = null;

  /** Where the control plane is. */
  get url(): string {
    return this.#open().url;
  }

  /** The process id of what was started. */
  get pid(): number | undefined {
    return this.#background?.pid;
  }

  /** Starts it in the background, by default `wh space connect --control-port PORT`, and waits until it answers. */
  async start(options: number | StartOptions = {}): Promise<this> {
    if (this.#door) throw new WheelhouseError(null, 'Already started', { detail: `stop ${this.#door.url} first` });
    const { command = 'wh', args = ['space', 'connect'], port = 0, cwd, env, timeout, token, signal } =
      typeof options === 'number' ? { port: options } : options;
    signal?.throwIfAborted();
    const chosen = await freePort(port);
    const secret = token === undefined ? {} : { WH_CONTROL_TOKEN: token };
    this.#background = new Background(command, withPort(args, chosen), { cwd, env: { ...process.env, ...secret, ...env } });
    this.#door = new Door(`http://127.0.0.1:${chosen}`, token);
    try {
      await this.#ready(timeout, signal);
    } catch (error) {
      await this.stop();
      throw error;
    }
    return this;
  }

  /** Talks to one that already runs, at a port or a URL. `stop` then leaves it running. */
  async connect(target: number | string, options: ConnectOptions = {}): Promise<this> {
    if (this.#door) throw new WheelhouseError(null, 'Already started', { detail: `stop ${this.#door.url} first` });
    this.#door = new Door(typeof target === 'number' ? `http://127.0.0.1:${target}` : target, options.token);
    try {
      await this.#ready(options.timeout, options.signal);
    } catch (error) {
      await this.stop();
      throw error;
    }
    return this;
  }

  /** Ends what was started and waits for its end. Resolves to its exit code; null when a signal ended it or nothing ran. */
  async stop(timeout = 10_000): Promise<number | null> {
    this.#door?.close();
    const background = this.#background;
    this.#door = this.#background = this.#lastScreen = null;
    return background ? background.end(timeout) : null;
  }

  health(options: CallOptions = {}): Promise<HealthBody> {
    return this.#open().get('/control/health', options);
  }

  /** Types text, pastes, presses keys, uses the mouse: one command. */
  send(input: Omit<SendInputBody, 'request_id'>, options: CommandOptions = {}): Promise<SentBody> {
    return this.#command('/control/send_input', input, options);
  }

  sendText(text: string, options: CommandOptions = {}): Promise<SentBody> {
    return this.send({ text }, options);
  }

  /** Presses a key by name: `enter`, `ctrl+c`, `shift+tab`, …. */
  sendKey(key: string, options: CommandOptions = {}): Promise<SentBody> {
    return this.send({ key }, options);
  }

  /** The screen's text, a line a row. */
  async getScreen(options: CallOptions = {}): Promise<string> {
    return (await this.screen(options)).plain;
  }

  /** The screen with everything that is known about it. */
  async screen({ history, cells, now, signal }: ScreenOptions = {}): Promise<ScreenBody> {
    const query = { history: history ? 1 : undefined, format: cells ? 'cells' : undefined, now: now ? 1 : undefined };
    this.#lastScreen = await this.#open().get<ScreenBody>('/control/screen', { query, signal });
    return this.#lastScreen;
  }

  /** The screen as a picture: an SVG text or the bytes of a PNG. */
  screenshot(format: 'svg' | 'png' = 'png', options: CallOptions = {}): Promise<Buffer> {
    return this.#open().bytes(`/control/screenshot.${format}`, options);
  }

  getState(options: CallOptions = {}): Promise<ClientState> {
    return this.#open().get('/control/state', options);
  }

  messages({ since, signal, ...filters }: MessagesOptions = {}): Promise<MessagesBody> {
    const query = { ...filters, since: since instanceof Date ? since.toISOString() : since };
    return this.#open().get('/control/messages', { query, signal });
  }

  /** Looks until the screen has the text or matches the pattern; after 5 seconds throws with what is there instead. */
  async expectScreen(pattern: string | RegExp, { timeout = 5000, signal }: PatienceOptions = {}): Promise<void> {
    const end = Date.now() + timeout;
    for (;;) {
      const screen = await this.screen({ signal });
      if (matches(screen.plain, pattern)) return;
      const rest = end - Date.now();
      const changed = rest > 0 && (await this.#frameAfter(screen.frames_rendered, rest, signal));
      if (changed) continue;
      throw new WheelhouseError(null, 'Unexpected screen', {
        detail: `Screen does not match ${typeof pattern === 'string' ? JSON.stringify(pattern) : pattern}`,
        screen: screen.plain.trimEnd(),
      });
    }
  }

  /** Waits for a frame later than this one, and looks at it. */
  async waitForFrameChange(previousFrame: number, timeout = 2000, { signal }: CallOptions = {}): Promise<ScreenBody> {
    if (!(await this.#frameAfter(previousFrame, timeout, signal))) {
      throw new WheelhouseError(null, 'timeout', { detail: `Timed out waiting for new frame after ${previousFrame}` });
    }
    return this.screen({ signal });
  }

  /** The number of the last frame that was looked at; 0 before the first look. */
  getLastFrameCount(): number {
    return this.#lastScreen?.frames_rendered ?? 0;
  }

  /** Waits at the server until a condition holds, such as `screen_contains "ready" and screen_stable 300`. */
  waitFor(condition: string, timeout = 5000, { signal }: CallOptions = {}): Promise<WaitBody> {
    return this.#open().post('/control/wait', { body: { condition, timeout }, timeout: timeout + MARGIN, signal });
  }

  resize(width: number, height: number, options: CommandOptions = {}): Promise<SentBody> {
    return this.#command('/control/resize', { width, height }, options);
  }

  /** Sends a signal, `INT` or `TERM` for example, to the program, or to what runs in its foreground. */
  kill(signal: string, target: 'program' | 'foreground' = 'program', options: CommandOptions = {}): Promise<SentBody> {
    return this.#command('/control/signal', { signal, target }, options);
  }

  /** Names this moment, for those who watch and in the recording. */
  mark(label: string, options: CommandOptions = {}): Promise<SentBody> {
    return this.#command('/control/mark', { label }, options);
  }

  /** What waits for an answer. */
  async questions(options: CallOptions = {}): Promise<QuestionBody[]> {
    return (await this.#open().get<QuestionsBody>('/control/questions', options)).questions;
  }

  /** Answers a question by one of its options or by a text. */
  answer(id: string, { option, text }: Answer, options: CommandOptions = {}): Promise<DoneBody> {
    return this.#command('/control/answer', { id, option, text }, options);
  }

  /** Interrupts what runs now: everybody, or one participant. */
  interrupt({ participant, ...options }: CommandOptions & { participant?: string } = {}): Promise<DoneBody> {
    return this.#command('/control/interrupt', { participant }, options);
  }

  /** Gives a slash command, without touching what is typed. */
  command(command: string, options: CommandOptions = {}): Promise<DoneBody> {
    return this.#command('/control/command', { command }, options);
  }

  /** Says something in the chat, without touching what is typed. */
  message(message: string, options: CommandOptions = {}): Promise<MessageBody> {
    return this.#command('/message', { message }, options);
  }

  /** What became of a command, by its request id. */
  receipt(requestId: string, options: CallOptions = {}): Promise<ReceiptBody> {
    return this.#open().get<ReceiptBody>(`/control/receipts/${encodeURIComponent(requestId)}`, options);
  }

  /** A part of what a tool gave or of what was said, also of what is beyond what the item shows. */
  output(item: string, offset = 0, { signal }: CallOptions = {}): Promise<OutputBody> {
    return this.#open().get(`/control/items/${encodeURIComponent(item)}/output`, { query: { offset }, signal });
  }

  /** The chat, oldest first: all of it, or the last so many. */
  history(limit?: number, { signal }: CallOptions = {}): Promise<HistoryEntry[]> {
    return this.#open().get('/history', { query: { limit }, signal });
  }

  #open(): Door {
    if (!this.#door) throw new WheelhouseError(null, 'Not started', { detail: 'call start or connect first' });
    return this.#door;
  }

  #command<T>(path: string, body: object, { requestId, signal }: CommandOptions): Promise<T> {
    return this.#open().post(path, { body: { ...body, request_id: requestId }, signal });
  }

  async #ready(timeout = 10_000, signal?: AbortSignal): Promise<void> {
    const door = this.#open();
    const end = Date.now() + timeout;
    for (;;) {
      this.#background?.throwIfEnded();
      const rest = Math.max(end - Date.now(), 1);
      try {
        await door.get('/control/health', { timeout: rest, signal });
        return;
      } catch (cause) {
        // Nobody is there yet, or not ready. Any other answer will stay what it is.
        const soon = cause instanceof WheelhouseError && (cause.status === null || cause.status === 503);
        if (!soon) throw cause;
        if (Date.now() < end) {
          await pause(50, undefined, signal && { signal });
          continue;
        }
        throw new WheelhouseError(null, 'Not ready', { detail: `no control plane at ${door.url} within ${timeout} ms`, cause });
      }
    }
  }

  /** Whether a later frame came in time. A program that has ended draws none. */
  async #frameAfter(frame: number, timeout: number, signal?: AbortSignal): Promise<boolean> {
    try {
      await this.waitFor(`frames > ${frame}`, timeout, { signal });
      return true;
    } catch (error) {
      if (error instanceof WheelhouseError && (error.error === 'timeout' || error.error === 'exited')) return false;
      throw error;
    }
  }
}

export { CLITestClient as Wheelhouse };

function matches(screen: string, pattern: string | RegExp): boolean {
  // Not `test`, which for a global pattern goes on where it ended the last time.
  return typeof pattern === 'string' ? screen.includes(pattern) : screen.search(pattern) >= 0;
}

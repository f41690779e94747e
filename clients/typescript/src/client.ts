// Test client that starts and controls a terminal UI or program.

import { setTimeout as pause } from 'node:timers/promises';

import { Background, freePort, withPort } from './background.js';
import { ControlConnection } from './connection.js';
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

/** Answer to a question: an option with an optional reason, or free text. */
export type Answer = { option: string; text?: string } | { text: string; option?: never };

export interface StartOptions {
  /** Program to start. Default: `wh` on the PATH. */
  command?: string;
  /** Arguments without the port, which is added before a `--`. Default: `['space', 'connect']`. */
  args?: readonly string[];
  /** Control port. Default: 0, which selects a free port. */
  port?: number;
  /** Environment variables in addition to those of this process. Undefined removes a variable. */
  env?: Record<string, string | undefined>;
  cwd?: string;
  /** Time in milliseconds until the program must respond. Default: 10000. */
  timeout?: number;
  /** Token required from callers; passed to wh as `WH_CONTROL_TOKEN`. */
  token?: string;
  signal?: AbortSignal | undefined;
}

export type ConnectOptions = Pick<StartOptions, 'timeout' | 'token' | 'signal'>;

export interface CallOptions {
  /** Aborts the call. The request may still be executed. */
  signal?: AbortSignal | undefined;
}

export interface CommandOptions extends CallOptions {
  /** Idempotency key that makes a retry safe. A repeated request has no effect and gets the response of the first one. */
  requestId?: string;
}

export interface TimeoutOptions extends CallOptions {
  /** Timeout in milliseconds. */
  timeout?: number;
}

export interface ScreenOptions extends CallOptions {
  /** Includes the retained raw output. */
  history?: boolean;
  /** Includes every cell with its attributes. */
  cells?: boolean;
  /** Returns the current screen without waiting for a complete frame. */
  now?: boolean;
}

export interface MessagesOptions extends CallOptions {
  limit?: number;
  kind?: string;
  from?: string;
  since?: string | Date;
}

/** Time in milliseconds for the response to a wait, in addition to the wait itself. */
const WAIT_RESPONSE_TIMEOUT_MS = 10_000;

export class CLITestClient {
  #connection: ControlConnection | null = null;
  #background: Background | null = null;
  #lastScreen: ScreenBody | null = null;

  /** URL of the HTTP API. */
  get url(): string {
    return this.#open().url;
  }

  /** Process id, if this client started the program. */
  get pid(): number | undefined {
    return this.#background?.pid;
  }

  /** Starts the program in the background and waits until it responds. Default: `wh space connect --control-port PORT`. */
  async start(options: number | StartOptions = {}): Promise<this> {
    if (this.#connection) throw new WheelhouseError(null, 'Already started', { detail: `stop ${this.#connection.url} first` });
    const { command = 'wh', args = ['space', 'connect'], port = 0, cwd, env, timeout, token, signal } =
      typeof options === 'number' ? { port: options } : options;
    signal?.throwIfAborted();
    const chosen = await freePort(port);
    const secret = token === undefined ? {} : { WH_CONTROL_TOKEN: token };
    this.#background = new Background(command, withPort(args, chosen), { cwd, env: { ...process.env, ...secret, ...env } });
    this.#connection = new ControlConnection(`http://127.0.0.1:${chosen}`, token);
    try {
      await this.#ready(timeout, signal);
    } catch (error) {
      await this.stop();
      throw error;
    }
    return this;
  }

  /** Connects to a running program at a port or URL. `stop` then leaves it running. */
  async connect(target: number | string, options: ConnectOptions = {}): Promise<this> {
    if (this.#connection) throw new WheelhouseError(null, 'Already started', { detail: `stop ${this.#connection.url} first` });
    this.#connection = new ControlConnection(typeof target === 'number' ? `http://127.0.0.1:${target}` : target, options.token);
    try {
      await this.#ready(options.timeout, options.signal);
    } catch (error) {
      await this.stop();
      throw error;
    }
    return this;
  }

  /** Ends the started program. Resolves to its exit code; null if a signal ended it or no program was started. */
  async stop(timeout = 10_000): Promise<number | null> {
    this.#connection?.close();
    const background = this.#background;
    this.#connection = this.#background = this.#lastScreen = null;
    return background ? background.end(timeout) : null;
  }

  health(options: CallOptions = {}): Promise<HealthBody> {
    return this.#open().get('/control/health', options);
  }

  /** Sends text, a paste, keys and a mouse event as one command. */
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

  /** Returns the text of the screen, one line per row. */
  async getScreen(options: CallOptions = {}): Promise<string> {
    return (await this.screen(options)).plain;
  }

  /** Returns the screen with cursor, title, modes and hash. */
  async screen({ history, cells, now, signal }: ScreenOptions = {}): Promise<ScreenBody> {
    const query = { history: history ? 1 : undefined, format: cells ? 'cells' : undefined, now: now ? 1 : undefined };
    this.#lastScreen = await this.#open().get<ScreenBody>('/control/screen', { query, signal });
    return this.#lastScreen;
  }

  /** Returns an image of the screen: SVG text or PNG bytes. */
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

  /** Waits until the screen contains the text or matches the pattern. After the timeout, throws an error with the actual screen. */
  async expectScreen(pattern: string | RegExp, { timeout = 5000, signal }: TimeoutOptions = {}): Promise<void> {
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

  /** Waits for a frame after this one and returns the screen. */
  async waitForFrameChange(previousFrame: number, timeout = 2000, { signal }: CallOptions = {}): Promise<ScreenBody> {
    if (!(await this.#frameAfter(previousFrame, timeout, signal))) {
      throw new WheelhouseError(null, 'timeout', { detail: `Timed out waiting for new frame after ${previousFrame}` });
    }
    return this.screen({ signal });
  }

  /** Returns the number of the last frame read by this client; 0 before the first one. */
  getLastFrameCount(): number {
    return this.#lastScreen?.frames_rendered ?? 0;
  }

  /** Waits on the server until a condition holds, for example `screen_contains "ready" and screen_stable 300`. */
  waitFor(condition: string, timeout = 5000, { signal }: CallOptions = {}): Promise<WaitBody> {
    return this.#open().post('/control/wait', { body: { condition, timeout }, timeout: timeout + WAIT_RESPONSE_TIMEOUT_MS, signal });
  }

  resize(width: number, height: number, options: CommandOptions = {}): Promise<SentBody> {
    return this.#command('/control/resize', { width, height }, options);
  }

  /** Sends a signal, for example `INT` or `TERM`, to the program or to the terminal's foreground process group. */
  kill(signal: string, target: 'program' | 'foreground' = 'program', options: CommandOptions = {}): Promise<SentBody> {
    return this.#command('/control/signal', { signal, target }, options);
  }

  /** Sets a mark with this label in the event stream and the recording. */
  mark(label: string, options: CommandOptions = {}): Promise<SentBody> {
    return this.#command('/control/mark', { label }, options);
  }

  /** Returns the open questions. */
  async questions(options: CallOptions = {}): Promise<QuestionBody[]> {
    return (await this.#open().get<QuestionsBody>('/control/questions', options)).questions;
  }

  /** Answers a question with an option or with text. */
  answer(id: string, { option, text }: Answer, options: CommandOptions = {}): Promise<DoneBody> {
    return this.#command('/control/answer', { id, option, text }, options);
  }

  /** Interrupts all working participants, or a single one. */
  interrupt({ participant, ...options }: CommandOptions & { participant?: string } = {}): Promise<DoneBody> {
    return this.#command('/control/interrupt', { participant }, options);
  }

  /** Runs a slash command without changing the text being composed. */
  command(command: string, options: CommandOptions = {}): Promise<DoneBody> {
    return this.#command('/control/command', { command }, options);
  }

  /** Sends a chat message without changing the text being composed. */
  message(message: string, options: CommandOptions = {}): Promise<MessageBody> {
    return this.#command('/message', { message }, options);
  }

  /** Returns the receipt of a command. */
  receipt(requestId: string, options: CallOptions = {}): Promise<ReceiptBody> {
    return this.#open().get<ReceiptBody>(`/control/receipts/${encodeURIComponent(requestId)}`, options);
  }

  /** Returns one part of an item's text or tool output, including parts that the item omits. */
  output(item: string, offset = 0, { signal }: CallOptions = {}): Promise<OutputBody> {
    return this.#open().get(`/control/items/${encodeURIComponent(item)}/output`, { query: { offset }, signal });
  }

  /** Returns the chat history, oldest first: all messages, or the last `limit` ones. */
  history(limit?: number, { signal }: CallOptions = {}): Promise<HistoryEntry[]> {
    return this.#open().get('/history', { query: { limit }, signal });
  }

  #open(): ControlConnection {
    if (!this.#connection) throw new WheelhouseError(null, 'Not started', { detail: 'call start or connect first' });
    return this.#connection;
  }

  #command<T>(path: string, body: object, { requestId, signal }: CommandOptions): Promise<T> {
    return this.#open().post(path, { body: { ...body, request_id: requestId }, signal });
  }

  async #ready(timeout = 10_000, signal?: AbortSignal): Promise<void> {
    const connection = this.#open();
    const end = Date.now() + timeout;
    for (;;) {
      this.#background?.throwIfEnded();
      const rest = Math.max(end - Date.now(), 1);
      try {
        await connection.get('/control/health', { timeout: rest, signal });
        return;
      } catch (cause) {
        // The server is not started or not ready yet. Any other error is permanent.
        const soon = cause instanceof WheelhouseError && (cause.status === null || cause.status === 503);
        if (!soon) throw cause;
        if (Date.now() < end) {
          await pause(50, undefined, signal && { signal });
          continue;
        }
        throw new WheelhouseError(null, 'Not ready', { detail: `no response from ${connection.url} within ${timeout} ms`, cause });
      }
    }
  }

  /** Returns true if a later frame arrived in time. A program that has ended draws none. */
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
  // `test` is not used because it continues after the last match of a global pattern.
  return typeof pattern === 'string' ? screen.includes(pattern) : screen.search(pattern) >= 0;
}

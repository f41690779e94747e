// HTTP connection to one control port. Uses `node:http` instead of `fetch` for two reasons. `fetch` limits the response
// time to less than the hour that a wait may take. Test environments that emulate a browser replace `fetch` by an
// implementation whose requests the server rejects.

import { Agent, request } from 'node:http';

import { WheelhouseError } from './error.js';
import type { ErrorBody, WaitBody } from './types.js';

export interface Call {
  body?: object;
  query?: Record<string, string | number | undefined>;
  /** Timeout of the call in milliseconds. */
  timeout?: number;
  signal?: AbortSignal | undefined;
}

/** Timeout in milliseconds for a call that does not wait for a condition. */
const CALL_TIMEOUT_MS = 30_000;

export class ControlConnection {
  readonly url: string;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #token: string | undefined;

  constructor(url: string, token?: string) {
    this.url = url.replace(/\/+$/, '');
    this.#token = token;
  }

  get<T>(path: string, call: Call = {}): Promise<T> {
    return this.#json('GET', path, call);
  }

  post<T>(path: string, call: Call): Promise<T> {
    return this.#json('POST', path, call);
  }

  /** Requests a response that is not JSON. */
  async bytes(path: string, call: Call = {}): Promise<Buffer> {
    const [status, body] = await this.#send('GET', path, call);
    if (status !== 200) throw errorFrom(status, body);
    return body;
  }

  /** Closes idle connections. */
  close(): void {
    this.#agent.destroy();
  }

  async #json<T>(method: string, path: string, call: Call): Promise<T> {
    const [status, body] = await this.#send(method, path, call);
    if (status < 200 || status > 299) throw errorFrom(status, body);
    try {
      return JSON.parse(body.toString()) as T;
    } catch (cause) {
      throw new WheelhouseError(status, 'Not JSON', { detail: `${method} ${this.url}${path}`, cause });
    }
  }

  async #send(method: string, path: string, call: Call): Promise<[number, Buffer]> {
    call.signal?.throwIfAborted();
    const url = new URL(this.url + path);
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const body = call.body && JSON.stringify(call.body);
    const headers: Record<string, string> = {};
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    if (this.#token !== undefined) headers['Authorization'] = `Bearer ${this.#token}`;
    const timeout = call.timeout ?? CALL_TIMEOUT_MS;
    const late = AbortSignal.timeout(timeout);
    const signal = call.signal ? AbortSignal.any([call.signal, late]) : late;
    try {
      return await new Promise((resolve, reject) => {
        const asked = request(url, { method, headers, agent: this.#agent, signal }, (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.on('end', () => resolve([answer.statusCode ?? 0, Buffer.concat(chunks)]));
          answer.on('error', reject);
        });
        asked.on('error', reject);
        asked.end(body);
      });
    } catch (cause) {
      call.signal?.throwIfAborted();
      const detail = late.aborted
        ? `no response within ${timeout} ms from ${method} ${url.href}`
        : `no response from ${method} ${url.href}: ${reason(cause)}`;
      throw new WheelhouseError(null, 'Unreachable', { detail, cause });
    }
  }
}

function errorFrom(status: number, body: Buffer): WheelhouseError {
  const text = body.toString();
  try {
    const { error, detail, position, screen } = JSON.parse(text) as Partial<ErrorBody & Pick<WaitBody, 'screen'>>;
    if (typeof error === 'string') return new WheelhouseError(status, error, { detail, position, screen: screen?.join('\n') });
  } catch {
    // Not an error body of wh. The text is shown unchanged.
  }
  return new WheelhouseError(status, 'Refused', { detail: text });
}

function reason(cause: unknown): string {
  if (cause instanceof AggregateError) return cause.errors.map(reason).join(', ');
  return cause instanceof Error ? cause.message : String(cause);
}

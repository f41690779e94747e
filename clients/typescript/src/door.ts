// The way to one control plane. `node:http` and not `fetch`: a wait may take an hour, which `fetch` does not let a
// caller have, and a test environment that plays a browser puts a `fetch` of its own in the place of Node's, which the
// control plane turns away.

import { Agent, request } from 'node:http';

import { WheelhouseError } from './error.js';
import type { ErrorBody, WaitBody } from './types.js';

export interface Call {
  body?: object;
  query?: Record<string, string | number | undefined>;
  /** Milliseconds for the whole of it. */
  timeout?: number;
  signal?: AbortSignal | undefined;
}

/** How long an answer may take that waits for nothing. */
const PATIENCE = 30_000;

export class Door {
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

  /** An answer that is not JSON. */
  async bytes(path: string, call: Call = {}): Promise<Buffer> {
    const [status, body] = await this.#send('GET', path, call);
    if (status !== 200) throw refusal(status, body);
    return body;
  }

  /** Lets go of connections that are kept for the next call. */
  close(): void {
    this.#agent.destroy();
  }

  async #json<T>(method: string, path: string, call: Call): Promise<T> {
    const [status, body] = await this.#send(method, path, call);
    if (status < 200 || status > 299) throw refusal(status, body);
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
    const patience = call.timeout ?? PATIENCE;
    const late = AbortSignal.timeout(patience);
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
        ? `no answer within ${patience} ms from ${method} ${url.href}`
        : `no answer from ${method} ${url.href}: ${reason(cause)}`;
      throw new WheelhouseError(null, 'Unreachable', { detail, cause });
    }
  }
}

function refusal(status: number, body: Buffer): WheelhouseError {
  const text = body.toString();
  try {
    const { error, detail, position, screen } = JSON.parse(text) as Partial<ErrorBody & Pick<WaitBody, 'screen'>>;
    if (typeof error === 'string') return new WheelhouseError(status, error, { detail, position, screen: screen?.join('\n') });
  } catch {
    // Not wh's own words: they are shown as they came.
  }
  return new WheelhouseError(status, 'Refused', { detail: text });
}

function reason(cause: unknown): string {
  if (cause instanceof AggregateError) return cause.errors.map(reason).join(', ');
  return cause instanceof Error ? cause.message : String(cause);
}

// Background process of wh: start, supervision and end.

import { spawn, type ChildProcess } from 'node:child_process';
import { createServer } from 'node:net';

import { WheelhouseError } from './error.js';

export interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Running processes. They are ended on exit, so that a test that forgets `stop` neither hangs nor leaves them running. */
const running = new Set<ChildProcess>();
process.on('exit', () => running.forEach((child) => child.kill('SIGTERM')));

export class Background {
  readonly #child: ChildProcess;
  readonly #line: string;
  readonly #ended: Promise<Ending | Error>;
  #ending: Ending | Error | null = null;

  constructor(command: string, args: string[], options: { cwd?: string | undefined; env: NodeJS.ProcessEnv }) {
    this.#line = [command, ...args].join(' ');
    this.#child = spawn(command, args, { ...options, detached: true, stdio: 'ignore' });
    this.#ended = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => resolve({ code, signal }));
      this.#child.once('error', (error) => {
        // The error event is also emitted if a signal cannot be sent. The process is then still running.
        if (this.#child.pid === undefined) resolve(error);
      });
    });
    void this.#ended.then((ending) => {
      this.#ending = ending;
      running.delete(this.#child);
    });
    running.add(this.#child);
    this.#child.unref();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Throws if the process has ended, because it must not end by itself. */
  throwIfEnded(): void {
    const ending = this.#ending;
    if (ending === null) return;
    if (ending instanceof Error) {
      throw new WheelhouseError(null, 'Not started', { detail: `cannot run ${this.#line}: ${ending.message}`, cause: ending });
    }
    const how = ending.signal ? `by ${ending.signal}` : `with code ${ending.code}`;
    throw new WheelhouseError(null, 'Not started', { detail: `the program ended ${how}; to see why, run ${this.#line}` });
  }

  /** Ends the process with SIGTERM, or with SIGKILL after the timeout. Returns the exit code; null if a signal ended it. */
  async end(timeout: number): Promise<number | null> {
    this.#child.ref();
    this.#child.kill('SIGTERM');
    const force = setTimeout(() => this.#child.kill('SIGKILL'), timeout);
    const ending = await this.#ended;
    clearTimeout(force);
    return ending instanceof Error ? null : ending.code;
  }
}

/** Returns the port, or a free one for 0. Throws if the port is in use, because its owner would respond instead of wh. */
export function freePort(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (cause) => {
      const detail = `port ${port} is in use or not permitted; choose another, or 0 for a free one`;
      reject(new WheelhouseError(null, 'Not started', { detail, cause }));
    });
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : port));
    });
  });
}

/** Adds the port to the arguments of wh, before a `--` that separates the program's arguments. */
export function withPort(args: readonly string[], port: number): string[] {
  const end = args.indexOf('--');
  const own = end < 0 ? args.length : end;
  return [...args.slice(0, own), '--control-port', String(port), ...args.slice(own)];
}

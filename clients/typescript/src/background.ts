// A wh in the background: started, watched until it ends, ended.

import { spawn, type ChildProcess } from 'node:child_process';
import { createServer } from 'node:net';

import { WheelhouseError } from './error.js';

export interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Those that run. A test that forgets to stop one neither hangs nor leaves it behind. */
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
        // Also emitted when a signal cannot be sent, which ends nothing.
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

  /** Throws when it is gone: it was not to end by itself. */
  throwIfEnded(): void {
    const ending = this.#ending;
    if (ending === null) return;
    if (ending instanceof Error) {
      throw new WheelhouseError(null, 'Not started', { detail: `cannot run ${this.#line}: ${ending.message}`, cause: ending });
    }
    const how = ending.signal ? `by ${ending.signal}` : `with code ${ending.code}`;
    throw new WheelhouseError(null, 'Not started', { detail: `it ended ${how}; to see why, run ${this.#line}` });
  }

  /** Asks it to end and waits; ends it by force when it has not by then. The exit code; null if a signal ended it. */
  async end(timeout: number): Promise<number | null> {
    this.#child.ref();
    this.#child.kill('SIGTERM');
    const force = setTimeout(() => this.#child.kill('SIGKILL'), timeout);
    const ending = await this.#ended;
    clearTimeout(force);
    return ending instanceof Error ? null : ending.code;
  }
}

/** The port itself, or for 0 one that is free now. Throws when it is in use: its owner would answer in wh's place. */
export function freePort(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (cause) => {
      const detail = `port ${port} is in use or may not be used; choose another, or 0 for a free one`;
      reject(new WheelhouseError(null, 'Not started', { detail, cause }));
    });
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : port));
    });
  });
}

/** The arguments with the port among wh's own: before a `--`, after which they are the program's. */
export function withPort(args: readonly string[], port: number): string[] {
  const end = args.indexOf('--');
  const own = end < 0 ? args.length : end;
  return [...args.slice(0, own), '--control-port', String(port), ...args.slice(own)];
}

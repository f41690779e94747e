// Shared by the tests: the binary under test and how to start it.

import { CLITestClient } from 'wheelhouse-client';

export const WH = process.env.WH_BIN ?? 'wh';

/** Timeout in milliseconds. It is long because machines are shared, and only reached on failure. */
export const PATIENCE = 60_000;

export const SHELL = {
  command: WH,
  args: ['run', '--headless', '--size', '80x24', '--env', 'PS1=$ ', '--', 'bash', '--norc'],
  timeout: PATIENCE,
};

/** Starts a shell that is stopped at the end of the test. */
export async function shell(context, options = {}) {
  const cli = new CLITestClient();
  context.after(() => cli.stop());
  await cli.start({ ...SHELL, ...options });
  await cli.expectScreen('$', { timeout: PATIENCE });
  return cli;
}

/** Returns true while a process exists. */
export function running(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

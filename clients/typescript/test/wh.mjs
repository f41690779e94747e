// What the tests share: the binary under test, and how each of them starts it.

import { CLITestClient } from 'wheelhouse-client';

export const WH = process.env.WH_BIN ?? 'wh';

/** Generous, because machines are shared: it is spent only on failure. */
export const PATIENCE = 60_000;

export const SHELL = {
  command: WH,
  args: ['run', '--headless', '--size', '80x24', '--env', 'PS1=$ ', '--', 'bash', '--norc'],
  timeout: PATIENCE,
};

/** A shell under control, gone when the test is. */
export async function shell(context, options = {}) {
  const cli = new CLITestClient();
  context.after(() => cli.stop());
  await cli.start({ ...SHELL, ...options });
  await cli.expectScreen('$', { timeout: PATIENCE });
  return cli;
}

/** True while a process is there. */
export function running(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

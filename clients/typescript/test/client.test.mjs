// The client with a real wh that runs a shell.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';

import { CLITestClient, Wheelhouse, WheelhouseError } from 'wheelhouse-client';

import { PATIENCE, SHELL, WH, running, shell } from './wh.mjs';

const failure = (expected) => (error) => {
  assert.ok(error instanceof WheelhouseError, error);
  for (const [name, value] of Object.entries(expected)) {
    if (value instanceof RegExp) assert.match(String(error[name]), value);
    else assert.equal(error[name], value);
  }
  return true;
};

test('both names are the same client', () => {
  assert.equal(Wheelhouse, CLITestClient);
});

test('what is typed is on the screen', async (context) => {
  const cli = await shell(context);
  const sent = await cli.sendText('echo $((40 + 2))');
  assert.deepEqual(sent, { ok: true, injected: 'echo $((40 + 2))', delivered: true, duplicate: false });
  await cli.sendKey('enter');
  await cli.expectScreen(/^42$/m, { timeout: PATIENCE });
  await cli.expectScreen('echo $((40 + 2))');
  assert.match(await cli.getScreen(), /^42$/m);
});

test('a later frame is waited for, and counted', async (context) => {
  const cli = await shell(context);
  const before = cli.getLastFrameCount();
  assert.ok(before > 0);
  await cli.sendText('x');
  const screen = await cli.waitForFrameChange(before, PATIENCE);
  assert.ok(screen.frames_rendered > before);
  assert.equal(cli.getLastFrameCount(), screen.frames_rendered);
  await cli.waitFor('screen_contains "$ x" and screen_stable 200', PATIENCE);
  const { frames_rendered: last } = await cli.screen();
  await assert.rejects(cli.waitForFrameChange(last, 50), failure({ error: 'timeout', message: /Timed out waiting for new frame/ }));
});

test('a failed expectation reports the actual screen', async (context) => {
  const cli = await shell(context);
  await cli.send({ text: 'echo here I am', key: 'enter' });
  await cli.expectScreen(/^here I am$/m, { timeout: PATIENCE });
  const expected = { error: 'Unexpected screen', message: /Screen does not match "elsewhere"\n\nActual:\n[^]*here I am/, screen: /here I am/ };
  await assert.rejects(cli.expectScreen('elsewhere', { timeout: 100 }), failure(expected));
  const global = /here/g;
  await cli.expectScreen(global);
  await cli.expectScreen(global);
});

test('an expectation waits for what comes late', async (context) => {
  const cli = await shell(context);
  await cli.send({ text: 'read -rp "wha""t? " line; echo "got $line"', key: 'enter' });
  // Input typed before the shell releases the terminal is not read by `read`.
  await cli.waitFor('screen_contains "what?"', PATIENCE);
  const seen = cli.expectScreen(/^got it$/m, { timeout: PATIENCE });
  await cli.send({ text: 'it', key: 'enter' });
  await seen;
});

test('a condition is waited for at the server', async (context) => {
  const cli = await shell(context);
  await cli.send({ text: 'echo do""ne', key: 'enter' });
  const waited = await cli.waitFor('screen_matches /^done$/m and screen_stable 100', PATIENCE);
  assert.ok(waited.ok && waited.matched && waited.elapsed >= 0);
  await assert.rejects(
    cli.waitFor('screen_contains "never"', 50),
    failure({ status: 408, error: 'timeout', screen: /done/, message: /Actual:\n[^]*done/ }),
  );
  await assert.rejects(cli.waitFor('screen_contins "x"'), failure({ status: 400, error: 'Invalid condition', position: 0 }));
});

test('a retry with the same id is typed once', async (context) => {
  const cli = await shell(context);
  const answers = await Promise.all(Array.from({ length: 10 }, () => cli.sendText('once.', { requestId: 'r1' })));
  assert.equal(answers.filter((answer) => !answer.duplicate).length, 1);
  assert.ok(answers.every((answer) => answer.request_id === 'r1'));
  await cli.expectScreen('$ once.', { timeout: PATIENCE });
  assert.doesNotMatch(await cli.getScreen(), /once\.once/);
  await assert.rejects(cli.resize(90, 30, { requestId: 'r1' }), failure({ status: 409, error: 'Request id reused' }));
});

test('an error response has a status and a description', async (context) => {
  const cli = await shell(context);
  await assert.rejects(cli.sendKey('entr'), failure({ status: 400, error: 'Invalid key name', detail: /did you mean "enter"/ }));
  await assert.rejects(cli.sendText(''), failure({ status: 400, error: 'Missing text or key' }));
});

test('the screen comes with its cells, its history and as pictures', async (context) => {
  const cli = await shell(context);
  const screen = await cli.screen({ cells: true, history: true, now: true });
  assert.deepEqual([screen.width, screen.height, screen.lines.length], [80, 24, 24]);
  assert.equal(screen.cells[0][0].text, '$');
  assert.match(screen.scrollback.raw, /\$ /);
  assert.equal((await cli.screen()).cells, undefined);
  assert.equal((await cli.screenshot('png')).subarray(1, 4).toString(), 'PNG');
  assert.match((await cli.screenshot('svg')).toString(), /^<svg/);
});

test('the state and the messages of a program without a conversation', async (context) => {
  const cli = await shell(context);
  const state = await cli.getState();
  assert.deepEqual([state.messages, state.pauseState, state.session.status], [[], null, 'running']);
  assert.equal(state.ui.terminalWidth, 80);
  const messages = await cli.messages({ limit: 5, kind: 'chat', from: 'human', since: new Date(0) });
  assert.deepEqual(messages, { messages: [], total: 0, filtered: 0 });
  assert.equal((await cli.health()).ok, true);
});

test('the size, a mark, and a signal that ends the program', async (context) => {
  const cli = await shell(context, { args: ['run', '--headless', '--linger', '60', '--', 'sh', '-c', 'echo \\$; exec cat'] });
  await cli.resize(100, 30);
  await cli.mark('resized');
  assert.equal((await cli.screen()).width, 100);
  await cli.kill('TERM');
  await cli.waitFor('exited', PATIENCE);
  assert.deepEqual((await cli.getState()).session.exit, { code: 143, signal: 15 });
  await assert.rejects(cli.waitFor('screen_contains "more"'), failure({ status: 409, error: 'exited' }));
  await assert.rejects(cli.expectScreen('more'), failure({ error: 'Unexpected screen' }));
  await assert.rejects(cli.sendText('more'), failure({ status: 409, error: 'Program has ended' }));
});

test('the end of a program that was just typed to can be waited for', async (context) => {
  const cli = await shell(context, { args: ['run', '--headless', '--', 'sh', '-c', 'echo \\$; read x'] });
  await cli.sendKey('enter');
  assert.equal((await cli.waitFor('exited', PATIENCE)).matched, true);
});

test('a call can be aborted', async (context) => {
  const cli = await shell(context);
  const reason = new Error('enough');
  const waiting = new AbortController();
  const wait = cli.waitFor('screen_contains "never"', PATIENCE, { signal: waiting.signal });
  const expectation = cli.expectScreen('never', { timeout: PATIENCE, signal: waiting.signal });
  waiting.abort(reason);
  for (const call of [wait, expectation, cli.getState({ signal: waiting.signal })]) {
    await assert.rejects(call, (error) => error === reason);
  }
});

test('stop ends the program and frees the port', async () => {
  const cli = new CLITestClient();
  await cli.start(SHELL);
  const { pid, url } = cli;
  assert.ok(running(pid));
  assert.equal(typeof (await cli.stop()), 'number');
  assert.ok(!running(pid));
  assert.equal(await cli.stop(), null);
  assert.throws(() => cli.url, failure({ error: 'Not started' }));
  const port = Number(new URL(url).port);
  await cli.start({ ...SHELL, port });
  assert.equal(cli.url, url);
  await cli.stop();
});

test('a port alone starts a space on it, with the wh of the PATH', async (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'wheelhouse-client-'));
  context.after(() => rmSync(directory, { recursive: true }));
  // Replaces wh, because this test does not need `space connect`.
  const { PATH } = process.env;
  const script = `#!/bin/sh
echo "$@" > '${directory}/asked'
PATH='${PATH}'
exec '${WH}' run --headless "$3" "$4" -- cat
`;
  writeFileSync(join(directory, 'wh'), script, { mode: 0o755 });
  process.env.PATH = [directory, PATH].join(delimiter);
  context.after(() => (process.env.PATH = PATH));
  const cli = new CLITestClient();
  context.after(() => cli.stop());

  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address();
  taken.close();
  await once(taken, 'close');
  await cli.start(port);
  assert.equal(cli.url, `http://127.0.0.1:${port}`);
  assert.equal(readFileSync(join(directory, 'asked'), 'utf8'), `space connect --control-port ${port}\n`);
});

test('a running program is connected to and left running', async (context) => {
  const cli = await shell(context, { token: 'a-secret' });
  await assert.rejects(new CLITestClient().connect(cli.url), failure({ status: 401, error: 'Unauthorized' }));
  const second = await new CLITestClient().connect(cli.url, { token: 'a-secret' });
  await second.sendText('from the second');
  await cli.expectScreen('from the second', { timeout: PATIENCE });
  await assert.rejects(second.start(SHELL), failure({ error: 'Already started' }));
  assert.equal(await second.stop(), null);
  assert.equal((await cli.health()).ok, true);
});

test('a start that fails says why', async (context) => {
  const cli = new CLITestClient();
  const start = (options) => cli.start({ ...SHELL, ...options });
  await assert.rejects(start({ command: '/no/such/wh' }), failure({ error: 'Not started', detail: /cannot run \/no\/such\/wh .*ENOENT/ }));
  await assert.rejects(start({ args: ['run', '--no-such-flag'] }), failure({ error: 'Not started', detail: /with code 2; .* --control-port/ }));

  const taken = createServer().listen(0, '127.0.0.1');
  context.after(() => taken.close());
  await once(taken, 'listening');
  const { port } = taken.address();
  await assert.rejects(start({ port }), failure({ error: 'Not started', detail: new RegExp(`port ${port} is in use`) }));
  await assert.rejects(new CLITestClient().connect(1, { timeout: 100 }), failure({ status: null, error: 'Not ready' }));

  const early = new AbortController();
  early.abort();
  await assert.rejects(start({ signal: early.signal }), { name: 'AbortError' });
});

test('a program that is not stopped neither blocks the exit nor stays behind', () => {
  const script = `
    import { CLITestClient } from 'wheelhouse-client';
    const cli = await new CLITestClient().start(${JSON.stringify({ ...SHELL })});
    console.log(JSON.stringify((await cli.getState()).session.pid), cli.url);`;
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', timeout: PATIENCE });
  assert.equal(child.status, 0, child.stderr);
  const url = child.stdout.trim().split(' ')[1];
  // wh needs a moment to end its program. Then the port is free.
  return gone(url);
});

async function gone(url) {
  const end = Date.now() + PATIENCE;
  // A fetch whose connection is closed early may neither keep Node running nor return.
  const alive = setInterval(() => {}, 1000);
  try {
    while (Date.now() < end) {
      try {
        await (await fetch(`${url}/control/health`, { signal: AbortSignal.timeout(5000) })).text();
      } catch (error) {
        if (error.name !== 'TimeoutError') return;
      }
    }
  } finally {
    clearInterval(alive);
  }
  assert.fail(`${url} still answers`);
}

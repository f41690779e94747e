// Examples of the control plane contract, with the client and the terminal UI of a space.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

import { CLITestClient } from 'wheelhouse-client';

import { PATIENCE, WH } from './wh.mjs';

const present = spawnSync(WH, ['space', 'connect', '--help']).status === 0;
const skip = !present && 'this wh has no `space connect`';
if (skip) console.error(`SKIPPED: space.test.mjs because ${skip}`);

const SPACE = { command: WH, timeout: PATIENCE };

function space(context) {
  const cli = new CLITestClient();
  context.after(() => cli.stop());
  return cli;
}

test('example 4: a message is sent and seen', { skip }, async (context) => {
  const cli = space(context);
  await cli.start(SPACE);

  await cli.sendText('hello');
  await cli.sendKey('enter');
  await cli.waitForFrameChange(cli.getLastFrameCount());
  await cli.expectScreen(/◆.*hello/);

  await cli.stop();
});

test('the agent test workflow', { skip }, async (context) => {
  const cli = space(context);

  // 1. Start CLI
  await cli.start(SPACE);

  // 2. Send various inputs
  await cli.sendText('/help');
  await cli.sendKey('enter');

  // 3. Verify help displayed
  await cli.expectScreen('Available Commands');

  // 4. Test slash commands
  await cli.sendText('/participants');
  await cli.sendKey('enter');
  await cli.expectScreen(/human|agent|mew/);

  // 5. Test chat
  await cli.sendText('hello world');
  await cli.sendKey('enter');
  await cli.expectScreen('hello world');

  // 6. Verify state
  const state = await cli.getState();
  assert(state.messages.length > 0);

  // 7. Cleanup
  await cli.stop();
});

test('a message sent over HTTP is in the history and on the screen', { skip }, async (context) => {
  const cli = space(context);
  await cli.start(SPACE);
  await cli.sendText('a draft');
  await cli.message('list files', { requestId: 'm1' });
  await cli.message('list files', { requestId: 'm1' });
  await cli.expectScreen('list files');
  await cli.expectScreen('a draft');
  const history = await cli.history();
  assert.equal(history.filter(({ role, text }) => role === 'user' && text === 'list files').length, 1);
  assert.equal((await cli.history(1)).length, 1);
});

test('questions, an interrupt and a command', { skip }, async (context) => {
  const cli = space(context);
  await cli.start(SPACE);
  assert.deepEqual(await cli.questions(), []);
  await assert.rejects(cli.answer('no-such-question', { text: 'yes' }), { name: 'WheelhouseError', status: 404 });
  await cli.command('/help');
  await cli.expectScreen('Available Commands');
  await assert.rejects(cli.interrupt(), { name: 'WheelhouseError', status: 409 });
  await cli.message('/demo ask', { requestId: 'asked' });
  await cli.waitFor('not no_pending_operations');
  const [question] = await cli.questions();
  await cli.answer(question.id, { option: question.options[0].id });
  await cli.waitFor('no_pending_operations');
  assert.ok(['started', 'finished'].includes((await cli.receipt('asked')).stage));
});

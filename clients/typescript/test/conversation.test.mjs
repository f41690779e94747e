// Requests of the client and its handling of rare responses, with a scripted server.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';

import { CLITestClient } from 'wheelhouse-client';

import { PATIENCE } from './wh.mjs';

/** Returns a client and its requests. `answers` lists statuses and bodies by path; the last one is repeated. */
async function talk(context, answers) {
  const asked = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    asked.push([request.method, request.url, body && JSON.parse(body)]);
    const [path] = request.url.split('?');
    const known = answers[path] ?? [[200, {}]];
    const [status, answer] = known.length > 1 ? known.shift() : known[0];
    response.writeHead(status).end(typeof answer === 'string' ? answer : JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cli = await new CLITestClient().connect(server.address().port, { timeout: PATIENCE });
  context.after(async () => {
    await cli.stop();
    server.close();
  });
  return { cli, asked };
}

test('the calls of a conversation', async (context) => {
  const { cli, asked } = await talk(context, {
    '/control/questions': [[200, { questions: [{ id: 'q1', options: [{ id: 'allow' }] }] }]],
    '/history': [[200, [{ role: 'user', text: 'hi' }]]],
    '/message': [[200, { status: 'Message submitted', request_id: 'r3' }]],
  });
  asked.length = 0;
  assert.deepEqual(await cli.questions(), [{ id: 'q1', options: [{ id: 'allow' }] }]);
  await cli.answer('q1', { option: 'allow' }, { requestId: 'r1' });
  await cli.answer('q2', { text: 'blue' });
  await cli.interrupt();
  await cli.interrupt({ participant: 'demo', requestId: 'r2' });
  await cli.command('/help');
  assert.equal((await cli.message('hi', { requestId: 'r3' })).status, 'Message submitted');
  assert.deepEqual(await cli.history(), [{ role: 'user', text: 'hi' }]);
  await cli.history(10);
  assert.deepEqual(asked, [
    ['GET', '/control/questions', ''],
    ['POST', '/control/answer', { id: 'q1', option: 'allow', request_id: 'r1' }],
    ['POST', '/control/answer', { id: 'q2', text: 'blue' }],
    ['POST', '/control/interrupt', {}],
    ['POST', '/control/interrupt', { participant: 'demo', request_id: 'r2' }],
    ['POST', '/control/command', { command: '/help' }],
    ['POST', '/message', { message: 'hi', request_id: 'r3' }],
    ['GET', '/history', ''],
    ['GET', '/history?limit=10', ''],
  ]);
});

test('start waits for a server that is not ready yet', async (context) => {
  const busy = [503, { error: 'TUI bridge is not yet registered' }];
  const { asked } = await talk(context, { '/control/health': [busy, busy, [200, { ok: true }]] });
  assert.equal(asked.length, 3);
});

test('a response of another server is shown unchanged', async (context) => {
  const { cli } = await talk(context, {
    '/control/state': [[502, '<h1>Bad gateway</h1>']],
    '/control/messages': [[200, 'hello']],
  });
  await assert.rejects(cli.getState(), { status: 502, error: 'Refused', detail: '<h1>Bad gateway</h1>' });
  await assert.rejects(cli.messages(), { status: 200, error: 'Not JSON' });
});

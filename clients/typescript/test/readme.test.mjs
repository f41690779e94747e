// Runs the example of the README.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, dirname, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { PATIENCE, WH } from './wh.mjs';

const HERE = fileURLToPath(new URL('..', import.meta.url));

test('the example of the README works', () => {
  const [, example] = readFileSync(new URL('../README.md', import.meta.url), 'utf8').match(/```js\n([^]*?)```/);
  const PATH = WH === 'wh' ? process.env.PATH : [dirname(resolve(WH)), process.env.PATH].join(delimiter);
  const options = { cwd: HERE, encoding: 'utf8', env: { ...process.env, PATH }, timeout: PATIENCE };
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', example], options);
  assert.equal(run.status, 0, run.stderr);
});

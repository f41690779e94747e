// The type generator.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { generate } from '../scripts/generate.mjs';

const of = (schemas) => generate({ components: { schemas } }).split('\n').slice(3).join('\n');

test('an object is an interface, its fields in order', () => {
  const Thing = {
    type: 'object',
    description: 'A thing.',
    properties: {
      size: { type: ['integer', 'null'], minimum: 0 },
      'a name': { type: 'string' },
      kind: { type: 'string', enum: ['one', 'two'], description: 'Which.' },
      parts: { type: 'array', items: { $ref: '#/components/schemas/Part' } },
      more: { type: 'object', additionalProperties: { type: 'boolean' } },
      any: true,
    },
    required: ['size', 'any'],
  };
  const expected = `/** A thing. */
export interface Thing {
  "a name"?: string;
  any: unknown;
  /** Which. */
  kind?: "one" | "two";
  more?: Record<string, boolean>;
  parts?: Array<Part>;
  size: number | null;
}
`;
  assert.equal(of({ Thing }), expected);
});

test('flattened schemas are intersected', () => {
  const tag = { type: 'object', properties: { type: { const: 'frame', type: 'string' } }, required: ['type'] };
  const Joined = { oneOf: [{ ...tag, $ref: '#/components/schemas/Frame' }, { type: 'null' }] };
  assert.equal(of({ Joined }), 'export type Joined = Frame & {\n  type: "frame";\n} | null;\n');
});

test('the order in which schemas come does not matter', () => {
  const [A, B] = [{ type: 'string' }, { type: 'number' }];
  assert.equal(of({ A, B }), of({ B, A }));
});

test('an unknown keyword is an error', () => {
  assert.throws(() => of({ A: { type: 'object', properties: { b: { not: {} } } } }), /A\.b: not is not supported/);
  assert.throws(() => of({ A: { $ref: 'elsewhere.json' } }), /A: reference outside of the description/);
});

// Writes src/types.ts from the component schemas of wh's own description:
//
//   npm run generate -- openapi.json [OUTPUT]
//
// The same description gives the same file. A keyword that is not known here is an error, not a guess.

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const HEADER = `// The bodies of the control plane, from the description that wh gives of itself (GET /openapi.json).
// Written by scripts/generate.mjs; do not edit.
`;

// Say nothing about the shape of a value.
const ANNOTATIONS = ['description', 'title', 'default', 'examples', 'deprecated', 'format', 'readOnly', 'writeOnly'];
// Narrow a value further than a type can.
const BOUNDS = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'uniqueItems', 'pattern'];
const SHAPES = ['$ref', 'const', 'enum', 'oneOf', 'anyOf', 'allOf', 'type'];
const PARTS = ['properties', 'required', 'additionalProperties', 'items', 'prefixItems'];
const KNOWN = new Set([...ANNOTATIONS, ...BOUNDS, ...SHAPES, ...PARTS]);

const REFERENCE = '#/components/schemas/';
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

export function generate(description) {
  const schemas = description.components.schemas;
  const names = Object.keys(schemas).sort();
  return [HEADER, ...names.map((name) => declaration(name, schemas[name]))].join('\n');
}

function declaration(name, schema) {
  const plain = schema.type === 'object' && schema.properties && !SHAPES.some((key) => key !== 'type' && key in schema);
  if (plain) check(schema, name);
  const body = plain ? `export interface ${name} ${object(schema, '', name)}` : `export type ${name} = ${type(schema, '', name)};`;
  return `${comment(schema.description, '')}${body}\n`;
}

// A type as an expression. `where` names the place in an error.
function type(schema, indent, where) {
  if (schema === true) return 'unknown';
  if (schema === false) return 'never';
  check(schema, where);
  const parts = [];
  if (schema.$ref) parts.push(reference(schema.$ref, where));
  for (const key of ['oneOf', 'anyOf']) {
    if (schema[key]) parts.push(union(schema[key].map((choice, index) => type(choice, indent, `${where}.${key}[${index}]`))));
  }
  for (const [index, part] of (schema.allOf ?? []).entries()) parts.push(type(part, indent, `${where}.allOf[${index}]`));
  if ('const' in schema) parts.push(JSON.stringify(schema.const));
  else if (schema.enum) parts.push(union(schema.enum.map((value) => JSON.stringify(value))));
  else if (schema.type && (parts.length === 0 || schema.properties)) {
    parts.push(union([schema.type].flat().map((kind) => ofKind(kind, schema, indent, where))));
  }
  return parts.length === 0 ? 'unknown' : intersection(parts);
}

function ofKind(kind, schema, indent, where) {
  switch (kind) {
    case 'string':
    case 'boolean':
    case 'null':
      return kind;
    case 'integer':
    case 'number':
      return 'number';
    case 'array': {
      if (schema.prefixItems) return `[${schema.prefixItems.map((item) => type(item, indent, `${where}[]`)).join(', ')}]`;
      return `Array<${type(schema.items ?? true, indent, `${where}[]`)}>`;
    }
    case 'object':
      return object(schema, indent, where);
    default:
      throw new Error(`${where}: no such type: ${kind}`);
  }
}

function object(schema, indent, where) {
  const rest = schema.additionalProperties;
  const open = rest !== undefined && rest !== false;
  const properties = Object.entries(schema.properties ?? {}).sort(([one], [other]) => (one < other ? -1 : 1));
  if (properties.length === 0) return open ? `Record<string, ${type(rest, indent, `${where}.*`)}>` : 'Record<string, unknown>';
  const required = new Set(schema.required ?? []);
  const inner = `${indent}  `;
  const lines = properties.map(([name, property]) => {
    const key = IDENTIFIER.test(name) ? name : JSON.stringify(name);
    const mark = required.has(name) ? '' : '?';
    return `${comment(property.description, inner)}${inner}${key}${mark}: ${type(property, inner, `${where}.${name}`)};`;
  });
  if (open) lines.push(`${inner}[name: string]: unknown;`);
  return `{\n${lines.join('\n')}\n${indent}}`;
}

function reference(path, where) {
  if (!path.startsWith(REFERENCE)) throw new Error(`${where}: a reference out of the description: ${path}`);
  return path.slice(REFERENCE.length);
}

function union(types) {
  return [...new Set(types)].join(' | ');
}

function intersection(types) {
  return types.length === 1 ? types[0] : types.map((part) => (part.includes(' | ') ? `(${part})` : part)).join(' & ');
}

function comment(text, indent) {
  if (!text) return '';
  const lines = text.replaceAll('*/', '*\\/').split('\n');
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`;
}

function check(schema, where) {
  const strange = Object.keys(schema).find((key) => !KNOWN.has(key));
  if (strange) throw new Error(`${where}: ${strange} is not known to scripts/generate.mjs`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [input, output = fileURLToPath(new URL('../src/types.ts', import.meta.url))] = process.argv.slice(2);
  if (!input) {
    console.error('usage: npm run generate -- openapi.json [OUTPUT]');
    process.exit(2);
  }
  writeFileSync(output, generate(JSON.parse(readFileSync(input, 'utf8'))));
}

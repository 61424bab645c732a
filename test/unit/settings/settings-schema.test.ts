import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { OPTIONS } from '../../../src/settings/options.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const schema = JSON.parse(
  readFileSync(join(ROOT, 'schemas/heddle.schema.json'), 'utf8'),
) as object & { properties: Record<string, { default?: unknown }> };
const validate = new Ajv({ allowUnionTypes: true }).compile(schema);

describe('the schema of a file of settings', () => {
  test('knows every setting, and takes the defaults of all of them', () => {
    expect(Object.keys(schema.properties)).toEqual([...OPTIONS.map(({ name }) => name), 'nodes']);
    const defaults = Object.entries(schema.properties).flatMap(([name, { default: value }]) =>
      value === undefined ? [] : [[name, value] as const],
    );
    expect(defaults.length).toBeGreaterThan(20);
    expect(validate(Object.fromEntries(defaults)), JSON.stringify(validate.errors)).toBe(true);
  });

  test.each([
    { text: 'mtu: 1400\ncluster-subnets: [10.128.0.0/14/23]\ntake-over: true', isValid: true },
    { text: 'cluster-subnets: 10.128.0.0/14/23', isValid: true },
    { text: 'nodes: { n1: { nb: "unix:/n1.sock", timeout: 5 } }', isValid: true },
    { text: 'nodes: { n1: { mtu: 1400 } }', isValid: false },
    { text: 'mtu: big', isValid: false },
    { text: 'mtuu: 1400', isValid: false },
  ])('$text: $isValid', ({ text, isValid }) => {
    expect(validate(parse(text))).toBe(isValid);
  });
});

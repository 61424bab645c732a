import { describe, expect, test } from 'vitest';
import { definitions } from '../../../src/api/validation/catalog.ts';
import type { Schema } from '../../../src/api/validation/schema.ts';
import { problemsOf } from './objects.ts';
import { ruleCases } from './rule-cases.ts';

describe.each(ruleCases)('$rule', ({ old, valid, invalid, message }) => {
  test('accepts what obeys it', () => {
    expect(problemsOf(valid, old)).toEqual([]);
  });

  test('refuses what breaks it', () => {
    expect(problemsOf(invalid, old).join('\n')).toContain(message);
  });
});

test('every rule of every CRD has a case that breaks it', () => {
  const messages = (schema: Schema): string[] => [
    ...(schema['x-kubernetes-validations'] ?? []).map((rule) => rule.message ?? rule.rule),
    ...Object.values(schema.properties ?? {}).flatMap(messages),
    ...[schema.items, schema.additionalProperties].flatMap((child) =>
      child === undefined ? [] : messages(child),
    ),
  ];
  const all = definitions.flatMap(({ spec }) =>
    spec.versions.flatMap(({ schema }) => messages(schema.openAPIV3Schema)),
  );
  const broken = ruleCases.flatMap(({ invalid, old }) => problemsOf(invalid, old)).join('\n');
  expect([...new Set(all)].filter((message) => !broken.includes(message))).toEqual([]);
});

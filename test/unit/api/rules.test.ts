import { describe, expect, test } from 'vitest';
import { definitions } from '../../../src/api/validation/catalog.ts';
import type { Schema } from '../../../src/api/validation/schema.ts';
import { CIDR_TEXTS } from './cidr-texts.ts';
import { problemsOf } from './objects.ts';
import { ruleCases } from './rule-cases.ts';
import { egress } from './rule-objects.ts';

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

test('of the subnets of a Primary network those may be removed that its status says are refused', () => {
  const first = { cidr: '10.20.0.0/16' };
  const [second, third] = [{ cidr: '10.21.0.0/16' }, { cidr: '10.22.0.0/16' }];
  const networkOf = (...subnets: readonly object[]): object => ({
    topology: 'Layer3',
    layer3: { role: 'Primary', subnets },
  });
  const shapes = [
    {
      kind: 'UserDefinedNetwork',
      metadata: { name: 'net', namespace: 'blue' },
      path: 'spec.layer3',
      specOf: networkOf,
    },
    {
      kind: 'ClusterUserDefinedNetwork',
      metadata: { name: 'net' },
      path: 'spec.network.layer3',
      specOf: (...subnets: readonly object[]): object => ({
        namespaceSelector: {},
        network: networkOf(...subnets),
      }),
    },
  ];
  for (const { kind, metadata, path, specOf } of shapes) {
    const header = { apiVersion: 'k8s.ovn.org/v1', kind, metadata };
    const old = {
      ...header,
      spec: specOf(first, second, third),
      status: { refusedSubnets: ['10.22.0.0/16'] },
    };
    expect(problemsOf({ ...header, spec: specOf(first, second) }, old)).toEqual([]);
    // What the network has stays, and a new object can't say by itself what is refused.
    const forged = { refusedSubnets: ['10.21.0.0/16'] };
    expect(
      problemsOf({ ...header, spec: specOf(first, third), status: forged }, old).join(),
    ).toMatch(new RegExp(`^${path}: .*Removing existing subnets is not allowed`));
  }
});

test.each(CIDR_TEXTS)(
  'EgressQoS dstCIDR "%s" is valid, as an API server says: %s',
  (text, isValid) => {
    const rules = [{ dscp: 1, dstCIDR: text }];
    const problems = problemsOf(egress('EgressQoS', { egress: rules }));
    expect(problems.join()).toMatch(isValid ? /^$/ : /must be of type cidr/);
  },
);

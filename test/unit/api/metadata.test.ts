import { expect, test } from 'vitest';
import { problemsOf } from './objects.ts';

const network = (metadata: object): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'UserDefinedNetwork',
  metadata: { namespace: 'blue', ...metadata },
  spec: { topology: 'Layer2', layer2: { role: 'Primary', subnets: ['10.0.0.0/24'] } },
});

/** What an API server does not even decode. */
test.each([
  [{ creationTimestamp: 'yesterday' }, 'metadata.creationTimestamp', 'must be a time such as'],
  [{ deletionTimestamp: '2026-13-01T00:00:00Z' }, 'metadata.deletionTimestamp', 'must be a time'],
  [{ generation: '1' }, 'metadata.generation', 'must be a whole number'],
  [{ managedFields: 5 }, 'metadata.managedFields', 'must be a list'],
  [{ selfLink: 5 }, 'metadata.selfLink', 'must be a string'],
  [{ labels: ['a'] }, 'metadata.labels', 'must be a map of strings'],
  [{ annotations: { a: 1 } }, 'metadata.annotations.a', 'must be a string'],
])('%j is refused', (metadata, field, problem) => {
  const [first = ''] = problemsOf(network({ name: 'net', ...metadata }));
  expect(first).toMatch(new RegExp(`^${field.replaceAll('.', '\\.')}: .*${problem}`));
});

test.each([
  { creationTimestamp: null },
  { creationTimestamp: '2026-01-31T12:00:00Z', generation: 3, managedFields: [], selfLink: '/a' },
  { labels: { a: null } },
])('%j of an object that was read from a cluster is accepted', (metadata) => {
  expect(problemsOf(network({ name: 'net', ...metadata }))).toEqual([]);
});

test('a manifest with generateName is told why it needs a name', () => {
  expect(problemsOf(network({ generateName: 'net-' }))[0]).toBe(
    'metadata.name: Required value: name is required: with generateName every time that the file is applied makes another object',
  );
});

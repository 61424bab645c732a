import { expect, test } from 'vitest';
import { pods } from '../../../src/api/kinds.ts';
import { startApiStub } from '../../support/cluster/api-stub.ts';

test('an API server is asked for the selection, in lists and in watches', async () => {
  await using api = await startApiStub();
  const stop = new AbortController();
  const watching = api.store.watch(pods, () => undefined, stop.signal, {
    namespace: 'a',
    fields: { 'metadata.name': 'web' },
    otherFields: { 'spec.nodeName': 'n1' },
    labels: {
      matchLabels: { app: 'web' },
      matchExpressions: [
        { key: 'tier', operator: 'In', values: ['front', 'back'] },
        { key: 'zone', operator: 'NotIn', values: ['x'] },
        { key: 'a/b', operator: 'Exists' },
        { key: 'c', operator: 'DoesNotExist' },
      ],
    },
  });
  await expect.poll(() => api.asked.length).toBe(2);
  const seen = api.asked.map(({ pathname, searchParams }) => [
    pathname,
    searchParams.get('fieldSelector'),
    searchParams.get('labelSelector'),
    searchParams.has('watch'),
  ]);
  const asked = [
    '/api/v1/namespaces/a/pods',
    'metadata.name=web,spec.nodeName!=n1',
    'app=web,tier in (front,back),zone notin (x),a/b,!c',
  ];
  expect(seen).toEqual([
    [...asked, false],
    [...asked, true],
  ]);
  stop.abort();
  await watching;
});

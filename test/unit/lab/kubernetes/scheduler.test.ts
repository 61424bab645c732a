import { expect, test } from 'vitest';
import type { LabNodeObject, LabPodObject } from '../../../../src/lab/kubernetes/objects.ts';
import { placements } from '../../../../src/lab/kubernetes/scheduler.ts';

const node = (name: string, more: Partial<LabNodeObject> = {}): LabNodeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { 'kubernetes.io/hostname': name } },
  ...more,
});

const pod = (
  name: string,
  spec: Partial<LabPodObject['spec']> = {},
  more: Partial<LabPodObject> = {},
): LabPodObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'blue', name },
  spec: { containers: [], ...spec },
  ...more,
});

test('pods are spread: each gets the node with the fewest, of several the first by name', () => {
  const placed = placements(
    [pod('c'), pod('a'), pod('b'), pod('there', { nodeName: 'n1' })],
    [node('n2'), node('n1')],
  );
  expect(placed).toEqual([
    { pod: 'blue/a', node: 'n2' },
    { pod: 'blue/b', node: 'n1' },
    { pod: 'blue/c', node: 'n2' },
  ]);
});

test('the oldest pod comes first', () => {
  const at = (name: string, creationTimestamp: string): LabPodObject =>
    pod(name, {}, { metadata: { namespace: 'blue', name, creationTimestamp } });
  const all = [at('a', '2026-01-01T00:00:02Z'), at('b', '2026-01-01T00:00:01Z')];
  expect(placements(all, [node('n1'), node('n2')])).toEqual([
    { pod: 'blue/b', node: 'n1' },
    { pod: 'blue/a', node: 'n2' },
  ]);
});

test('pods that have ended take no place, and those that go get no node', () => {
  const ended = pod('done', { nodeName: 'n1' }, { status: { phase: 'Succeeded' } });
  const metadata = { namespace: 'blue', name: 'going', deletionTimestamp: '2026-01-01T00:00:00Z' };
  const going = pod('going', {}, { metadata });
  expect(placements([ended, going, pod('a')], [node('n1'), node('n2')])).toEqual([
    { pod: 'blue/a', node: 'n1' },
  ]);
});

test('a node selector and a cordoned node are minded; where no node is left it is said why', () => {
  const nodeSelector = { 'kubernetes.io/hostname': 'n2' };
  expect(placements([pod('a', { nodeSelector })], [node('n1'), node('n2')])).toEqual([
    { pod: 'blue/a', node: 'n2' },
  ]);
  const cordoned = node('n2', { spec: { unschedulable: true } });
  const [none] = placements([pod('a', { nodeSelector })], [node('n1'), cordoned]);
  expect(none).toHaveProperty('problem');
  expect(JSON.stringify(none)).toContain('spec.nodeSelector');
});

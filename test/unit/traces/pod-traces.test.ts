import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/api/objects.ts';
import { podTrace } from '../../../src/traces/pod-trace.ts';
import { PodTraces } from '../../../src/traces/pod-traces.ts';
import type { Span } from '../../../src/traces/span.ts';
import { TRACE_PARENT } from '../../../src/traces/trace-parent.ts';
import { WallClock } from '../../../src/traces/wall-clock.ts';

const DAY = Date.parse('2026-11-29T00:00:00Z');
const UID = '9b8f2f5e-6a0c-4d1f-9a55-0d4c6f7b8a91';

const podOf = (metadata: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'blue', name: 'web', uid: UID, ...metadata },
});

function recorder(ratio = 1): { traces: PodTraces; spans: Span[] } {
  const spans: Span[] = [];
  let ids = 0;
  const traces = new PodTraces({
    ratio,
    send: (span) => spans.push(span),
    clock: new WallClock(
      () => DAY,
      () => 0,
    ),
    newId: () => {
      ids += 1;
      return String(ids).padStart(16, '0');
    },
  });
  return { traces, spans };
}

test("the spans of a pod are one tree below the pod's start, whichever process records them", () => {
  const [manager, daemon] = [recorder(), recorder()];
  manager.traces.record(podOf(), { name: 'allocate addresses', start: 5, end: 9 });
  daemon.traces.record(podOf(), {
    name: 'CNI ADD',
    kind: 'server',
    start: 10,
    end: 90,
    attributes: { 'container.id': 'abc' },
    stages: [
      { name: 'add ports', start: 20, end: 30 },
      { name: 'wait for ovn-installed', start: 30, end: 90, error: 'gave up' },
    ],
  });
  daemon.traces.recordStart(podOf(), 3, 90);
  const { traceId, rootId } = podTrace(podOf().metadata) ?? {};
  const pod = {
    'k8s.namespace.name': 'blue',
    'k8s.pod.name': 'web',
    'k8s.pod.uid': UID,
  };
  expect(manager.spans).toEqual([
    {
      traceId,
      spanId: '0000000000000001',
      parentId: rootId,
      name: 'allocate addresses',
      kind: 'internal',
      start: DAY + 5,
      end: DAY + 9,
      attributes: pod,
    },
  ]);
  expect(daemon.spans).toEqual([
    {
      traceId,
      spanId: '0000000000000001',
      parentId: rootId,
      name: 'CNI ADD',
      kind: 'server',
      start: DAY + 10,
      end: DAY + 90,
      attributes: { ...pod, 'container.id': 'abc' },
    },
    {
      traceId,
      spanId: '0000000000000002',
      parentId: '0000000000000001',
      name: 'add ports',
      kind: 'internal',
      start: DAY + 20,
      end: DAY + 30,
      attributes: pod,
    },
    {
      traceId,
      spanId: '0000000000000003',
      parentId: '0000000000000001',
      name: 'wait for ovn-installed',
      kind: 'internal',
      start: DAY + 30,
      end: DAY + 90,
      attributes: pod,
      error: 'gave up',
    },
    {
      traceId,
      spanId: rootId,
      name: 'pod start',
      kind: 'internal',
      start: DAY + 3,
      end: DAY + 90,
      attributes: pod,
    },
  ]);
});

test('a start begins when the pod was made, unless the clock of the API server is ahead', () => {
  const { traces, spans } = recorder();
  traces.recordStart(podOf({ creationTimestamp: '2026-11-28T23:59:58Z' }), 100, 200);
  traces.recordStart(podOf({ creationTimestamp: '2026-11-29T00:00:07Z' }), 100, 200);
  traces.recordStart(podOf({ creationTimestamp: 'yesterday' }), 100, 200);
  expect(spans.map(({ start }) => start - DAY)).toEqual([-2000, 100, 100]);
});

test('a start is below the span that the annotation names', () => {
  const { traces, spans } = recorder(0);
  const annotations = { [TRACE_PARENT]: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
  traces.recordStart(podOf({ annotations }), 1, 2);
  expect(spans).toMatchObject([
    { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', parentId: '00f067aa0ba902b7' },
  ]);
});

test('of a pod whose trace is not recorded nothing is sent', () => {
  const { traces, spans } = recorder(0);
  expect(traces.isRecorded(podOf())).toBe(false);
  traces.record(podOf(), { name: 'allocate addresses', start: 5, end: 9 });
  traces.recordStart(podOf(), 1, 2);
  expect(spans).toEqual([]);
});

test('texts of others are in one visible line of bounded length', () => {
  const { traces, spans } = recorder();
  traces.record(podOf({ name: '\u001b[2J' }), {
    name: 'CNI ADD',
    start: 0,
    end: 1,
    attributes: { 'heddle.nad': 'n'.repeat(5000), 'heddle.nads': ['a\nb'] },
  });
  expect(spans[0]?.attributes).toMatchObject({
    'k8s.pod.name': '\\u{1b}[2J',
    'heddle.nad': 'n'.repeat(300),
    'heddle.nads': ['a\\nb'],
  });
});

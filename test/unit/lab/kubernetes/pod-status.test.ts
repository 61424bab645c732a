import { expect, test } from 'vitest';
import type { LabPodObject } from '../../../../src/lab/kubernetes/objects.ts';
import {
  runningStatus,
  unsupportedFields,
  waitingStatus,
} from '../../../../src/lab/kubernetes/pod-status.ts';

const pod = (spec: Partial<LabPodObject['spec']> = {}): LabPodObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'blue', name: 'web' },
  spec: { containers: [{ name: 'main', image: 'box' }], ...spec },
});

const container = {
  name: 'main',
  image: 'box',
  id: 'c1',
  startedAt: '2026-01-01T00:00:00Z',
  isReady: true,
};

const readyOf = (status: object): unknown =>
  (status as { conditions: { type: string; status: string }[] }).conditions.find(
    ({ type }) => type === 'Ready',
  )?.status;

test('a pod is ready when all its containers are', () => {
  const both = (isReady: boolean): object =>
    runningStatus(['10.0.0.1', 'fd00::1'], [container, { ...container, name: 'side', isReady }]);
  expect(both(true)).toMatchObject({
    phase: 'Running',
    podIP: '10.0.0.1',
    podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }],
  });
  expect(readyOf(both(true))).toBe('True');
  expect(readyOf(both(false))).toBe('False');
});

test.each([
  { codes: [0, 0], phase: 'Succeeded' },
  { codes: [0, 3], phase: 'Failed' },
  { codes: [3, undefined], phase: 'Running' },
])('programs that ended with $codes: $phase', ({ codes, phase }) => {
  const containers = codes.map((exitCode) =>
    exitCode === undefined ? container : { ...container, exitCode, isReady: false },
  );
  const status = runningStatus(['10.0.0.1'], containers);
  expect(status).toMatchObject({ phase });
  expect(readyOf(status)).toBe('False');
});

test('why a pod does not run is said of it and of its containers, and taken back when it does', () => {
  const why = { reason: 'RuntimeError', message: 'no network' };
  expect(waitingStatus(pod(), why.reason, why.message)).toMatchObject({
    phase: 'Pending',
    ...why,
    containerStatuses: [{ name: 'main', state: { waiting: why } }],
  });
  expect(runningStatus(['10.0.0.1'], [container])).toMatchObject({ reason: null, message: null });
});

test('what would be something else than it wants is named', () => {
  expect(unsupportedFields(pod())).toEqual([]);
  const wanting = pod({
    hostNetwork: true,
    initContainers: [{}],
    containers: [
      {
        name: 'main',
        volumeMounts: [{}],
        env: [{ name: 'A', valueFrom: {} }],
        readinessProbe: {},
      },
    ],
  });
  expect(unsupportedFields(wanting)).toEqual([
    'hostNetwork',
    'initContainers',
    'containers[main].volumeMounts',
    'containers[main].env[].valueFrom',
    'containers[main].readinessProbe.grpc',
  ]);
});

import { expect, test } from 'vitest';
import { pods } from '../../../src/api/kinds.ts';
import type { Pod } from '../../../src/api/types.ts';
import { keptFields } from '../../../src/store/kept-fields.ts';

test('of the conditions of a pod it is kept whether it is ready', () => {
  const conditions = [
    { type: 'PodScheduled', status: 'True' },
    { type: 'Ready', status: 'False', lastProbeTime: null, message: 'containers with unready …' },
  ];
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'edge', name: 'router' },
    spec: { nodeName: 'n1' },
    status: { phase: 'Running', conditions },
  };
  const kept = keptFields(pods);
  expect(kept(pod).status).toEqual({
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'False' }],
  });
  expect(kept({ ...pod, status: { phase: 'Pending' } }).status).toEqual({ phase: 'Pending' });
});

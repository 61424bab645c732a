/** Which pods come of a Deployment and its like, and what becomes of those that there are. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/api/objects.ts';
import { podsApplied, podsOf, readWorkload, type Workload } from '../../../src/cli/workloads.ts';

const template = (labels: Readonly<Record<string, string>>) => ({
  metadata: { labels },
  spec: { containers: [{ name: 'web', image: 'web' }] },
});
const ofKind = (apiVersion: string, kind: string, spec: unknown): Workload => {
  const found = readWorkload({
    apiVersion,
    kind,
    metadata: { namespace: 'blue', name: 'web' },
    spec,
  });
  if (found === undefined || 'message' in found) expect.unreachable(JSON.stringify(found));
  return found;
};
const deployment = (labels: Readonly<Record<string, string>>, more: object = {}): Workload =>
  ofKind('apps/v1', 'Deployment', { template: template(labels), ...more });

const pod = (name: string, owner: string, ownerKind = 'ReplicaSet'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    namespace: 'blue',
    name,
    labels: { app: 'web', tier: 'old', 'pod-template-hash': '6c9' },
    annotations: { 'k8s.ovn.org/pod-networks': '{}' },
    ownerReferences: [
      { apiVersion: 'apps/v1', kind: ownerKind, name: owner, uid: 'u', controller: true },
    ],
  },
  spec: { nodeName: 'n1', containers: [] },
});

describe('pods of a workload', () => {
  test.each([
    ['apps/v1', 'StatefulSet', { template: template({ app: 'web' }) }],
    ['apps/v1', 'DaemonSet', { template: template({ app: 'web' }) }],
    ['batch/v1', 'Job', { template: template({ app: 'web' }) }],
    ['batch/v1', 'CronJob', { jobTemplate: { spec: { template: template({ app: 'web' }) } } }],
    ['v1', 'ReplicationController', { template: template({ app: 'web' }) }],
  ])('one of a new %s %s', (apiVersion, kind, spec) => {
    expect(podsApplied(ofKind(apiVersion, kind, spec), [])).toMatchObject([
      {
        kind: 'Pod',
        metadata: { namespace: 'blue', labels: { app: 'web' }, ownerReferences: [{ kind }] },
      },
    ]);
  });

  test('are those that its ReplicaSets have, and no other workload’s', () => {
    const others = [
      pod('web-api-6c9-x', 'web-api-6c9'),
      pod('web-x', 'web', 'StatefulSet'),
      { ...pod('web-1', 'web-6c9'), metadata: { namespace: 'red', name: 'web-1' } },
    ];
    const own = [pod('web-6c9-a', 'web-6c9'), pod('web-7d1-b', 'web-7d1')];
    expect(podsOf(deployment({}), [...others, ...own])).toEqual(own);
  });

  test('keep their names, addresses, nodes and what controllers label, with the labels of the template', () => {
    const [changed, ...more] = podsApplied(deployment({ app: 'web', tier: 'new' }), [
      pod('web-6c9-a', 'web-6c9'),
    ]);
    expect(more).toEqual([]);
    expect(changed).toMatchObject({
      metadata: {
        name: 'web-6c9-a',
        annotations: { 'k8s.ovn.org/pod-networks': '{}' },
        labels: { app: 'web', tier: 'new', 'pod-template-hash': '6c9' },
      },
      spec: { nodeName: 'n1', containers: [{ name: 'web' }] },
    });
  });

  test('are none without replicas', () => {
    expect(podsApplied(deployment({}, { replicas: 0 }), [pod('web-6c9-a', 'web-6c9')])).toEqual([]);
  });
});

describe('what is no workload', () => {
  test('is another kind', () => {
    expect(readWorkload({ apiVersion: 'v1', kind: 'ConfigMap' })).toBeUndefined();
    expect(readWorkload({ apiVersion: 'apps/v2', kind: 'Deployment' })).toBeUndefined();
    expect(readWorkload({ apiVersion: 'constructor', kind: '' })).toBeUndefined();
  });

  test.each([
    [{}, 'metadata.name'],
    [{ metadata: { name: 1 } }, 'metadata.name'],
    [{ metadata: { name: 'web' } }, 'spec.template.spec'],
    [{ metadata: { name: 'web' }, spec: { template: [] } }, 'spec.template.spec'],
    [
      {
        metadata: { name: 'web' },
        spec: { template: { metadata: { labels: { 'a b': 1 } }, spec: { containers: [] } } },
      },
      'spec.template',
    ],
  ])('is refused with the field: %j', (more, field) => {
    expect(readWorkload({ apiVersion: 'apps/v1', kind: 'Deployment', ...more })).toMatchObject({
      field,
    });
  });
});

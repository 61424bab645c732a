import { expect, test } from 'vitest';
import { networkAttachmentDefinitions, nodes, pods, services } from '../../../src/api/kinds.ts';
import { Informers } from '../../../src/store/informers.ts';
import { startApiStub } from '../../support/cluster/api-stub.ts';
import { silent } from '../../support/cluster/cluster.ts';

const PODS = '/api/v1/pods';
const pod = (name: string, version: number, rest: object): object => ({
  metadata: { namespace: 'a', name, uid: name, resourceVersion: String(version) },
  ...rest,
});

test('a malformed object is named with field, value and remedy, and harms itself alone', async () => {
  await using api = await startApiStub();
  api.answers.set(PODS, [
    pod('right', 1, { spec: { nodeName: 'n1' } }),
    pod('without-spec', 2, {}),
    pod('odd', 3, { spec: { nodeName: 5 } }),
    { spec: {} },
    null,
  ]);
  const stop = new AbortController();
  const told: number[] = [];
  const informers = new Informers({
    store: api.store,
    log: silent,
    onProblem: () => told.push(informers.problems().length),
  });
  const informer = informers.of(pods);
  const running = informers.run(stop.signal);
  await informers.synced([pods]);
  const remedy = 'what was read of it before stays; correct the object, or whoever writes it';
  expect([...informer.keys()]).toEqual(['a/right']);
  expect(informers.problems().map(({ object, message }) => [object, message])).toEqual([
    ['Pod a/without-spec', `Pod a/without-spec: spec: Required value: ${remedy}`],
    [
      'Pod a/odd',
      `Pod a/odd: spec.nodeName: Invalid value: 5: must be a string (put the value in quotes): ${remedy}`,
    ],
  ]);
  expect((await api.store.list(pods)).map(({ metadata }) => metadata.name)).toEqual(['right']);
  api.answers.set(`/api/v1/namespaces/a/pods/odd`, pod('odd', 3, { spec: { nodeName: 5 } }));
  await expect(api.store.get(pods, 'a/odd')).rejects.toThrow('Pod a/odd: spec.nodeName');

  // A right object that becomes malformed stays what it was, until it is right again.
  const event = (type: string, object: object): void => api.send(PODS, { type, object });
  await expect.poll(() => api.asked.some(({ search }) => search.includes('watch'))).toBe(true);
  event('MODIFIED', pod('right', 4, { spec: { nodeName: ['n2'] } }));
  event('MODIFIED', pod('odd', 5, { spec: { nodeName: 'n3' } }));
  await expect.poll(() => informer.get('a/odd')?.spec.nodeName).toBe('n3');
  expect(informer.get('a/right')?.spec.nodeName).toBe('n1');
  expect(informers.problems().map(({ object }) => object)).toEqual([
    'Pod a/without-spec',
    'Pod a/right',
  ]);
  // Lists leave it out, and nobody waits for its end.
  api.answers.set(PODS, [pod('odd', 5, { spec: { nodeName: 'n3' } })]);
  await informers.refresh([pods], AbortSignal.timeout(5000));
  event('MODIFIED', pod('right', 6, { spec: { nodeName: 'n2' } }));
  event('DELETED', pod('without-spec', 7, {}));
  await expect.poll(() => informers.problems().length).toBe(0);
  expect(informer.get('a/right')?.spec.nodeName).toBe('n2');
  expect(told).toEqual([1, 2, 3, 2, 1, 0]);
  stop.abort();
  await running;
});

test.each([
  ['annotations', { x: 5 }, 'metadata.annotations.x: Invalid value: 5: must be a string'],
  ['labels', ['x'], 'metadata.labels: Invalid value: ["x"]: must be a map of strings'],
  ['finalizers', 'x', 'metadata.finalizers: Invalid value: "x": must be a list of strings'],
  ['ownerReferences', [{ kind: 'Pod' }], 'metadata.ownerReferences[0].apiVersion: Invalid value'],
  ['uid', 5, 'metadata.uid: Invalid value: 5: must be a string'],
])('metadata with odd %s: %j', async (field, value, message) => {
  await using api = await startApiStub();
  api.answers.set('/api/v1/nodes/n1', { metadata: { name: 'n1', [field]: value } });
  await expect(api.store.get(nodes, 'n1')).rejects.toThrow(`Node n1: ${message}`);
});

test('a headless service has no cluster addresses, others have canonical ones', async () => {
  await using api = await startApiStub();
  const service = (name: string, spec: object): object => ({
    metadata: { namespace: 'a', name },
    spec,
  });
  api.answers.set('/api/v1/services', [
    service('headless', { clusterIP: 'None', clusterIPs: ['None'] }),
    service('dual', { clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1', 'FD00::1'] }),
    service('odd', { clusterIPs: ['everywhere'] }),
  ]);
  const found = await api.store.list(services);
  expect(found.map(({ metadata, spec }) => [metadata.name, ...spec.clusterIPs])).toEqual([
    ['headless'],
    ['dual', '10.96.0.1', 'fd00::1'],
  ]);
});

test('a NAD whose configuration is no text comes through, for its network to complain about', async () => {
  await using api = await startApiStub();
  api.answers.set('/apis/k8s.cni.cncf.io/v1/network-attachment-definitions', [
    { metadata: { namespace: 'a', name: 'x' }, spec: { config: 5 } },
  ]);
  expect(await api.store.list(networkAttachmentDefinitions)).toHaveLength(1);
});

import { expect, test } from 'vitest';
import { endpointSlices, isOurs } from '../../../../src/lab/kubernetes/endpoint-slices.ts';
import type { LabPodObject, LabServiceObject } from '../../../../src/lab/kubernetes/objects.ts';

const service = (spec: Partial<LabServiceObject['spec']> = {}): LabServiceObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'blue', name: 'web', uid: 's' },
  spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }], ...spec },
});

const pod = (
  name: string,
  {
    ready = true,
    ips = ['10.0.0.1'],
    port = 8080,
    phase = 'Running',
    ...metadata
  }: Partial<LabPodObject['metadata']> & {
    ready?: boolean;
    ips?: readonly string[];
    port?: number;
    phase?: string;
  } = {},
): LabPodObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'blue', name, uid: name, labels: { app: 'web' }, ...metadata },
  spec: {
    nodeName: 'n1',
    containers: [{ name: 'main', ports: [{ name: 'http', containerPort: port }] }],
  },
  status: {
    phase,
    podIPs: ips.map((ip) => ({ ip })),
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
  },
});

test('a slice has the pods that the selector chooses in the namespace, as the controller writes it', () => {
  const others = [pod('other', { labels: { app: 'db' } }), pod('far', { namespace: 'red' })];
  const [slice, ...more] = endpointSlices([service()], [pod('one'), ...others]);
  expect(more).toEqual([]);
  expect(slice).toMatchObject({
    kind: 'EndpointSlice',
    addressType: 'IPv4',
    metadata: { namespace: 'blue', labels: { 'kubernetes.io/service-name': 'web' } },
    ports: [{ name: '', protocol: 'TCP', port: 8080 }],
    endpoints: [
      {
        addresses: ['10.0.0.1'],
        conditions: { ready: true, serving: true, terminating: false },
        nodeName: 'n1',
        targetRef: { kind: 'Pod', namespace: 'blue', name: 'one', uid: 'one' },
      },
    ],
  });
  expect(isOurs(slice as NonNullable<typeof slice>)).toBe(true);
});

test('families, and pods that mean other numbers by the name of a port, have slices of their own', () => {
  const named = service({ ports: [{ port: 80, targetPort: 'http' }] });
  const pods = [pod('one', { ips: ['10.0.0.1', 'fd00::1'] }), pod('two', { port: 9090 })];
  const slices = endpointSlices([named], pods);
  expect(slices.map(({ addressType, ports }) => [addressType, ports])).toEqual([
    ['IPv4', [{ name: '', protocol: 'TCP', port: 8080 }]],
    ['IPv6', [{ name: '', protocol: 'TCP', port: 8080 }]],
    ['IPv4', [{ name: '', protocol: 'TCP', port: 9090 }]],
  ]);
  expect(new Set(slices.map(({ metadata }) => metadata.name)).size).toBe(3);
});

test('a pod that is not ready is no ready endpoint, unless the service says so; one that ended is none', () => {
  const pods = [pod('slow', { ready: false }), pod('done', { phase: 'Succeeded' })];
  const readyOf = (spec: Partial<LabServiceObject['spec']>): unknown =>
    endpointSlices([service(spec)], pods).map(({ endpoints }) => endpoints);
  expect(readyOf({})).toMatchObject([[{ conditions: { ready: false, serving: false } }]]);
  expect(readyOf({ publishNotReadyAddresses: true })).toMatchObject([
    [{ conditions: { ready: true, serving: false } }],
  ]);
});

test('a service without a selector has endpoints of somebody else', () => {
  expect(endpointSlices([service({ selector: {} })], [pod('one')])).toEqual([]);
  expect(endpointSlices([service({ type: 'ExternalName' })], [pod('one')])).toEqual([]);
});

test('a pod without an address is no endpoint', () => {
  expect(endpointSlices([service()], [pod('new', { ips: [] })])).toEqual([]);
});

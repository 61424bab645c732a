import { expect, test } from 'vitest';
import {
  endpointSlices,
  namespaces,
  networkAttachmentDefinitions,
  nodes,
  pods,
  services,
} from '../../../src/api/kinds.ts';
import type { ResourceKind } from '../../../src/api/objects.ts';
import { readStored } from '../../../src/api/validation/stored-object.ts';

/** What a server sends that writes null for what is not there. */
const withNulls = (kind: ResourceKind, rest: object): object => ({
  apiVersion: kind.apiVersion,
  kind: kind.kind,
  metadata: {
    name: 'a',
    ...(kind.namespaced ? { namespace: 'blue' } : {}),
    labels: null,
    annotations: null,
    ownerReferences: null,
    creationTimestamp: null,
  },
  ...rest,
});

test.each([
  ['Node', nodes, {}, {}],
  ['Namespace', namespaces, {}, {}],
  ['NetworkAttachmentDefinition', networkAttachmentDefinitions, { spec: {} }, { spec: {} }],
  [
    'Pod',
    pods,
    { spec: { nodeName: null, containers: [{ name: 'c', ports: null }] } },
    { spec: { containers: [{ name: 'c' }] } },
  ],
  [
    'EndpointSlice',
    endpointSlices,
    { addressType: 'IPv4', endpoints: [{ addresses: ['10.0.0.1'], conditions: null }] },
    { addressType: 'IPv4', endpoints: [{ addresses: ['10.0.0.1'] }] },
  ],
] as const)('null is absent, for readers never ask for it: %s', (_name, kind, given, read) => {
  const reading = readStored<never>(kind as never, withNulls(kind, given));
  expect(reading).toMatchObject({
    kind: 'value',
    value: { ...read, metadata: { name: 'a' } },
  });
  expect(JSON.stringify(reading)).not.toContain('null');
});

test('a word of a later Kubernetes is taken as it is stored', () => {
  const spec = { type: 'Mesh', internalTrafficPolicy: 'Node', ports: [{ port: 80 }] };
  expect(readStored(services, withNulls(services, { spec }))).toMatchObject({
    kind: 'value',
    value: { spec: { type: 'Mesh', internalTrafficPolicy: 'Node' } },
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AdminPolicyBasedExternalRoute, Pod } from '../../../../src/api/types.ts';
import { parseManifest } from '../../../../src/api/validation/manifest.ts';
import {
  externalRouteKind,
  gatewayPodPart,
  MOST_HOPS,
  readExternalRoute,
} from '../../../../src/model/read/external-routes.ts';
import { DEFAULT_SETTINGS } from '../../../../src/model/settings.ts';

const route = (
  nextHops: object,
  namespaceSelector: object = {},
): AdminPolicyBasedExternalRoute => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'AdminPolicyBasedExternalRoute',
  metadata: { name: 'gateways', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { from: { namespaceSelector }, nextHops },
});
const problemOf = (nextHops: object, namespaceSelector?: object): string => {
  const reading = readExternalRoute(route(nextHops, namespaceSelector));
  return reading.kind === 'problem' ? reading.message : '';
};

test('hops by their addresses, in canonical form, and by pods', () => {
  const namespaceSelector = { matchLabels: { tier: 'edge' } };
  const podSelector = { matchLabels: { app: 'router' } };
  const read = readExternalRoute(
    route({
      static: [{ ip: '172.18.0.50', bfdEnabled: true }, { ip: 'FD00::0050' }],
      dynamic: [{ podSelector, namespaceSelector, networkAttachmentName: 'edge/macvlan' }],
    }),
  );
  expect(read).toEqual({
    kind: 'value',
    value: {
      name: 'gateways',
      created: '2026-01-01T00:00:00Z',
      namespaceSelector: {},
      hops: [
        { address: '172.18.0.50', isWatched: true },
        { address: 'fd00::50', isWatched: false },
      ],
      pods: [{ podSelector, namespaceSelector, network: 'edge/macvlan', isWatched: false }],
    },
  });
});

describe('what can not be is told by field and value, and leaves in force what there was', () => {
  test.each([
    '172.18.0.0/16',
    'router.example',
    '0.0.0.0',
    '127.0.0.1',
    '224.0.0.5',
    '255.255.255.255',
    '::',
    '::1',
    'ff02::1',
  ])('address %s', (ip) => {
    expect(problemOf({ static: [{ ip: '172.18.0.50' }, { ip }] })).toMatch(
      /^spec\.nextHops\.static\[1\]\.ip: Invalid value: ".*": must be the IPv4 or IPv6 address of one machine; until then /,
    );
  });
  test('too many', () => {
    const hops = Array.from({ length: MOST_HOPS + 1 }, (_, index) => ({ ip: `172.18.1.${index}` }));
    expect(problemOf({ static: hops })).toContain(`must have at most ${MOST_HOPS} items`);
    expect(problemOf({ static: hops.slice(1) })).toBe('');
  });
  test('selectors', () => {
    const wrong = { matchExpressions: [{ key: 'a', operator: 'Is' }] };
    expect(problemOf({ static: [] }, wrong)).toContain('spec.from.namespaceSelector');
    expect(problemOf({ dynamic: [{ podSelector: wrong, namespaceSelector: {} }] })).toContain(
      'spec.nextHops.dynamic[0].podSelector',
    );
    expect(problemOf({ dynamic: [{ podSelector: {} }] })).toContain(
      'spec.nextHops.dynamic[0].namespaceSelector: Required value',
    );
  });
});

const context = (externalRoutes: boolean) => ({
  nodeName: 'n1',
  settings: {
    ...DEFAULT_SETTINGS,
    features: { ...DEFAULT_SETTINGS.features, externalRoutes },
  },
  isOwn: true,
  round: 0,
  before: undefined,
});

test('where they are off objects are told', () => {
  const read = (isOn: boolean): unknown =>
    externalRouteKind.read(route({ static: [] }), context(isOn));
  expect(JSON.stringify(read(false))).toContain('multi-external-gateway');
  expect(read(true)).not.toHaveProperty('warning');
});

test('pods of all nodes are needed where hops are pods', () => {
  const needs = (nextHops: object): boolean => {
    const reading = readExternalRoute(route(nextHops));
    return reading.kind === 'value' && externalRouteKind.needsOtherPods(reading.value);
  };
  expect(needs({ static: [{ ip: '172.18.0.50' }] })).toBe(false);
  expect(needs({ dynamic: [{ podSelector: {}, namespaceSelector: {} }] })).toBe(true);
});

describe('a pod that may be a hop', () => {
  const status = { podIPs: [{ ip: '172.18.0.12' }, { ip: 'fd00:172:18::12' }] };
  const pod = (more: object, metadata: object = {}): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'edge', name: 'router', labels: { app: 'router' }, ...metadata },
    spec: { nodeName: 'n2', hostNetwork: true },
    status,
    ...more,
  });
  const read = (one: Pod, isOn = true): unknown => gatewayPodPart.read(one, context(isOn));
  const ready = (is: string): object => ({
    status: { ...status, conditions: [{ type: 'Ready', status: is }] },
  });
  const found = {
    namespace: 'edge',
    name: 'router',
    labels: { app: 'router' },
    hostAddresses: ['172.18.0.12', 'fd00:172:18::12'],
    networks: [],
  };

  test('on the network of its host has the addresses of its host', () => {
    expect(read(pod({}))).toEqual(found);
    expect(read(pod(ready('True')))).toEqual(found);
  });
  test('is ready, and does not go', () => {
    expect(read(pod(ready('False')))).toBe(undefined);
    expect(read(pod({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }))).toBe(undefined);
    expect(read(pod({ status: { ...status, phase: 'Succeeded' } }))).toBe(undefined);
  });
  const annotations = (text: string): object => ({
    annotations: { 'k8s.v1.cni.cncf.io/network-status': text },
  });
  test('else has those of its networks', () => {
    const text = JSON.stringify([
      { name: 'ovn-kubernetes', ips: ['10.244.1.5'], default: true },
      { name: 'edge/macvlan', ips: ['192.0.2.9'] },
      { name: 'edge/bare' },
    ]);
    const own = { spec: { nodeName: 'n2' } };
    expect(read(pod(own, annotations(text)))).toEqual({
      ...found,
      hostAddresses: [],
      networks: [
        { network: 'ovn-kubernetes', addresses: ['10.244.1.5'] },
        { network: 'edge/macvlan', addresses: ['192.0.2.9'] },
        { network: 'edge/bare', addresses: [] },
      ],
    });
    expect(read(pod(own, annotations('[{"name":"a","ips":["x"]}]')))).toBe(undefined);
    expect(read(pod(own))).toBe(undefined);
  });
  test('is nobody where external routes are off', () => {
    expect(read(pod({}), false)).toBe(undefined);
  });
});

test('the example is one', () => {
  const folder = join(import.meta.dirname, '../../../../examples/external-routes');
  const [route, ...others] = readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .flatMap((name) => {
      const { documents, errors } = parseManifest(readFileSync(join(folder, name), 'utf8'), name);
      expect(errors).toEqual([]);
      return documents.map(({ object }) => object);
    })
    .filter(({ kind }) => kind === 'AdminPolicyBasedExternalRoute');
  expect(others).toEqual([]);
  expect(readExternalRoute(route as AdminPolicyBasedExternalRoute)).toMatchObject({
    kind: 'value',
    value: { hops: [{ isWatched: true }, { isWatched: true }], pods: [{ network: '' }] },
  });
});

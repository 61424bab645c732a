/** What a proof says of nftables that lets pods of the default network to services of others. */
import { expect, test } from 'vitest';
import { prove, type Verdict } from '../../../src/verify/verify.ts';
import type { Snapshot } from '../../../src/verify/snapshot.ts';
import type { NetworkAttachmentDefinition, Pod, Service } from '../../../src/api/types.ts';
import { HOST, nad, OBJECTS, pod, SETTINGS, snapshot } from '../../support/verify/small-zone.ts';

const verify = (snapshot: Parameters<typeof prove>[0]): Verdict => prove(snapshot).verdict;

const TABLE = { family: 'inet', table: 'ovn-kubernetes' };
const PODS = '@default-access-pods-v4';
const SERVICES = '@default-access-services-v4';
const ADDRESS = '10.128.0.9';

const match = (left: unknown, right: unknown): object => ({ match: { op: '==', left, right } });
const meta = (key: string, right: string): object => match({ meta: { key } }, right);
const ct = (key: string, dir: string, right: unknown): object => match({ ct: { key, dir } }, right);
const rule = (chain: string, handle: number, ...expr: object[]): object => ({
  rule: { ...TABLE, chain, handle, expr },
});
const ends = (way: string, handle: number): object =>
  rule(
    'mgmtport-forward',
    handle,
    meta(way, 'ovn-k8s-mp0'),
    ct('ip daddr', 'reply', { range: ['169.254.0.11', '169.254.32.8'] }),
    { drop: null },
  );
const set = (name: string, ...elem: unknown[]): object => ({ set: { ...TABLE, name, elem } });
const socket = (address: string, port: number): object => ({ concat: [address, 'tcp', port] });

const own = (pods: string[], services: object[], ...more: object[]): readonly unknown[] => [
  set('default-access-pods-v4', ...pods),
  set('default-access-services-v4', ...services),
  rule(
    'mgmtport-forward',
    1,
    meta('iifname', 'ovn-k8s-mp0'),
    ct('ip saddr', 'original', PODS),
    ct('ip daddr', 'original', SERVICES),
    { accept: null },
  ),
  ends('iifname', 2),
  ends('oifname', 3),
  ...more,
];

const open = (definition: NetworkAttachmentDefinition): NetworkAttachmentDefinition => ({
  ...definition,
  metadata: {
    ...definition.metadata,
    labels: { 'k8s.ovn.org/default-network-access': 'true' },
  },
});
const service = (namespace: string, address: string): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace },
  spec: { clusterIPs: [address], ports: [{ port: 80, protocol: 'TCP' }] },
});
const prometheus: Pod = {
  ...pod('monitoring', 'prometheus', 9),
  metadata: {
    name: 'prometheus',
    namespace: 'monitoring',
    uid: 'monitoring-prometheus',
    annotations: {
      'k8s.ovn.org/pod-networks': JSON.stringify({
        default: {
          ip_addresses: [`${ADDRESS}/23`],
          mac_address: '0a:58:0a:80:00:09',
          role: 'primary',
        },
      }),
    },
  },
};

const zone = (nftables: readonly unknown[], defaultAccess = ['monitoring']): Snapshot => {
  const found = snapshot({
    settings: { ...SETTINGS, defaultAccess },
    objects: {
      ...OBJECTS,
      attachmentDefinitions: [open(nad('blue', 1)), nad('green', 2)],
      pods: [...OBJECTS.pods, prometheus],
      services: [service('blue', '172.16.1.80'), service('green', '172.16.1.81')],
    },
  });
  return { ...found, host: { ...HOST, nftables } };
};

/** What is about this way: the table here has nothing else. */
const violations = ({ violations: all }: Verdict): string[] =>
  all
    .map(({ where, what, object }) => `${where} ${what} (${object})`)
    .filter((text) => /default-access|primary network/.test(text))
    .filter((text) => !text.startsWith('set udn-') && !text.startsWith('chain udn-'))
    .filter((text) => !text.includes('by the port of a primary network'));

const WANTED = [socket('172.16.1.80', 80)];

test('pods of named namespaces and services of networks that let them in are an edge that the network wants', () => {
  const verdict = verify(zone(own([ADDRESS], WANTED)));
  expect(violations(verdict)).toEqual([]);
  expect(verdict.edges.filter(({ from }) => from === 'default')).toContainEqual({
    from: 'default',
    to: 'blue_net',
    kind: 'access',
    where: '172.16.1.80 . tcp . 80 of default-access-services-v4',
    object: 'UserDefinedNetwork blue/net',
    passes: [{ sources: [ADDRESS], destinations: ['172.16.1.80'], protocol: 'tcp', ports: [80] }],
  });
});

test('a service of a network that does not let them in, a port that is none, and a pod of nobody are found', () => {
  const services = [socket('172.16.1.81', 80), socket('172.16.1.80', 22)];
  expect(violations(verify(zone(own(['10.128.0.77'], services))))).toEqual([
    '10.128.0.77 of default-access-pods-v4 reaches services of primary networks, and is of no pod of this node in a namespace of default-network-access (cluster)',
    '172.16.1.81 . tcp . 80 of default-access-services-v4 is reached from the default network, and is of a service whose network does not let it in (Service green/web)',
    '172.16.1.80 . tcp . 22 of default-access-services-v4 is reached from the default network, and is of no service (Service blue/web)',
  ]);
});

test('without the setting nothing of it may be there', () => {
  expect(violations(verify(zone(own([ADDRESS], WANTED), [])))).toHaveLength(2);
});

test('a rule that leads there for everybody is found, and that what began goes on', () => {
  const vmap = {
    vmap: {
      key: { payload: { protocol: 'ip', field: 'daddr' } },
      data: '@udn-mark-cluster-ips-v4',
    },
  };
  const wide = rule('udn-service-prerouting', 9, meta('iifname', 'ovn-k8s-mp0'), vmap);
  expect(violations(verify(zone(own([ADDRESS], WANTED, wide))))).toEqual([
    'nft rule 9 of chain udn-service-prerouting leads to services of primary networks by their cluster addresses, and asks not for default-access-pods-v4 and default-access-services-v4 both (cluster)',
  ]);
  const without = own([ADDRESS], WANTED).filter((_, index) => index !== 3);
  expect(violations(verify(zone(without)))).toEqual([
    'chain mgmtport-forward does not drop what has an address of a primary network between the default network and others (iifname) (cluster)',
  ]);
});

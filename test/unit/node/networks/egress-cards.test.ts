/** What the host has for pods that leave by other network cards than the gateway's. */
import { describe, expect, test } from 'vitest';
import type { Attachment } from '../../../../src/model/model.ts';
import type { EgressIp } from '../../../../src/model/read/egress-ips.ts';
import type { HostCard } from '../../../../src/model/zone/host-routes.ts';
import { hostFeatures } from '../../../../src/node/features.ts';
import { egressCardZone } from '../../../support/host/bridge-zones.ts';
import { HOST_SETTINGS } from '../../../support/host/host-units.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import { bluePodDefault, exampleZone, factsOf, type Zone } from '../../../support/zone/zones.ts';

const CARD: HostCard = { device: 'eth1', index: 7, networks: ['10.9.0.0/24'], routes: {} };
const pod: Attachment = { ...bluePodDefault, namespace: 'default', pod: 'web', role: 'primary' };
const [from = ''] = pod.addresses.map((address) => address.replace(/\/.*/, ''));

const egressIp = (name: string, address: string): EgressIp => ({
  name,
  created: '2026-01-01T00:00:00Z',
  namespaceSelector: {},
  podSelector: {},
  families: ['v4'],
  items: [{ node: 'ovn-worker', address }],
  isHere: true,
});

interface Host {
  readonly mode?: 'shared' | 'local';
  readonly settings?: typeof HOST_SETTINGS;
  /** Addresses that the node has named. */
  readonly told?: readonly string[];
  readonly card?: HostCard;
}

function hostWith({
  mode = 'shared',
  settings = HOST_SETTINGS,
  told = ['10.9.0.50', '10.9.0.51'],
  card = CARD,
}: Host = {}) {
  const { node } = exampleZone;
  const facts = factsOf({
    ...exampleZone,
    node: {
      ...node,
      egressAddresses: told,
      ...(node.gateway === undefined ? {} : { gateway: { ...node.gateway, mode } }),
    },
    attachments: [pod],
    pods: [{ namespace: 'default', name: 'web', node: 'ovn-worker', labels: {}, namedPorts: [] }],
    egressIps: [egressIp('out', '10.9.0.50'), egressIp('other', '10.9.0.51')],
  });
  facts.hostCards.put('eth1', card);
  facts.refresh(0);
  return builtUnits(facts, hostFeatures(settings)).filter(({ unit }) => /egress-/.test(unit));
}
const keysOf = (units: ReturnType<typeof hostWith>, table: string): readonly string[] =>
  units.flatMap(({ rows }) =>
    rows
      .filter((row) => row.table === table)
      .map(({ key, columns }) => {
        const { value } = columns;
        return typeof value === 'string' ? `${key} : ${value}` : key;
      }),
  );

describe('a card with egress addresses', () => {
  test('has them, once others know that they are none of the host', () => {
    expect(keysOf(hostWith(), 'address')).toEqual(['eth1 10.9.0.50/32', 'eth1 10.9.0.51/32']);
    expect(keysOf(hostWith({ told: ['10.9.0.50'] }), 'address')).toEqual(['eth1 10.9.0.50/32']);
  });

  test('has a table with its routes, which ends nowhere, and a way straight out where it has none', () => {
    expect(keysOf(hostWith(), 'route')).toEqual([
      'inet table 1007 default metric 4278198272',
      'inet table 1007 default metric 0',
    ]);
    const routes = { v4: [{ dst: 'default', dev: 'eth1', via: '10.9.0.1', metric: 100 }] };
    expect(keysOf(hostWith({ card: { ...CARD, routes } }), 'route')).toEqual([
      'inet table 1007 default metric 4278198272',
      'inet table 1007 default metric 100',
    ]);
  });

  test('forwards answers', () => {
    expect(keysOf(hostWith(), 'sysctl')).toEqual(['net/ipv4/conf/eth1/forwarding : 1']);
  });

  test('leads pods there that leave with one, and translates those alone', () => {
    const units = hostWith();
    expect(keysOf(units, 'rule').filter((key) => key.includes('6000'))).toEqual([
      `inet priority 6000 from ${from}/32 lookup 1007`,
    ]);
    expect(keysOf(units, 'element')).toEqual([
      `egress-ip-snat-v4 ${from} . "eth1" : 10.9.0.51`,
      `egress-ip-forwarded-v4 ${from} . "eth1"`,
      'egress-ip-here-v4 10.9.0.50',
      'egress-ip-addresses-v4 "eth1" . 10.9.0.50',
      'egress-ip-leased-v4 10.9.0.50',
      'egress-ip-here-v4 10.9.0.51',
      'egress-ip-addresses-v4 "eth1" . 10.9.0.51',
      'egress-ip-leased-v4 10.9.0.51',
    ]);
  });

  test('in local gateway mode lets what is for nodes keep its way', () => {
    const units = hostWith({ mode: 'local' });
    expect(keysOf(units, 'rule')).toContain('inet priority 5999 fwmark 0x3f0 lookup 254');
    expect(keysOf(units, 'sysctl')).toContain('net/ipv4/conf/all/src_valid_mark : 1');
  });

  test('does not make up for its node there: in local gateway mode its pods are kept from leaving as the node', () => {
    const elsewhere = (units: ReturnType<typeof hostWith>): readonly string[] =>
      keysOf(units, 'element').filter((key) => key.startsWith('egress-elsewhere'));
    expect(elsewhere(hostWith({ mode: 'local' }))).toEqual([`egress-elsewhere-v4 ${from}`]);
    // Also while the card is not there.
    const gone = { ...CARD, networks: [] };
    expect(elsewhere(hostWith({ mode: 'local', card: gone }))).toEqual([
      `egress-elsewhere-v4 ${from}`,
    ]);
    expect(elsewhere(hostWith())).toEqual([]);
  });

  test('whose table would be that of a network leads nobody out, and says so', () => {
    const units = hostWith({ settings: { ...HOST_SETTINGS, routingTables: 1007 } });
    expect(keysOf(units, 'route')).toEqual([]);
    expect(keysOf(units, 'rule')).toEqual([]);
    expect(units.flatMap(({ problems }) => problems).join()).toContain(
      'would be 1007, which is that of a network',
    );
  });

  test('that goes takes all of it along', () => {
    const units = hostWith({ card: { ...CARD, networks: [] } });
    for (const table of ['address', 'route', 'rule', 'sysctl', 'element'])
      expect(keysOf(units, table), table).toEqual([]);
  });
});

describe('networks of users', () => {
  const udn = (changes: Partial<Zone> = {}) =>
    builtUnits(factsOf({ ...egressCardZone, ...changes }), hostFeatures(HOST_SETTINGS)).filter(
      ({ unit }) => unit.includes('egress-card-networks'),
    );

  test('are known on the host by one address of each EgressIP, and leave by the card with its address there', () => {
    const units = udn();
    expect(keysOf(units, 'rule')).toEqual([
      'inet priority 6000 from 169.254.39.16/32 lookup 1007',
      'inet6 priority 6000 from fd69::2710/128 lookup 1007',
    ]);
    expect(keysOf(units, 'neighbour')).toEqual(['breth0 169.254.39.16', 'breth0 fd69::2710']);
    expect(keysOf(units, 'element')).toEqual([
      'egress-ip-snat-v4 169.254.39.16 . "eth1" : 10.9.0.50',
      'egress-ip-forwarded-v4 169.254.39.16 . "eth1"',
      'egress-ip-snat-v6 fd69::2710 . "eth1" : fd00:10:9::50',
      'egress-ip-forwarded-v6 fd69::2710 . "eth1"',
    ]);
  });

  test('that it does not select bring nothing to the host', () => {
    const units = udn({ networks: egressCardZone.networks.slice(0, 1) });
    for (const table of ['rule', 'neighbour', 'element']) expect(keysOf(units, table)).toEqual([]);
  });
});

import { describe, expect, test } from 'vitest';
import type { DesiredRow } from '../../../../src/desired/rows.ts';
import { egressServiceMark } from '../../../../src/model/rules/egress-service-mark.ts';
import { hostUnits } from '../../../support/host/host-units.ts';
import { egressServiceZone } from '../../../support/zone/egress-services.ts';
import { inLocalMode, type Zone } from '../../../support/zone/zones.ts';

const rowsOf = (zone: Zone): readonly DesiredRow[] =>
  hostUnits(zone)
    .flatMap(({ rows }) => rows)
    .filter(({ object }) => object.startsWith('EgressService '));
const elementsOf = (zone: Zone): readonly string[] =>
  rowsOf(zone)
    .filter(({ table }) => table === 'element')
    .map(({ columns: { set, element, value } }) =>
      [set, element, value].filter((text) => typeof text === 'string').join(' '),
    )
    .toSorted();
const rulesOf = (zone: Zone): readonly string[] =>
  rowsOf(zone)
    .filter(({ table }) => table === 'rule')
    .map(({ key }) => key)
    .toSorted();

test('pods of all nodes leave the chosen one with the last address of the load balancer (reference/node.md §3.7)', () => {
  const zone = egressServiceZone({});
  expect(elementsOf(zone)).toEqual([
    'egress-service-pods-v4 10.244.0.3',
    'egress-service-pods-v4 10.244.1.5',
    'egress-service-snat-v4 10.244.0.3 172.18.0.240',
    'egress-service-snat-v4 10.244.1.5 172.18.0.240',
    'egress-service-sources-v4 10.244.0.3 . 172.18.0.240',
    'egress-service-sources-v4 10.244.1.5 . 172.18.0.240',
  ]);
  expect(rulesOf(zone)).toEqual([]);
});

test('by the other node, or by none, nothing of them leaves here', () => {
  for (const host of ['ovn-worker2', ''])
    expect(rowsOf(egressServiceZone({ host, isHere: false }))).toEqual([]);
});

test('in local gateway mode pods of this node that leave elsewhere, or nowhere, are kept from leaving as the node', () => {
  for (const host of ['ovn-worker2', ''])
    expect(elementsOf(inLocalMode(egressServiceZone({ host, isHere: false })))).toEqual([
      'egress-elsewhere-v4 10.244.0.3',
    ]);
  const here = elementsOf(inLocalMode(egressServiceZone({})));
  expect(here.filter((element) => element.startsWith('egress-elsewhere'))).toEqual([]);
});

test('by its network each node lets its own pods leave, with no address of the service', () => {
  expect(elementsOf(egressServiceZone({ isByNetwork: true, host: 'ALL', isHere: false }))).toEqual([
    'egress-service-networks-v4 10.244.0.3',
    'egress-service-pods-v4 10.244.0.3',
  ]);
});

test('what they send, and what the service answers, is led into its routing table (reference/node.md §2.4)', () => {
  const common = [
    'inet priority 5000 from 10.244.0.3/32 lookup 1200',
    'inet priority 5000 from 10.244.1.5/32 lookup 1200',
    'inet priority 5000 from 10.96.3.3/32 lookup 1200',
  ];
  expect(rulesOf(egressServiceZone({ table: 1200 }))).toEqual(common);
  const local = {
    externalTrafficPolicy: 'Local',
    ports: [{ port: 80, nodePort: 30_080 }],
  };
  expect(rulesOf(egressServiceZone({ table: 1200 }, local))).toEqual(
    [...common, 'inet priority 5000 from 169.254.0.3/32 sport 30080 lookup 1200'].toSorted(),
  );
});

test("a table of a tenant's network is refused by name, and nothing leaves", () => {
  const zone = egressServiceZone({ table: 10_002 });
  expect(rowsOf(zone)).toEqual([]);
  expect(JSON.stringify(hostUnits(zone).flatMap(({ problems }) => problems))).toContain(
    'spec.network: 10002 is, or may become, the routing table of a network of Heddle',
  );
});

test('a VRF of the host is named by its device: each node leads there by the number that its table has', () => {
  const zone = egressServiceZone({ table: 'partner' });
  const told = (one: Zone): string =>
    hostUnits(one)
      .flatMap(({ problems }) => problems.map((problem) => JSON.stringify(problem)))
      .join();
  const NONE =
    'spec.network: node ovn-worker has no VRF partner of its own: no pod of it leaves by node ovn-worker; name one';
  expect(rowsOf(zone)).toEqual([]);
  expect(told(zone)).toContain(NONE);
  const withVrf = (table: number): Zone => ({ ...zone, hostVrfs: [{ device: 'partner', table }] });
  expect(told(withVrf(1300))).toBe('');
  expect(rulesOf(withVrf(1300))).toContain('inet priority 5000 from 10.244.0.3/32 lookup 1300');
  // Another one, made as a network's would be.
  expect(rowsOf(withVrf(10_002))).toEqual([]);
  expect(told(withVrf(10_002))).toContain(
    'partner is, or may become, the routing table of a network',
  );
});

/** By which the host knows what the service sends of primary networks. */
const LINK = '169.254.90.173';
const MARK = `0x${egressServiceMark('blue/lb').toString(16)}`;

describe('on a primary network', () => {
  const linkRows = (zone: Zone): readonly string[] =>
    rowsOf(zone)
      .filter(({ table }) => table !== 'element' && table !== 'rule')
      .map(({ table, key }) => `${table} ${key}`)
      .toSorted();

  test.each([
    ['shared', (zone: Zone) => zone],
    ['local', inLocalMode],
  ])('what a routing table leads is known by one address, in %s gateway mode', (_mode, inMode) => {
    const zone = inMode(egressServiceZone({ table: 1200 }, {}, 'blue'));
    expect(elementsOf(zone)).toEqual([
      `egress-service-pods-v4 ${LINK}`,
      `egress-service-snat-v4 ${LINK} 172.18.0.240`,
      `egress-service-sources-v4 ${LINK} . 172.18.0.240`,
    ]);
    expect(rulesOf(zone)).toEqual([
      'inet priority 5000 from 10.96.3.3/32 lookup 1200',
      `inet priority 5000 from ${LINK}/32 lookup 1200`,
    ]);
    const others = linkRows(zone).join('\n');
    expect(others).toContain(`neighbour breth0 ${LINK}`);
    expect(others).toContain(`pkt_mark=${MARK}`);
    expect(others).toContain(`nw_dst=${LINK}`);
  });

  test('by its network it leaves with the address of the device', () => {
    const zone = egressServiceZone(
      { table: 1200, isByNetwork: true, host: 'ALL', isHere: false },
      {},
      'blue',
    );
    expect(elementsOf(zone)).toEqual([
      `egress-service-networks-v4 ${LINK}`,
      `egress-service-pods-v4 ${LINK}`,
    ]);
    expect(rulesOf(zone)).toContain(`inet priority 5000 from ${LINK}/32 lookup 1200`);
  });

  test('by another node, or without a table, the host has nothing of it', () => {
    for (const changes of [{ table: 1200, host: 'ovn-worker2', isHere: false }, {}]) {
      const zone = egressServiceZone(changes, {}, 'blue');
      expect([...elementsOf(zone), ...rulesOf(zone)]).toEqual([]);
      expect(linkRows(zone).join('\n')).not.toContain(LINK);
    }
  });

  test("by a tenant's table the host lets nothing of it pass", () => {
    const zone = egressServiceZone({ table: 10_002 }, {}, 'blue');
    expect([...elementsOf(zone), ...rulesOf(zone)]).toEqual([]);
  });
});

/** Which connections of pods that EgressIPs serve have a wrong source. */
import type { Connection, Tuple } from 'rtnetlink-ts';
import { describe, expect, test } from 'vitest';
import { shownConnection } from '../../../../src/node/conntrack/datapath-conntrack.ts';
import { WrongSources } from '../../../../src/node/conntrack/egress-connections.ts';
import { CONNECTIONS } from '../../../../src/node/conntrack/service-connections.ts';
import { egressZone } from '../../../support/host/bridge-zones.ts';
import { hostUnits } from '../../../support/host/host-units.ts';
import { service, withServices } from '../../../support/zone/services.ts';
import { bluePod, bluePodDefault, type Zone } from '../../../support/zone/zones.ts';

const web = {
  ...bluePodDefault,
  namespace: 'default',
  pod: 'web',
  role: 'primary',
  addresses: ['10.244.0.3/24', 'fd00:10:244::3/64'],
} as const;
/** A pod on each network, both under an EgressIP. */
const served: Zone = {
  ...egressZone,
  attachments: [bluePod, web],
  pods: [bluePod, web].map(({ namespace, pod }) => ({
    namespace,
    name: pod,
    node: 'ovn-worker',
    labels: { app: pod },
    namedPorts: [],
  })),
};
const rowsOf = (zone: Zone, table: string) =>
  hostUnits(zone).flatMap(({ unit, rows, failure }) => {
    if (/-connections/.test(unit)) expect(failure, unit).toBeUndefined();
    return rows.filter((row) => row.database === CONNECTIONS && row.table === table);
  });

describe('rows', () => {
  test('are of each address that an EgressIP serves, with what it may leave with, and on primary networks with what the gateway router makes of it', () => {
    const LINKS = ['169.254.39.16', 'fd69::2710'];
    const [v4, v6] = ['172.18.0.200', 'fc00:f853::200'].map((address, n) => [address, LINKS[n]]);
    expect(
      rowsOf(served, 'source').map(({ object, key, columns }) => ({ object, key, columns })),
    ).toEqual([
      {
        object: 'EgressIP out',
        key: '103.103.0.3 169.254.0.11',
        columns: { source: '103.103.0.3', via: '169.254.0.11', right: v4 },
      },
      { object: 'EgressIP out', key: '10.244.0.3 ', columns: { source: '10.244.0.3', right: v4 } },
      {
        object: 'EgressIP out',
        key: 'fd00:10:244::3 ',
        columns: { source: 'fd00:10:244::3', right: v6 },
      },
    ]);
  });

  test('stay as they are while no node has an address', () => {
    const egressIps = (served.egressIps ?? []).map((one) => ({ ...one, items: [] }));
    expect(rowsOf({ ...served, egressIps }, 'source')).toEqual(rowsOf(served, 'source'));
  });

  test('are not there for pods that leave as an EgressService says', () => {
    const lb = service(
      'default/lb',
      { type: 'LoadBalancer', clusterIPs: ['10.96.3.3', 'fd00:10:96::33'] },
      { loadBalancer: { ingress: [{ ip: '172.18.0.239' }] } },
    );
    const zone: Zone = {
      ...withServices(served, lb),
      selectors: { 'default/lb': { app: 'web' } },
      egressServices: [
        {
          key: 'default/lb',
          namespace: 'default',
          name: 'lb',
          created: '',
          isByNetwork: false,
          host: 'ovn-worker',
          isHere: true,
        },
      ],
    };
    expect(rowsOf(zone, 'source').map(({ key }) => key)).toEqual(['103.103.0.3 169.254.0.11']);
  });

  test('have the addresses of nodes while EgressIPs are on', () => {
    expect(rowsOf(egressZone, 'nodes').map(({ columns }) => columns)).toEqual([
      {
        own: ['172.18.0.3', 'fc00:f853::3'],
        all: ['172.18.0.3', 'fc00:f853::3', '172.18.0.4', 'fc00:f853::4'],
      },
    ]);
    const { settings } = egressZone;
    const off = { ...settings, features: { ...settings.features, egressIp: false } };
    expect(rowsOf({ ...egressZone, settings: off }, 'nodes')).toEqual([]);
  });
});

describe('a connection', () => {
  const [POD, WAY, NODE, PEER, OTHER] = [
    '10.244.0.7',
    '169.254.0.13',
    '172.18.0.11',
    '203.0.113.5',
    '172.18.0.12',
  ];
  const nodes = new Set([NODE, OTHER]);
  const tcp = (
    source: string,
    sourcePort: number,
    destination: string,
    destinationPort: number,
  ): Tuple => ({
    source,
    destination,
    protocol: 6,
    sourcePort,
    destinationPort,
    icmp: undefined,
  });
  const translated = (
    source: string,
    port: number,
    to: string,
    as: string,
    asPort = port,
  ): Pick<Connection, 'original' | 'reply'> => ({
    original: tcp(source, port, to, 80),
    reply: tcp(to, 80, as, asPort),
  });

  test('of the default network is wrong by its own source; one to a node is right', () => {
    const found = new WrongSources([{ source: POD, wrong: [NODE], nodes }]);
    expect(found.isWrong(translated(POD, 1, PEER, NODE))).toBe(true);
    expect(found.isWrong(translated(POD, 1, OTHER, NODE))).toBe(false);
    expect(found.isWrong(translated(POD, 1, PEER, POD))).toBe(false);
    expect(found.isWrong(translated(POD, 1, PEER, WAY))).toBe(false);
    expect(found.ways).toEqual([]);
  });

  test('of a primary network is wrong by what the bridge makes of it, also where the gateway router chose another port', () => {
    const found = new WrongSources([{ source: POD, via: WAY, wrong: [NODE], nodes }]);
    expect(found.isWrong(translated(POD, 1, PEER, WAY, 1024))).toBe(false);
    expect(found.ways).toEqual([WAY]);
    expect(found.isWrongBehind(translated(WAY, 1024, PEER, NODE, 2048))).toBe(true);
    expect(found.isWrongBehind(translated(WAY, 1, PEER, NODE))).toBe(false);
    expect(found.isWrongBehind(translated(WAY, 1024, PEER, '172.18.0.50'))).toBe(false);
  });

  test('of ICMP is known by its number', () => {
    const echo = (id: number, type: number) => ({
      protocol: 1,
      sourcePort: undefined,
      destinationPort: undefined,
      icmp: { id, type, code: 0 },
    });
    const ping = (source: string, as: string, id: number, asId: number) => ({
      original: { source, destination: PEER, ...echo(id, 8) },
      reply: { source: PEER, destination: as, ...echo(asId, 0) },
    });
    const found = new WrongSources([{ source: POD, via: WAY, wrong: [NODE], nodes }]);
    found.isWrong(ping(POD, WAY, 7, 8));
    expect(found.isWrongBehind(ping(WAY, NODE, 7, 7))).toBe(false);
    expect(found.isWrongBehind(ping(WAY, NODE, 8, 8))).toBe(true);
  });
});

test('what Open vSwitch shows of a connection is read', () => {
  expect(
    shownConnection(
      'tcp,orig=(src=10.244.0.7,dst=203.0.113.5,sport=4000,dport=80),reply=(src=203.0.113.5,dst=172.18.0.11,sport=80,dport=1024),zone=64000,mark=1,protoinfo=(state=ESTABLISHED)',
    ),
  ).toMatchObject({
    zone: 64_000,
    original: { source: '10.244.0.7', sourcePort: 4000 },
    reply: { destination: '172.18.0.11', destinationPort: 1024 },
  });
  expect(
    shownConnection(
      'icmpv6,orig=(src=fd00::7,dst=2001:db8::5,id=9,type=128,code=0),reply=(src=2001:db8::5,dst=fd00::7,id=9,type=129,code=0)',
    ),
  ).toMatchObject({ zone: 0, original: { icmp: { id: 9, type: 128, code: 0 } } });
  expect(
    shownConnection('gre,orig=(src=10.0.0.1,dst=10.0.0.2),reply=(src=10.0.0.2,dst=10.0.0.1)'),
  ).toBeUndefined();
  expect(shownConnection('')).toBeUndefined();
});

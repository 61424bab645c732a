import { describe, expect, test } from 'vitest';
import { prove, type Verdict } from '../../../src/verify/verify.ts';
import { checkExternalBridge } from '../../../src/verify/checks/external-bridge.ts';
import { Findings } from '../../../src/verify/findings.ts';
import { intentOf } from '../../../src/verify/intent/intent.ts';
import { servicesOf } from '../../../src/verify/intent/services.ts';
import type { Flow, HostState, Snapshot } from '../../../src/verify/snapshot.ts';
import {
  HOST,
  nad,
  NORTHBOUND,
  northboundOf,
  OBJECTS,
  pod,
  snapshot,
} from '../../support/verify/small-zone.ts';

const verify = (snapshot: Parameters<typeof prove>[0]): Verdict => prove(snapshot).verdict;

const found = ({ violations }: Verdict): string[] =>
  violations.map(({ check, where, what }) => `${check}: ${where} ${what}`);

/** What a changed host gives; what is not named is as it should be. */
const ofHost = (more: Partial<HostState>): string[] =>
  found(verify(snapshot({ host: { ...HOST, ...more } })));

const northbound = (
  table: string,
  change: (row: Record<string, unknown>) => object,
  rows = NORTHBOUND,
): Snapshot =>
  snapshot({
    northbound: new Map(
      Object.entries({
        ...rows,
        [table]: (rows[table] ?? []).map((row) => ({ ...row, ...change(row) })),
      }),
    ),
  });

test('two networks of one subnet are apart', () => {
  const verdict = verify(snapshot());
  expect(found(verdict)).toEqual([]);
  expect(verdict.pairs).toEqual({ all: 1, apart: 1, connected: 0 });
  expect(verdict.networks.map(({ name }) => name)).toEqual(['blue_net', 'green_net']);
});

test('a pair of ports between their routers is found, and the pair counts as not apart', () => {
  const verdict = verify(
    northbound('Logical_Router_Port', ({ name }) =>
      name === 'rtos-blue_net_n1' ? { peer: 'rtos-green_net_n1' } : {},
    ),
  );
  expect(found(verdict)).toEqual([
    'cut: Northbound Logical_Router_Port rtos-blue_net_n1 leads from network blue_net to network green_net: no object wants that',
  ]);
  expect(verdict.pairs).toEqual({ all: 1, apart: 0, connected: 0 });
});

test('networks of one namespace may touch, and nobody else', () => {
  const attachmentDefinitions = [
    nad('blue', 1),
    nad('green', 2, { network: 'green' }),
    nad('blue', 2, { network: 'green', name: 'green' }),
  ];
  const rows = northbound(
    'Logical_Router_Port',
    ({ name }) => (name === 'rtos-blue_net_n1' ? { peer: 'rtos-green_n1' } : {}),
    northboundOf('blue_net', 'green'),
  );
  const verdict = verify({ ...rows, objects: { ...OBJECTS, attachmentDefinitions } });
  expect(found(verdict)).toEqual([]);
  expect(verdict.pairs).toEqual({ all: 1, apart: 0, connected: 1 });
  expect(verdict.edges.map(({ object }) => object)).toEqual(['Namespace blue']);
});

test('an id that two networks have is found: their marks and tables would be one', () => {
  const objects = { ...OBJECTS, attachmentDefinitions: [nad('blue', 1), nad('green', 1)] };
  expect(found(verify(snapshot({ objects })))).toEqual(
    expect.arrayContaining([
      expect.stringContaining('identities: network id 1 is of blue_net and of green_net'),
    ]),
  );
});

test('a port of a pod that is gone, or that has another address, is found', () => {
  const gone = { ...OBJECTS, pods: [pod('blue', 'a', 3)] };
  expect(found(verify(snapshot({ objects: gone })))).toEqual([
    expect.stringContaining('ports: Northbound Logical_Switch_Port green.net_green_a'),
  ]);
  const moved = { ...OBJECTS, pods: [pod('blue', 'a', 4), pod('green', 'a', 3)] };
  expect(found(verify(snapshot({ objects: moved })))).toEqual([
    expect.stringContaining('addresses has 0a:58:0a:14:00:03 10.20.0.3, and Pod blue/a has'),
    expect.stringContaining('port_security has'),
  ]);
});

test('what could not be read leaves the verdict open', () => {
  expect(verify(snapshot({ unread: ['nftables: nft is missing'] })).undecided).toEqual([
    'nftables: nft is missing',
  ]);
});

test('the fence of egress addresses is asked by whoever has one, and lets nobody pass but through all tables once more', () => {
  const flow = { table: 12, priority: 100, cookie: '0xdeff12fe', match: '' };
  const asked = { ...flow, table: 0, priority: 710, match: 'ip,reg1=0/0x1,nw_src=172.18.0.60' };
  const bridgeFlows = [
    { ...asked, actions: 'resubmit(,12)' },
    { ...flow, actions: 'load:0x1->NXM_NX_REG1[0],resubmit(,0)' },
    { ...flow, priority: 0, actions: 'drop' },
  ];
  const fenceOf = (flows: readonly Flow[]): readonly string[] => {
    const findings = new Findings();
    const read = snapshot();
    const intent = intentOf(read, findings);
    const services = servicesOf(read.objects, intent);
    checkExternalBridge('br-ex', flows, new Map(), read.settings, intent, services, findings);
    return findings.violations.map(({ where }) => where);
  };
  expect(fenceOf(bridgeFlows)).toEqual([]);
  expect(fenceOf([{ ...asked, actions: 'output:1' }])).toHaveLength(1);
  expect(fenceOf([{ ...flow, actions: 'output:1' }])).toHaveLength(1);
});

test('what a network tells of sizes goes through all tables once more, or nowhere', () => {
  const told = { table: 13, priority: 0, cookie: '0xdeff105', match: '' };
  const flowsOf = (...flows: readonly Flow[]): readonly string[] => {
    const findings = new Findings();
    const read = snapshot();
    const intent = intentOf(read, findings);
    const services = servicesOf(read.objects, intent);
    checkExternalBridge('br-ex', flows, new Map(), read.settings, intent, services, findings);
    return findings.violations.map(({ what }) => what);
  };
  expect(
    flowsOf(
      { ...told, priority: 100, match: 'ip,nw_dst=172.18.0.2', actions: 'drop' },
      { ...told, actions: 'load:0x1->NXM_NX_REG1[1],resubmit(,0)' },
    ),
  ).toEqual([]);
  const passes = 'lets something pass that was to go through all tables once more';
  for (const match of ['', 'ip,in_port=3'])
    for (const actions of ['output:1', 'NORMAL', 'load:0x1->NXM_NX_REG1[0],resubmit(,0)'])
      expect(flowsOf({ ...told, match, actions })).toEqual([passes]);
});

describe('VRFs of the host', () => {
  test('a port in the VRF of another network', () => {
    const links = HOST.links.map((link) =>
      link.name === 'ovn-k8s-mp1' ? { ...link, master: 'mp2-udn-vrf' } : link,
    );
    expect(ofHost({ links })).toEqual([
      'host routing: link ovn-k8s-mp1 is in VRF mp2-udn-vrf of network green_net, and is the port of network blue_net',
    ]);
  });

  test('a stranger in a VRF, and a port in none', () => {
    const links = HOST.links.map((link) =>
      link.name === 'ovn-k8s-mp1' ? { name: link.name } : link,
    );
    expect(ofHost({ links: [...links, { name: 'eth5', master: 'mp1-udn-vrf' }] })).toEqual([
      "host routing: link ovn-k8s-mp1 of network blue_net is in no VRF of its own: what it sends is routed as the host's",
      'host routing: link eth5 is in VRF mp1-udn-vrf of network blue_net, and is not its port',
    ]);
  });

  test('two VRFs of one table', () => {
    expect(ofHost({ links: [...HOST.links, { name: 'vrf9', table: 10_001 }] })).toEqual([
      'identities: link vrf9 is a VRF with routing table 10001, as mp1-udn-vrf is',
    ]);
  });

  test('a route of a VRF that leads into another network, by its port or its VRF', () => {
    const leak = (device: string) =>
      ({
        table: 10_001,
        family: 'v4',
        destination: '10.99.0.0/16',
        isUnicast: true,
        hops: [{ device }],
      }) as const;
    for (const device of ['ovn-k8s-mp2', 'mp2-udn-vrf'])
      expect(ofHost({ routes: [...HOST.routes, leak(device)] })).toEqual([
        `host routing: route 10.99.0.0/16 dev ${device} table 10001 leads from network blue_net into network green_net: no object wants that`,
      ]);
  });

  test('a table without its end goes on to tables of the host', () => {
    const routes = HOST.routes.filter(({ table, isUnicast }) => table !== 10_002 || isUnicast);
    expect(ofHost({ routes })).toEqual([
      'host routing: table 10002 of VRF mp2-udn-vrf has no last route "unreachable default" (v4): what it has no route for goes on to tables of the host',
    ]);
  });

  test('rules: the mark of one network to another table, a mask, a source', () => {
    const rule = { priority: 1999, family: 'v4', isL3mdev: false, isWider: false } as const;
    const rules = [
      { ...rule, mark: 0x1001, table: 10_002 },
      { ...rule, mark: 0x1001, table: 10_001, isWider: true },
      { ...rule, source: '172.18.0.9/32', table: 10_001 },
    ];
    expect(ofHost({ rules: [...HOST.rules, ...rules] })).toEqual([
      'host routing: ip rule 1999: fwmark 0x1001 lookup 10002 leads what is marked for network blue_net to the table of network green_net',
      'host routing: ip rule 1999: fwmark 0x1001 lookup 10001 leads into the table of network blue_net: no object wants that',
      'host routing: ip rule 1999: from 172.18.0.9/32 lookup 10001 leads into the table of network blue_net: no object wants that',
    ]);
  });
});

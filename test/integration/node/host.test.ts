import { NetworkMonitor } from '../../../src/node/linux/network-monitor.ts';
import { unknownOf } from '../../../src/model/zone/unknown.ts';
import { hostOfUnknown } from '../../../src/node/unknown-host.ts';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { bridgePorts } from '../../../src/node/openflow/bridge-ports.ts';
import { HostController, type HostChange } from '../../../src/node/node-agent.ts';
import { openDatabase, type OpenDatabase } from '../../../src/databases/open-database.ts';
import { hostTables } from '../../../src/zone/host.ts';
import { createLogger } from '../../../src/process/logger.ts';
import type { Attachment } from '../../../src/model/model.ts';
import { Engine } from '../../../src/desired/engine.ts';
import type { ZoneFacts } from '../../../src/model/zone/zone.ts';
import { ConnectionDriver } from '../../../src/node/conntrack/connection-driver.ts';
import { Conntrack } from '../../../src/node/conntrack/conntrack.ts';
import { openConntrackSocket } from '../../../src/node/linux/network-socket.ts';
import { FlowDriver } from '../../../src/node/openflow/flow-driver.ts';
import { HealthCheckServers } from '../../../src/node/health-checks/health-check-servers.ts';
import { LinuxDriver } from '../../../src/node/linux/linux-driver.ts';
import { NftDriver } from '../../../src/node/nftables/nft-driver.ts';
import { OfctlProgram } from '../../../src/node/openflow/ofctl-program.ts';
import { HOST_SETTINGS } from '../../support/host/host-units.ts';
import { NetworkNamespace, whyNoNamespace } from '../../support/host/network-namespace.ts';
import { nftIn, runNft } from '../../support/host/nft-program.ts';
import { OvsdbServer, runOvs, SCHEMAS } from '../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../support/run/until.ts';
import { egressServiceZone } from '../../support/zone/egress-services.ts';
import {
  blue,
  bluePodDefault,
  defaultNetwork,
  exampleZone,
  factsOf,
  yellow,
  type Zone,
} from '../../support/zone/zones.ts';

/** The default network alone: it needs no VRF. */
const zone: Zone = { ...exampleZone, networks: [defaultNetwork] };

/** The local database is a real server; what ovs-vswitchd does, which is not there, the tests do. */
describe.skipIf(whyNoNamespace !== undefined)('the host of a node', () => {
  const log = createLogger('silent');
  const signal = AbortSignal.timeout(60_000);
  let server: OvsdbServer;
  let namespace: NetworkNamespace;
  let database: OpenDatabase;
  let monitor: NetworkMonitor;
  let controller: HostController;
  let changes: HostChange[] = [];

  const vsctl = (...words: string[]): Promise<string> =>
    runOvs('ovs-vsctl', [`--db=${server.remote}`, '--no-wait', '--timeout=10', ...words]);

  const open = async (): Promise<void> => {
    database = openDatabase({
      name: 'Open_vSwitch',
      flag: '--ovs',
      remotes: server.remote,
      tls: {},
      tables: hostTables(HOST_SETTINGS),
      lock: 'heddle_host',
      log,
    });
    monitor = new NetworkMonitor({ namespace: namespace.path });
    const linux = new LinuxDriver({
      namespace: namespace.path,
      monitor,
      sysctls: namespace.sysctls,
    });
    // Before the database is loaded.
    const ofctl = new OfctlProgram({ folder: server.folder });
    const flows = new FlowDriver({
      ofctl,
      ports: bridgePorts(() => database.replica),
    });
    const settings = HOST_SETTINGS;
    const nft = new NftDriver({ nft: nftIn(namespace), cgroups: { find: () => undefined } });
    controller = new HostController({
      settings,
      openVswitch: database,
      linux,
      nft,
      flows,
      ofctl,
      healthChecks: new HealthCheckServers(),
      connections: new ConnectionDriver([new Conntrack(openConntrackSocket)]),
      log,
      onChange: (change) => changes.push(change),
    });
    linux.start();
    await nft.start();
    await database.ready(signal);
  };

  const close = async (): Promise<void> => {
    await controller[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  };

  const build = (facts = factsOf(zone)): Engine<ZoneFacts> => {
    const { recorder } = facts;
    const engine = new Engine({
      facts,
      recorder,
      refresh: () => facts.refresh(0),
      features: controller.features,
    });
    engine.connect(controller.targets);
    engine.build();
    return engine;
  };

  /** Links, addresses, routes, rules and nftables of the host. */
  const everything = (): string =>
    `${namespace.picture()}\n${runNft(nftIn(namespace), 'list ruleset')}`;

  const settled = async (isComplete = true): Promise<void> => {
    await until('the host to be settled', async () => {
      if ((await controller.flush(isComplete ? undefined : () => true, signal)) !== undefined)
        return false;
      const { linux, nft, openVswitch } = await controller.plans(
        isComplete ? undefined : () => true,
      );
      return linux.isEmpty && nft.isEmpty && openVswitch.isEmpty;
    });
  };

  beforeEach(async () => {
    server = await OvsdbServer.start({ schema: join(SCHEMAS, 'vswitch.ovsschema') });
    namespace = await NetworkNamespace.create();
    for (const line of [
      'link add name breth0 type bridge',
      'link set dev breth0 up',
      'address add 172.18.0.3/16 dev breth0',
    ])
      namespace.ip(line);
    await open();
  });
  afterEach(async () => {
    await close();
    monitor[Symbol.dispose]();
    namespace[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
  });

  test('a pod on the integration bridge is nothing to the host; bridges, tunnels, settings and its own ports are', async () => {
    await vsctl('init');
    await vsctl('add-br', 'br-int', '--', 'add-br', 'breth0');
    build();
    await settled();
    let calls = 0;
    controller.onRows(() => (calls += 1));
    /** How often the host was to be looked at for a command, seen by a change that comes after it. */
    const callsOf = async (...words: string[]): Promise<number> => {
      calls = 0;
      await vsctl(...words);
      const mark = String(database.replica.sequence);
      await vsctl('set', 'Open_vSwitch', '.', `external_ids:mark=${mark}`);
      await until('the mark', () => {
        const [row] = database.replica.rows('Open_vSwitch');
        return row?.includes('external_ids', 'mark', mark) === true;
      });
      return calls - 1;
    };
    const pod = ['Interface', 'fedcba987654321'];
    expect([
      await callsOf('add-port', 'br-int', pod[1] ?? ''),
      await callsOf('set', ...pod, 'ofport=7', 'external_ids:iface-id=blue_web'),
      await callsOf('set', ...pod, 'external_ids:ovn-installed=true'),
      await callsOf('set', 'Bridge', 'br-int', 'external_ids:ovn-nb-cfg=8'),
      await callsOf('del-port', 'br-int', pod[1] ?? ''),
    ]).toEqual([0, 0, 0, 0, 0]);
    const tunnel = ['set', 'Interface', 'ovn-b-0'];
    expect([
      await callsOf('add-port', 'breth0', 'eth0'),
      await callsOf('set', 'Interface', 'eth0', 'ofport=1'),
      await callsOf('del-port', 'breth0', 'eth0'),
      await callsOf('add-port', 'br-int', 'ovn-b-0', '--', ...tunnel, 'type=geneve'),
      await callsOf(...tunnel, 'status:tunnel_egress_iface_carrier=down'),
      await callsOf('del-port', 'br-int', 'ovn-b-0'),
      await callsOf('set', 'Interface', 'ovn-k8s-mp0', 'type=""'),
    ]).toEqual([1, 1, 1, 1, 1, 1, 1]);
    await settled();
    expect(await callsOf('del-port', 'br-int', 'ovn-k8s-mp0')).toBe(1);
    await settled();
    // One that nobody wants is ours by its mark.
    const old = ['add-port', 'br-int', 'ovn-k8s-mp9', '--', 'set', 'Port', 'ovn-k8s-mp9'];
    expect(await callsOf(...old, 'external_ids:heddle="Settings"')).toBe(1);
    await settled();
    expect(await vsctl('list-ports', 'br-int')).toBe('ovn-k8s-mp0\n');
  });

  test('waits for the integration bridge, asks for ports, uses their devices, and goes without a trace', async () => {
    await vsctl('init');
    const before = namespace.picture();
    const engine = build();
    await settled();
    expect(controller.awaited).toMatch(/ovn-k8s-mp0 is not there yet|Bridge/);
    expect(await vsctl('show')).not.toContain('ovn-k8s-mp0');
    await vsctl(
      'add-br',
      'br-int',
      '--',
      'add-port',
      'br-int',
      'other',
      '--',
      'set',
      'Interface',
      'other',
      'type=internal',
    );
    const withBridge = await vsctl('show');
    await until('the port', async () => {
      await settled();
      return (await vsctl('list-ports', 'br-int')).includes('ovn-k8s-mp0');
    });
    expect(
      await vsctl(
        'get',
        'Interface',
        'ovn-k8s-mp0',
        'type',
        'mac',
        'mtu_request',
        'external_ids:iface-id',
      ),
    ).toBe('internal\n"0a:58:0a:f4:00:02"\n1400\nk8s-ovn-worker\n');
    // ovn-controller has a key of its own there.
    await vsctl('set', 'Interface', 'ovn-k8s-mp0', 'external_ids:ovn-installed=true');
    namespace.ip('link add name ovn-k8s-mp0 type bridge');
    expect(controller.awaited).toContain('ovn-k8s-mp0 is not there yet');
    namespace.ip('link set dev ovn-k8s-mp0 address 0a:58:0a:f4:00:02');
    await until('the device to be used', async () => {
      await settled();
      return namespace.ip('route show').includes('10.244.0.0/16 via 10.244.0.1 dev ovn-k8s-mp0');
    });
    expect(await vsctl('get', 'Interface', 'ovn-k8s-mp0', 'external_ids:ovn-installed')).toBe(
      '"true"\n',
    );
    expect(engine.isComplete).toBe(true);
    // The bridge is none of Open vSwitch here.
    expect(controller.problems().map(({ message }) => message)).toEqual([
      'bridge breth0 is not there yet',
    ]);

    // Another process finds everything right; one that knows of nothing wanted removes nothing until it knows that it is nothing.
    const right = namespace.picture();
    await close();
    await open();
    build();
    const { linux, openVswitch } = await controller.plans();
    expect([linux.changes, openVswitch.changes]).toEqual([[], []]);
    await close();
    await open();
    await settled(false);
    expect(namespace.picture()).toBe(right);
    await settled();
    expect(await vsctl('show')).toBe(withBridge);
    namespace.ip('link delete dev ovn-k8s-mp0'); // as ovs-vswitchd does
    expect(namespace.picture()).toBe(before);
  });

  test('what it has is counted, and what others changed is told from what is wanted anew', async () => {
    changes = [];
    build();
    await settled();
    const rules = [...controller.counts()].find(
      ([name, table]) => name === 'nftables' && table === 'chain',
    );
    expect(rules?.[2]).toBeGreaterThan(5);
    expect(changes.find(({ database: name }) => name === 'nftables')).toMatchObject({
      repaired: [],
      written: expect.arrayContaining([
        expect.objectContaining({ action: 'add', table: 'chain' }),
      ]) as unknown,
      by: [],
      refused: 0,
    });
    changes = [];
    runNft(nftIn(namespace), 'flush ruleset');
    await until('the table to be there again', async () => {
      await settled();
      return changes.length > 0;
    });
    // The kernel tells which program it was.
    const by = [expect.stringMatching(/^\S+ \(process \d+\)$/)];
    expect(changes).toMatchObject([{ database: 'nftables', by, refused: 0 }]);
    expect(changes[0]?.applied).toBeGreaterThan(5);
    expect(changes[0]?.repaired).toHaveLength(changes[0]?.applied ?? 0);
    expect(changes[0]?.written).toEqual([]);
  });

  test('of a network that the masquerade subnet has no room for any more what is there stays, and others go on', async () => {
    const both: Zone = {
      ...zone,
      namespaces: [...zone.namespaces, 'yellow'],
      networks: [defaultNetwork, blue, yellow],
    };
    for (const device of ['ovn-k8s-mp0', 'ovn-k8s-mp1', 'ovn-k8s-mp3'])
      namespace.ip(`link add name ${device} type bridge`);
    await vsctl('init', '--', 'add-br', 'br-int');
    const wholly = build(factsOf(both));
    expect(wholly.isComplete).toBe(true);
    // A kernel without VRFs refuses these: what does not need them is there.
    await until('nothing to be done any more', async () => {
      const before = everything();
      await controller.flush(undefined, signal);
      return before === everything() && before.includes('ovn-k8s-mp3');
    });
    const ofYellow = (): string[] =>
      everything()
        .split('\n')
        .filter((line) => /mp3\b|\b10003\b|169\.254\.0\.1[56]\b|\b105\.105\./.test(line))
        .map((line) => line.trim());
    const before = ofYellow();
    expect(before.length).toBeGreaterThan(2);
    await close();
    await open();
    const settings = { ...both.settings, masqueradeSubnets: { v4: '169.254.0.0/28' } };
    const facts = factsOf({ ...both, settings });
    const small = build(facts);
    const unbuilt = small.unbuiltOf(controller.features);
    const mayBeWanted = hostOfUnknown(facts, unknownOf(facts, []), unbuilt);
    expect(mayBeWanted).toBeDefined();
    for (let pass = 0; pass < 3; pass += 1) await controller.flush(mayBeWanted, signal);
    // The kernel adds the broadcast address of the smaller subnet.
    expect(ofYellow()).toEqual(expect.arrayContaining(before));
  });

  test('what leads a pod to a network card with its egress address goes before what keeps the pod from leaving by it as the node', async () => {
    namespace.ip('link add name eth1 type bridge');
    namespace.ip('link set dev eth1 up');
    await vsctl('init');
    const pod: Attachment = {
      ...bluePodDefault,
      namespace: 'default',
      pod: 'web',
      role: 'primary',
    };
    const { node } = zone;
    const facts = factsOf({
      ...zone,
      node: {
        ...node,
        ...(node.gateway === undefined ? {} : { gateway: { ...node.gateway, mode: 'local' } }),
      },
      attachments: [pod],
      pods: [{ namespace: 'default', name: 'web', node: 'ovn-worker', labels: {}, namedPorts: [] }],
      hostCards: [{ device: 'eth1', index: 7, networks: ['10.9.0.0/24'], routes: {} }],
      egressIps: [
        {
          name: 'out',
          created: '2026-01-01T00:00:00Z',
          namespaceSelector: {},
          podSelector: {},
          families: ['v4'],
          items: [{ node: 'ovn-worker', address: '10.9.0.50' }],
          isHere: true,
        },
      ],
    });
    const engine = build(facts);
    await settled();
    const led = (): boolean => /^6000:/m.test(namespace.ip('rule show'));
    expect(led()).toBe(true);
    facts.egressIps.delete('out');
    engine.build();
    changes = [];
    await settled();
    expect(led()).toBe(false);
    // Rules; what nftables had for them; everything else.
    expect(changes.map(({ database: name }) => name)).toEqual(['Linux', 'nftables', 'Linux']);
  });

  test("what leads an EgressService's pods into its routing table comes before what lets them leave, and goes after it", async () => {
    await vsctl('init');
    const { egressServices: _none, ...others } = egressServiceZone({ table: 1200 });
    const facts = factsOf({ ...others, networks: [defaultNetwork] });
    const [own] = egressServiceZone({ table: 1200 }).egressServices ?? [];
    if (own === undefined) throw new Error('no EgressService');
    const engine = build(facts);
    await settled();
    const led = (): boolean => /^5000:.*lookup 1200/m.test(namespace.ip('rule show'));
    expect(led()).toBe(false);
    changes = [];
    facts.egressServices.put([own.namespace, own.name], own);
    engine.build();
    await settled();
    expect(led()).toBe(true);
    expect(changes.map(({ database: name }) => name)).toEqual(['Linux', 'nftables']);
    changes = [];
    facts.egressServices.delete([own.namespace, own.name]);
    engine.build();
    await settled();
    expect(led()).toBe(false);
    expect(changes.map(({ database: name }) => name)).toEqual(['nftables', 'Linux']);
  });

  test('is kept by one process at a time', async () => {
    const other = openDatabase({
      name: 'Open_vSwitch',
      flag: '--ovs',
      remotes: server.remote,
      tls: {},
      tables: hostTables(HOST_SETTINGS),
      lock: 'heddle_host',
      log,
    });
    await until(
      'the other one to be told',
      () => other.unavailable()?.includes('another Heddle process holds the lock') === true,
    );
    await other[Symbol.asyncDispose]();
  });
});

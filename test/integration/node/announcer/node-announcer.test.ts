import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { egressIPs, nodes } from '../../../../src/api/kinds.ts';
import { openHost, type OpenHost } from '../../../../src/zone/host.ts';
import { createLogger } from '../../../../src/process/logger.ts';
import { openStore, type OpenObjects } from '../../../../src/settings/object-store.ts';
import { DEFAULT_SETTINGS } from '../../../../src/model/settings.ts';
import {
  NodeAnnouncer,
  type AnnouncedNetworksDown,
} from '../../../../src/node/announcer/node-announcer.ts';
import { Informers } from '../../../../src/store/informers.ts';
import { node } from '../../../support/cluster/cluster.ts';
import { HOST_SETTINGS } from '../../../support/host/host-units.ts';
import { NetworkNamespace, whyNoNamespace } from '../../../support/host/network-namespace.ts';
import {
  OvsdbServer,
  runOvs,
  SCHEMAS,
  temporaryFolder,
} from '../../../support/ovsdb/ovsdb-server.ts';

const SOON = { timeout: 10_000, interval: 50 };
const KEY = 'k8s.ovn.org/';

/** The local database, the kernel and the objects are real; a bridge of the kernel stands for one of Open vSwitch. */
describe.skipIf(whyNoNamespace !== undefined)('what a node tells the cluster of itself', () => {
  const log = createLogger('silent');
  let folder: ReturnType<typeof temporaryFolder>;
  let server: OvsdbServer;
  let namespace: NetworkNamespace;
  let objects: OpenObjects;
  let running: AsyncDisposable;
  let announcer: NodeAnnouncer;
  /** Egress addresses that OVN answers for. */
  let prepared: readonly string[];
  let onHost: readonly string[];
  let networksDown: AnnouncedNetworksDown;

  const vsctl = (...words: string[]): Promise<string> =>
    runOvs('ovs-vsctl', [`--db=${server.remote}`, '--no-wait', '--timeout=10', ...words]);
  const setting = (key: string, value: string): Promise<string> =>
    vsctl('set', 'Open_vSwitch', '.', `external_ids:${key}="${value}"`);
  const annotations = async (name = 'n1'): Promise<Readonly<Record<string, string>>> =>
    (await objects.objects.get(nodes, name))?.metadata.annotations ?? {};
  const annotation = async (key: string): Promise<string | undefined> =>
    (await annotations())[`${KEY}${key}`];
  const version = async (): Promise<string | undefined> =>
    (await objects.objects.get(nodes, 'n1'))?.metadata.resourceVersion;
  const problem = (): string => announcer.problems()[0]?.message ?? 'none';
  const declare = (...all: readonly object[]): void =>
    writeFileSync(
      join(folder.path, 'manifests/nodes.yaml'),
      all.map((one) => stringify(one)).join('---\n'),
    );

  const start = (): AsyncDisposable => {
    const stop = new AbortController();
    const informers = new Informers({ store: objects.objects, log });
    const host: OpenHost = openHost({
      configuration: { tls: {}, host: HOST_SETTINGS, sysctlFolder: '/proc/sys' },
      openVswitch: server.remote,
      mayWrite: true,
      log,
      namespace: namespace.path,
      onWork: () => undefined,
      onExternalIds: () => announcer.openVswitchChanged(),
    });
    announcer = new NodeAnnouncer({
      informers,
      node: 'n1',
      settings: DEFAULT_SETTINGS,
      gateway: { mode: 'shared', nextHops: [], vlan: 0 },
      openVswitch: () => host.externalIds(),
      namespace: host.namespace,
      monitor: host.monitor,
      log,
      preparedEgressAddresses: () => prepared,
      networksDown: () => networksDown,
      onEgressAddresses: (found) => {
        onHost = found.map(({ address, device }) => `${address} ${device}`);
      },
      signal: stop.signal,
    });
    const ended = Promise.all([informers.run(stop.signal), announcer.run()]);
    return {
      async [Symbol.asyncDispose]() {
        stop.abort();
        await ended;
        await host[Symbol.asyncDispose]();
      },
    };
  };

  beforeEach(async () => {
    prepared = [];
    onHost = [];
    networksDown = undefined;
    folder = temporaryFolder();
    mkdirSync(join(folder.path, 'manifests'));
    declare(node('n1'), node('n2'));
    server = await OvsdbServer.start({ schema: join(SCHEMAS, 'vswitch.ovsschema') });
    namespace = await NetworkNamespace.create();
    objects = await openStore(
      {
        kind: 'manifests',
        manifests: join(folder.path, 'manifests'),
        state: join(folder.path, 'state'),
      },
      { dryRun: false },
    );
    for (const line of [
      'link add name br-ex type bridge',
      'link set dev br-ex address 0a:58:ac:12:00:03',
      'link set dev br-ex up',
      'address add 172.18.0.3/16 dev br-ex',
      'route add default via 172.18.0.1',
    ])
      namespace.ip(line);
    running = start();
  });
  afterEach(async () => {
    await running[Symbol.asyncDispose]();
    await objects[Symbol.asyncDispose]();
    namespace[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  /** As Open vSwitch and its administrator do. */
  const configure = async (): Promise<void> => {
    await vsctl('init');
    await setting('ovn-encap-type', 'geneve');
    await setting('ovn-encap-ip', '172.18.0.3');
    await setting('ovn-bridge-mappings', 'physnet:br-ex');
    await setting('system-id', 'b1f96182-2bdd-42b6-88f9-9a1fc1c85ece');
  };

  test('names egress addresses before the host has them, and until neither it nor OVN does', async () => {
    await configure();
    await expect.poll(() => annotation('host-cidrs'), SOON).toBe('["172.18.0.3/16"]');
    const assign = (...items: readonly object[]): Promise<unknown> =>
      objects.objects.patchStatus(egressIPs, 'out', { status: { items } }, { fieldManager: 'm' });
    await objects.objects.create(
      egressIPs,
      {
        apiVersion: 'k8s.ovn.org/v1',
        kind: 'EgressIP',
        metadata: { name: 'out' },
        spec: { egressIPs: ['172.18.0.50'], namespaceSelector: {} },
      },
      { fieldManager: 'user' },
    );
    await assign({ node: 'n2', egressIP: '172.18.0.50' });
    await assign({ node: 'n1', egressIP: '172.18.0.50' });
    await expect.poll(() => annotation('bridge-egress-ips'), SOON).toBe('["172.18.0.50"]');
    namespace.ip('address add 172.18.0.50/32 dev br-ex proto 85');
    await expect.poll(() => onHost, SOON).toEqual(['172.18.0.50 br-ex']);
    await assign({ node: 'n2', egressIP: '172.18.0.50' });
    expect(await annotation('bridge-egress-ips')).toBe('["172.18.0.50"]');
    namespace.ip('address delete 172.18.0.50/32 dev br-ex');
    await expect.poll(() => onHost, SOON).toEqual([]);
    await expect.poll(() => annotation('bridge-egress-ips'), SOON).toBeUndefined();
    // It never was one of the host's own.
    expect(await annotation('host-cidrs')).toBe('["172.18.0.3/16"]');
  });

  test('names those of other network cards apart', async () => {
    await configure();
    namespace.ip('link add name eth1 type bridge');
    namespace.ip('address add 10.9.0.3/24 dev eth1');
    await objects.objects.create(
      egressIPs,
      {
        apiVersion: 'k8s.ovn.org/v1',
        kind: 'EgressIP',
        metadata: { name: 'out' },
        spec: { egressIPs: ['172.18.0.50', '10.9.0.50'], namespaceSelector: {} },
      },
      { fieldManager: 'user' },
    );
    const assign = (...addresses: readonly string[]): Promise<unknown> =>
      objects.objects.patchStatus(
        egressIPs,
        'out',
        { status: { items: addresses.map((egressIP) => ({ node: 'n1', egressIP })) } },
        { fieldManager: 'm' },
      );
    await assign('172.18.0.50', '10.9.0.50');
    await expect.poll(() => annotation('secondary-host-egress-ips'), SOON).toBe('["10.9.0.50"]');
    expect(await annotation('bridge-egress-ips')).toBe('["172.18.0.50"]');
    namespace.ip('address add 10.9.0.50/32 dev eth1 proto 85');
    await expect.poll(() => onHost, SOON).toEqual(['10.9.0.50 eth1']);
    expect(await annotation('host-cidrs')).toBe('["10.9.0.3/24","172.18.0.3/16"]');
    await assign('172.18.0.50');
    namespace.ip('address delete 10.9.0.50/32 dev eth1');
    await expect.poll(() => annotation('secondary-host-egress-ips'), SOON).toBeUndefined();
  });

  test('a node without its bridge names the networks by which nothing leaves, and says that it has let go', async () => {
    await configure();
    await expect.poll(() => annotation('host-cidrs'), SOON).toBe('["172.18.0.3/16"]');
    const object = {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'EgressIP',
      metadata: { name: 'out' },
      spec: { egressIPs: ['172.18.0.50'], namespaceSelector: {} },
    } as const;
    await objects.objects.create(egressIPs, object, { fieldManager: 'user' });
    const assign = (node: string): Promise<unknown> =>
      objects.objects.patchStatus(
        egressIPs,
        'out',
        { status: { items: [{ node, egressIP: '172.18.0.50' }] } },
        { fieldManager: 'm' },
      );
    await assign('n1');
    namespace.ip('address add 172.18.0.50/32 dev br-ex proto 85');
    await expect.poll(() => onHost, SOON).toEqual(['172.18.0.50 br-ex']);
    expect(await annotation('bridge-egress-ips')).toBe('["172.18.0.50"]');
    const before = await annotations();
    namespace.ip('link delete dev br-ex');
    const networks = new Map([['172.18.0.0/16', 'Open vSwitch has no bridge br-ex']]);
    networksDown = { daemon: 'n1_1', networks };
    await expect.poll(problem, SOON).toContain('must be an address of this host');
    announcer.egressChanged();
    const down =
      '{"daemon":"n1_1","networks":{"172.18.0.0/16":"Open vSwitch has no bridge br-ex"}}';
    await expect.poll(() => annotation('egress-networks-down'), SOON).toBe(down);
    expect(await annotations()).toEqual({ ...before, [`${KEY}egress-networks-down`]: down });
    await assign('n2');
    await expect.poll(() => annotation('bridge-egress-ips'), SOON).toBeUndefined();
    // A daemon that starts leaves it until it knows.
    networksDown = 'as before';
    announcer.egressChanged();
    await announcer.caughtUp();
    expect(await annotation('egress-networks-down')).toBe(down);
    networksDown = undefined;
    announcer.egressChanged();
    await expect.poll(() => annotation('egress-networks-down'), SOON).toBeUndefined();
  });

  test('is written when all of it is known, and follows the host and Open vSwitch', async () => {
    await expect.poll(problem, SOON).toContain('Open vSwitch is not started');
    await vsctl('init');
    await setting('ovn-encap-type', 'geneve');
    await setting('ovn-encap-ip', '172.18.0.3');
    await expect.poll(problem, SOON).toContain('external_ids:system-id');
    expect(await annotations()).toEqual({});
    await configure();
    await expect
      .poll(() => annotations(), SOON)
      .toEqual({
        [`${KEY}node-chassis-id`]: 'b1f96182-2bdd-42b6-88f9-9a1fc1c85ece',
        [`${KEY}l3-gateway-config`]:
          '{"default":{"mode":"shared","bridge-id":"br-ex","interface-id":"br-ex_n1","mac-address":"0a:58:ac:12:00:03","ip-addresses":["172.18.0.3/16"],"ip-address":"172.18.0.3/16","next-hops":["172.18.0.1"],"next-hop":"172.18.0.1","node-port-enable":"true","vlan-id":"0"}}',
        [`${KEY}node-primary-ifaddr`]: '{"ipv4":"172.18.0.3/16"}',
        [`${KEY}host-cidrs`]: '["172.18.0.3/16"]',
        [`${KEY}node-encap-ips`]: '["172.18.0.3"]',
        [`${KEY}node-masquerade-subnet`]: '{"ipv4":"169.254.0.0/17","ipv6":"fd69::/112"}',
        [`${KEY}layer2-topology-version`]: '2.0',
      });
    expect(problem()).toBe('none');

    namespace.ip('link add name eth1 type bridge');
    namespace.ip('address add 10.9.0.3/24 dev eth1');
    await expect.poll(() => annotation('host-cidrs'), SOON).toBe('["10.9.0.3/24","172.18.0.3/16"]');
    namespace.ip('route replace default via 172.18.0.254');
    await expect.poll(() => annotation('l3-gateway-config'), SOON).toContain('"172.18.0.254"');
    namespace.ip('link set dev br-ex address 0a:58:ac:12:00:33');
    await expect.poll(() => annotation('l3-gateway-config'), SOON).toContain('0a:58:ac:12:00:33');
    await setting('ovn-encap-ip', '172.18.0.3,10.9.0.3');
    await expect.poll(() => annotation('node-encap-ips'), SOON).toBe('["172.18.0.3","10.9.0.3"]');
    expect(await annotations('n2')).toEqual({});
  });

  test('stays while the host can not say it anew, and is written once', async () => {
    await configure();
    await expect.poll(() => annotation('node-chassis-id'), SOON).toBeDefined();
    const before = await annotations();
    const written = await version();
    namespace.ip('link set dev br-ex down');
    await expect.poll(problem, SOON).toContain('no IPv4 default route over br-ex');
    expect(await annotations()).toEqual(before);
    namespace.ip('link set dev br-ex up');
    namespace.ip('route add default via 172.18.0.1');
    await expect.poll(problem, SOON).toBe('none');
    await running[Symbol.asyncDispose]();
    running = start();
    await announcer.caughtUp();
    await expect.poll(problem, SOON).toBe('none');
    expect(await version()).toBe(written);
  });

  test('replaces what a manifest says wrongly, but for which machine the node is', async () => {
    const wrong = { [`${KEY}node-encap-ips`]: '["192.0.2.1"]', other: 'stays' };
    declare(node('n1', wrong));
    await configure();
    await expect.poll(() => annotation('node-encap-ips'), SOON).toBe('["172.18.0.3"]');
    expect((await annotations())['other']).toBe('stays');

    await setting('system-id', 'another');
    await expect.poll(problem, SOON).toContain('and the system-id of the local Open vSwitch');
    expect(await annotation('node-chassis-id')).toBe('b1f96182-2bdd-42b6-88f9-9a1fc1c85ece');
    await setting('ovn-encap-ip', '172.18.0.9');
    namespace.ip('address add 172.18.0.9/16 dev br-ex');
    await setting('system-id', 'one-more');
    await expect.poll(problem, SOON).toContain('"one-more": Heddle writes nothing about a node');
    expect(await annotation('node-encap-ips')).toBe('["172.18.0.3"]');
  });
});

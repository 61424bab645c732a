/** The CNI plugin as a runtime calls it: the shim, the daemon's socket, a real ovsdb-server and the kernel. ovn-controller is the test. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pods } from '../../../src/api/kinds.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import {
  installConflist,
  installPlugin,
  removeConflist,
  removePlugin,
} from '../../../src/cni/install/plugin-files.ts';
import { FORGETTING } from '../../../src/cni/server/pod-connections.ts';
import { startCniNode, type CniNode, type CniNodeOptions } from '../../support/host/cni-node.ts';
import { bound } from '../../support/run/left-behind.ts';
import { NetworkNamespace, whyNoNamespace } from '../../support/host/network-namespace.ts';
import { ovsProgram } from '../../support/host/ovs-programs.ts';
import { OvsdbServer, runOvs, SCHEMAS } from '../../support/ovsdb/ovsdb-server.ts';
import { nad, pod } from '../../support/zone/pods.ts';
import { until } from '../../support/run/until.ts';

const ID = '0123456789abcdef'.repeat(4);
const OTHER = 'fedcba9876543210'.repeat(4);
const EVERYTHING = { cniVersion: '1.1.0', name: 'ovn-kubernetes', type: 'heddle-cni' };
const objects = [
  nad('blue/l3-net', 'blue_l3-net'),
  pod('blue/web', 'n1', [
    {
      nadKey: 'default',
      address: '10.244.1.5/24',
      role: 'infrastructure-locked',
      routes: [{ dest: '10.244.0.0/16', nextHop: '10.244.1.1' }],
    },
    {
      nadKey: 'blue/l3-net',
      address: '10.20.1.5/24',
      role: 'primary',
      gateway: '10.20.1.1',
      routes: [{ dest: '10.96.0.0/16', nextHop: '10.20.1.1' }],
    },
  ]),
  pod('blue/six', 'n1', [
    {
      nadKey: 'default',
      address: 'fd00::5/64',
      role: 'primary',
      gateway: 'fd00::1',
      routes: [{ dest: 'fd96::/112', nextHop: 'fd00::1' }],
    },
  ]),
];

interface Call {
  readonly pod?: string;
  readonly id?: string;
  readonly config?: object;
  readonly variables?: object;
}

interface Answer {
  readonly code: number | null;
  readonly body: unknown;
  /** On standard error, which runtimes show where there is no body. */
  readonly said?: string;
}

/** How curl ends when the daemon answered with an error. */
const REFUSED = 22;

describe.skipIf(whyNoNamespace !== undefined)('the CNI plugin', () => {
  let server: OvsdbServer;
  let host: NetworkNamespace;
  let inside: NetworkNamespace;
  let node: CniNode | undefined;
  let options: CniNodeOptions;
  let plugin: string;
  let path: string;

  const vsctl = (...words: string[]): Promise<string> =>
    runOvs('ovs-vsctl', [`--db=${server.remote}`, '--no-wait', '--timeout=10', ...words]);
  const ports = async (): Promise<string[]> =>
    (await vsctl('list-ports', 'br-int')).split('\n').filter((name) => name !== '');
  const hostLinks = (): string[] =>
    host
      .ip('-brief link show type veth')
      .split('\n')
      .filter((line) => line !== '');

  /** Path of the pod's network namespace. */
  const netns = (of = inside): string => of.inside[1]?.replace('--net=', '') ?? '';

  const notAnswered = (cause: string): unknown =>
    expect.stringMatching(`^heddle-cni: heddle node on ${options.socket}: ${cause}`);

  async function call(
    command: string,
    { pod: name = 'web', id = ID, config, variables }: Call = {},
  ): Promise<Answer> {
    const child = spawn(plugin, {
      env: {
        PATH: path,
        CNI_COMMAND: command,
        CNI_CONTAINERID: id,
        CNI_NETNS: netns(),
        CNI_IFNAME: 'eth0',
        CNI_ARGS: `K8S_POD_NAMESPACE=blue;K8S_POD_NAME=${name};K8S_POD_UID=uid-of-blue/${name}`,
        CNI_PATH: '/opt/cni/bin',
        ...variables,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(JSON.stringify({ ...EVERYTHING, ...config }));
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      said += piece;
    });
    const [code] = (await once(child, 'close')) as [number | null];
    if (text !== '') return { code, body: JSON.parse(text) as unknown };
    return { code, body: undefined, ...(said === '' ? {} : { said }) };
  }

  /** What ovn-controller does when the ports are in the data plane. */
  async function installed(count: number): Promise<void> {
    await until('ports', async () => (await ports()).length === count);
    for (const name of await ports())
      await vsctl('set', 'Interface', name, 'external_ids:ovn-installed=true');
  }

  async function added(name = 'web', count = 2): Promise<Answer> {
    const adding = call('ADD', { pod: name });
    const ended = async (): Promise<void> => {
      const { code, body } = await adding;
      if (code !== 0) throw new Error(JSON.stringify(body));
    };
    await Promise.all([ended(), installed(count)]);
    return adding;
  }

  /** The pod's annotation `network-status`. */
  const shown = async (pod: string): Promise<unknown> => {
    const annotations = (await node?.store.get(pods, `blue/${pod}`))?.metadata.annotations;
    return JSON.parse(annotations?.['k8s.v1.cni.cncf.io/network-status'] ?? 'null');
  };

  const nothingIsLeft = async (): Promise<void> => {
    expect(await ports()).toEqual([]);
    expect(hostLinks()).toEqual([]);
  };

  beforeEach(async () => {
    server = await OvsdbServer.start({ schema: join(SCHEMAS, 'vswitch.ovsschema') });
    host = await NetworkNamespace.create();
    inside = await NetworkNamespace.create();
    await vsctl('init');
    await vsctl('add-br', 'br-int');
    const socket = join(server.folder, 'run', 'cni.sock');
    options = { socket, ovs: server.remote, host: host.path, objects };
    const folders = { binDir: join(server.folder, 'bin'), confDir: join(server.folder, 'conf') };
    installPlugin(folders.binDir, socket);
    plugin = join(folders.binDir, 'heddle-cni');
    path = process.env['PATH'] ?? '';
  });
  afterEach(async () => {
    await node?.[Symbol.asyncDispose]();
    node = undefined;
    host[Symbol.dispose]();
    inside[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
  });

  test('ADD gives both networks, their routes and ports; CHECK finds them; DEL takes all away, twice', async () => {
    node = await startCniNode(options);
    const { code, body } = await added();
    expect(code, JSON.stringify(body)).toBe(0);
    expect(body).toMatchObject({
      cniVersion: '1.1.0',
      interfaces: [
        { name: '0123456789abcde', mtu: 1400 },
        { name: 'eth0', mac: '0a:58:0a:f4:01:05', sandbox: netns() },
        { name: '0123456789abc_3', mtu: 1300 },
        { name: 'ovn-udn1', mac: '0a:58:0a:14:01:05' },
      ],
      ips: [
        { address: '10.244.1.5/24', interface: 1 },
        { address: '10.20.1.5/24', interface: 3, gateway: '10.20.1.1' },
      ],
    });
    expect(
      inside
        .ip('route show')
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean)
        .toSorted(),
    ).toEqual([
      '10.20.1.0/24 dev ovn-udn1 proto kernel scope link src 10.20.1.5',
      '10.244.0.0/16 via 10.244.1.1 dev eth0',
      '10.244.1.0/24 dev eth0 proto kernel scope link src 10.244.1.5',
      '10.96.0.0/16 via 10.20.1.1 dev ovn-udn1',
      'default via 10.20.1.1 dev ovn-udn1',
    ]);
    expect(inside.ip('link show dev ovn-udn1')).toMatch(/mtu 1300 .*0a:58:0a:14:01:05/s);
    expect(await vsctl('get', 'Interface', '0123456789abc_3', 'external_ids')).toBe(
      `{attached_mac="0a:58:0a:14:01:05", iface-id=blue.l3.net_blue_web, iface-id-ver="uid-of-blue/web", ip_addresses="10.20.1.5/24", "k8s.ovn.org/nad"="blue/l3-net", "k8s.ovn.org/network"=blue_l3-net, ovn-installed="true", pod-if-name=ovn-udn1, sandbox="${ID}"}\n`,
    );
    await expect
      .poll(() => shown('web'))
      .toMatchObject([
        { interface: 'eth0', ips: ['10.244.1.5'] },
        { interface: 'ovn-udn1', ips: ['10.20.1.5'], default: true },
      ]);

    const again = await call('ADD');
    expect(again).toMatchObject({ code: REFUSED, body: { code: 100 } });
    expect((again.body as { msg: string }).msg).toContain('has an interface eth0 already');
    expect(await ports()).toHaveLength(2);

    const config = { prevResult: body };
    expect(await call('CHECK', { config })).toEqual({ code: 0, body: undefined });
    inside.ip('address delete 10.20.1.5/24 dev ovn-udn1');
    expect(await call('CHECK', { config })).toMatchObject({
      code: REFUSED,
      body: { msg: `container ${ID}: address 10.20.1.5/24 is not on its interfaces` },
    });

    expect(await call('DEL')).toEqual({ code: 0, body: undefined });
    await nothingIsLeft();
    expect(await call('DEL', { variables: { CNI_NETNS: '' } })).toEqual({
      code: 0,
      body: undefined,
    });
    expect(await call('CHECK', { config })).toMatchObject({ code: REFUSED, body: { code: 3 } });
  });

  test("with Open vSwitch's userspace datapath the pod's kernel fills in checksums", async () => {
    const ethtool = ovsProgram('ethtool');
    const words = [ethtool.command, ...ethtool.args];
    const checksums = (device: string): string => {
      const [nsenter = '', ...inNamespace] = inside.inside;
      const shown = execFileSync(nsenter, [...inNamespace, ...words, '-k', device]).toString();
      return /tx-checksumming: (\w+)/.exec(shown)?.[1] ?? shown;
    };
    node = await startCniNode(options);
    expect(await added()).toMatchObject({ code: 0 });
    expect([checksums('eth0'), checksums('ovn-udn1')]).toEqual(['on', 'on']);
    expect(await call('DEL')).toMatchObject({ code: 0 });
    await vsctl('set', 'Bridge', 'br-int', 'datapath_type=netdev');
    await until('an ADD that knows it', async () => {
      expect(await added()).toMatchObject({ code: 0 });
      const found = [checksums('eth0'), checksums('ovn-udn1')].join();
      expect(await call('DEL')).toMatchObject({ code: 0 });
      return found === 'off,off';
    });
    await nothingIsLeft();
  });

  test('an IPv6 address is no longer tentative when ADD answers', async () => {
    node = await startCniNode(options);
    const { code, body } = await added('six', 1);
    expect(code, JSON.stringify(body)).toBe(0);
    const addresses = inside.ip('-6 address show dev eth0');
    expect(addresses).toContain('fd00::5/64');
    expect(addresses).not.toContain('tentative');
    const routes = inside.ip('-6 route show');
    expect(routes).toMatch(/default via fd00::1 dev eth0/);
    expect(routes).toMatch(/fd96::\/112 via fd00::1 dev eth0/);
  });

  test('Multus adds and deletes a secondary network of its own, and finds which by the name of the interface', async () => {
    const extra = { nadKey: 'blue/extra', address: '10.30.0.5/24', role: 'secondary' as const };
    const many = pod('blue/many', 'n1', [
      { nadKey: 'default', address: '10.244.1.6/24', role: 'primary', gateway: '10.244.1.1' },
      extra,
      { ...extra, nadKey: 'blue/extra/1', address: '10.30.0.6/24' },
    ]);
    const annotations = {
      ...many.metadata.annotations,
      'k8s.v1.cni.cncf.io/networks': 'extra@first,extra@second',
    };
    const asking = { ...many, metadata: { ...many.metadata, annotations } };
    node = await startCniNode({ ...options, objects: [nad('blue/extra', 'blue_extra'), asking] });
    const config = { name: 'blue_extra', topology: 'layer2', netAttachDefName: 'blue/extra' };
    const ofNad = (device: string): Call => ({
      pod: 'many',
      config,
      variables: { CNI_IFNAME: device },
    });
    expect(await added('many', 1)).toMatchObject({ code: 0 });
    const adding = call('ADD', ofNad('second'));
    await installed(2);
    expect(await adding).toMatchObject({
      code: 0,
      body: { ips: [{ address: '10.30.0.6/24', interface: 1 }] },
    });
    expect(inside.ip('address show dev second')).toContain('10.30.0.6/24');
    expect(await call('DEL', ofNad('second'))).toMatchObject({ code: 0 });
    expect(await ports()).toEqual(['0123456789abcde']);
    expect(hostLinks()).toHaveLength(1);
    await expect.poll(() => shown('many')).toHaveLength(1);
    expect(await call('DEL')).toMatchObject({ code: 0 });
    await nothingIsLeft();
  });

  test('ports that somebody removes, alone or with the bridge, are made again for the links of pods that are there, also by a daemon that starts later', async () => {
    node = await startCniNode({ ...options, objects });
    expect(await added()).toMatchObject({ code: 0 });
    const idsOf = async (): Promise<string[]> => {
      const texts = (await ports()).map((name) => vsctl('get', 'Interface', name, 'external_ids'));
      return (await Promise.all(texts)).map((text) => text.replace(/, ovn-installed="?true"?/, ''));
    };
    const before = [await ports(), await idsOf()];
    expect(before[0]).toHaveLength(2);
    const isBack = async (): Promise<boolean> =>
      JSON.stringify([await ports(), await idsOf()]) === JSON.stringify(before);
    const [first = ''] = await ports();
    await vsctl('del-port', 'br-int', first);
    await until('the port', isBack);
    await vsctl('del-br', 'br-int');
    // As ovn-controller makes it.
    await vsctl('add-br', 'br-int');
    await until('the ports of the new bridge', isBack);
    await node[Symbol.asyncDispose]();
    await vsctl('del-br', 'br-int', '--', 'add-br', 'br-int');
    expect(await ports()).toEqual([]);
    node = await startCniNode({ ...options, objects });
    await until('the ports of a later start', isBack);
    expect(await call('DEL')).toMatchObject({ code: 0 });
    await nothingIsLeft();
  });

  test('of two containers of a pod the later one keeps its port, and gets it back', async () => {
    node = await startCniNode({ ...options, objects });
    using elsewhere = await NetworkNamespace.create();
    const former: Call = { pod: 'six', id: 'b'.repeat(64) };
    const later: Call = {
      pod: 'six',
      id: 'a'.repeat(64),
      variables: { CNI_NETNS: netns(elsewhere) },
    };
    for (const one of [former, later]) {
      const adding = call('ADD', one);
      await until('its port', async () => (await ports()).includes(one.id?.slice(0, 15) ?? ''));
      await installed(1);
      expect(await adding).toMatchObject({ code: 0 });
    }
    const isLater = async (): Promise<boolean> => String(await ports()) === 'a'.repeat(15);
    /** The two must not take turns: longer than the daemon takes to look again. */
    const staysLater = async (): Promise<void> => {
      for (let look = 0; look < 20; look += 1) {
        expect(await isLater()).toBe(true);
        await sleep(20);
      }
    };
    await staysLater();
    await vsctl('del-br', 'br-int', '--', 'add-br', 'br-int');
    await until('the port of the later one', isLater);
    await staysLater();
    expect(await call('DEL', former)).toMatchObject({ code: 0 });
    await staysLater();
    expect(await call('DEL', later)).toMatchObject({ code: 0 });
    await nothingIsLeft();
  });

  test('a pod whose annotation went wrong keeps no other pod from its port, and gets its own when that is right again', async () => {
    node = await startCniNode({ ...options, objects });
    expect(await added()).toMatchObject({ code: 0 });
    const six = { pod: 'six', id: 'f'.repeat(64), variables: { CNI_IFNAME: 'six0' } };
    const adding = call('ADD', six);
    await installed(3);
    expect(await adding).toMatchObject({ code: 0 });
    const limit = async (key: string, value: string | null): Promise<unknown> =>
      node?.store.patch(
        pods,
        key,
        { metadata: { annotations: { 'kubernetes.io/egress-bandwidth': value } } },
        { fieldManager: 'tenant' },
      );
    for (const broken of ['blue/web', 'blue/six']) {
      await limit(broken, 'much');
      await vsctl('del-br', 'br-int', '--', 'add-br', 'br-int');
      const others = broken === 'blue/web' ? 1 : 2;
      await until('the ports of the other pod', async () => (await ports()).length === others);
      await limit(broken, null);
      await until('all ports', async () => (await ports()).length === 3);
    }
    expect(await call('DEL', six)).toMatchObject({ code: 0 });
    expect(await call('DEL')).toMatchObject({ code: 0 });
    await nothingIsLeft();
  });

  test('links of a pod that was made anew under its name get no ports', async () => {
    node = await startCniNode({ ...options, objects });
    expect(await added()).toMatchObject({ code: 0 });
    const six = { pod: 'six', id: 'f'.repeat(64), variables: { CNI_IFNAME: 'six0' } };
    const adding = call('ADD', six);
    await installed(3);
    expect(await adding).toMatchObject({ code: 0 });
    await node[Symbol.asyncDispose]();
    await vsctl('del-br', 'br-int', '--', 'add-br', 'br-int');
    const others = objects.map((object) =>
      object.metadata.name === 'web'
        ? { ...object, metadata: { ...object.metadata, uid: 'another' } }
        : object,
    );
    node = await startCniNode({ ...options, objects: others });
    await until('the port of the other pod', async () => (await ports()).length > 0);
    // What is asked of the daemon now comes behind what it had begun.
    expect(await call('DEL', six)).toMatchObject({ code: 0 });
    expect(await ports()).toEqual([]);
    expect(await call('DEL')).toMatchObject({ code: 0 });
    await nothingIsLeft();
  });

  test('a chain in the older form (reference/api.md §2) adds its own interface, is checked with the result of the next plugin, and takes nothing else along when it goes', async () => {
    const extra = {
      nadKey: 'blue/tenantA-overlay',
      address: '192.168.2.205/24',
      role: 'secondary' as const,
    };
    const one = pod('blue/one', 'n1', [
      { nadKey: 'default', address: '10.244.1.6/24', role: 'primary', gateway: '10.244.1.1' },
      extra,
    ]);
    const annotations = {
      ...one.metadata.annotations,
      'k8s.v1.cni.cncf.io/networks': 'tenantA-overlay',
    };
    const asking = { ...one, metadata: { ...one.metadata, annotations } };
    const network = nad('blue/tenantA-overlay', 'blue.tenantA-overlay');
    node = await startCniNode({ ...options, objects: [network, asking] });
    // What a meta-plugin makes of the first of the list: with a name, and with the addresses that the pod asks for.
    const config = {
      cniVersion: '0.4.0',
      name: 'tenantA-overlay',
      type: 'ovn-k8s-cni-overlay',
      capabilities: { ips: true },
      subnet: '192.168.2.0/24',
      ipam: { type: 'static' },
      runtimeConfig: { ips: ['192.168.2.205/24'] },
    };
    const ofChain: Call = { pod: 'one', config, variables: { CNI_IFNAME: 'net1' } };
    expect(await added('one', 1)).toMatchObject({ code: 0 });
    const adding = call('ADD', ofChain);
    await installed(2);
    const result = await adding;
    expect(result).toMatchObject({
      code: 0,
      body: { cniVersion: '0.4.0', ips: [{ version: '4', address: '192.168.2.205/24' }] },
    });
    const checked = { ...ofChain, config: { ...config, prevResult: result.body } };
    expect(await call('CHECK', checked)).toMatchObject({ code: 0 });
    expect(await call('DEL', checked)).toMatchObject({ code: 0 });
    expect(await call('DEL', checked)).toMatchObject({ code: 0 });
    expect(await ports()).toEqual(['0123456789abcde']);
    expect(await call('DEL')).toMatchObject({ code: 0 });
    await nothingIsLeft();
  });

  test('bandwidth annotations limit every interface, and go with it; one that is wrong is an error at once', async () => {
    const [network, web] = objects;
    if (network === undefined || web === undefined) throw new Error('no objects');
    const limited = (annotations: Record<string, string>): KubeObject => ({
      ...web,
      metadata: {
        ...web.metadata,
        annotations: { ...web.metadata.annotations, ...annotations },
      },
    });
    node = await startCniNode({
      ...options,
      objects: [
        network,
        limited({
          'kubernetes.io/ingress-bandwidth': '10M',
          'kubernetes.io/egress-bandwidth': '2Mi',
        }),
      ],
    });
    const limits = async (): Promise<unknown[]> => {
      const columns = '--columns=type,other_config,external_ids';
      const text = await vsctl('--format=json', columns, 'list', 'QoS');
      return (JSON.parse(text) as { data: unknown[] }).data.map(String).toSorted();
    };
    expect(await added()).toMatchObject({ code: 0 });
    expect(await limits()).toEqual([
      `linux-htb,map,max-rate,10000000,map,pod-if-name,eth0,sandbox,${ID}`,
      `linux-htb,map,max-rate,10000000,map,pod-if-name,ovn-udn1,sandbox,${ID}`,
    ]);
    for (const name of await ports()) {
      expect(await vsctl('get', 'Port', name, 'qos')).not.toBe('[]\n');
      expect(await vsctl('get', 'Interface', name, 'ingress_policing_rate')).toBe('2097\n');
      expect(await vsctl('get', 'Interface', name, 'ingress_policing_burst')).toBe('209\n');
    }
    // What somebody else unplugs leaves its limit behind, and may be plugged in again before this looks, with another limit.
    await vsctl('del-port', 'br-int', '0123456789abcde');
    expect((await limits()).length).toBeGreaterThanOrEqual(2);
    expect(await call('DEL')).toEqual({ code: 0, body: undefined });
    expect(await limits()).toEqual([]);
    await nothingIsLeft();

    const annotations = { 'kubernetes.io/egress-bandwidth': 'much' };
    await node.store.patch(
      pods,
      'blue/web',
      { metadata: { annotations } },
      { fieldManager: 'test' },
    );
    await until('the annotation', async () => {
      const answer = await call('ADD');
      return /annotation kubernetes.io\/egress-bandwidth: must be a quantity, is "much"; write/.test(
        (answer.body as { msg: string }).msg,
      );
    });
    await nothingIsLeft();
  });

  test('a network that the pod does not ask for is refused at once, not waited for', async () => {
    node = await startCniNode(options);
    const config = { name: 'none', topology: 'layer2', netAttachDefName: 'blue/none' };
    expect(await call('ADD', { config, variables: { CNI_IFNAME: 'net1' } })).toMatchObject({
      code: REFUSED,
      body: {
        code: 7,
        msg: 'pod blue/web does not ask for network blue/none: name it in annotation k8s.v1.cni.cncf.io/networks',
      },
    });
    await nothingIsLeft();
  });

  test('1 MB of fields that nobody knows is taken; DEL before ADD, and a wrong version, leave nothing', async () => {
    node = await startCniNode(options);
    const more = { more: 'x'.repeat(1 << 20) };
    expect(await call('DEL', { config: more })).toEqual({ code: 0, body: undefined });
    expect(await call('ADD', { config: { cniVersion: '0.2.0' } })).toMatchObject({
      code: REFUSED,
      body: { cniVersion: '1.1.0', code: 1, msg: 'incompatible CNI versions' },
    });
    await nothingIsLeft();
    const adding = call('ADD', { config: more });
    await installed(2);
    expect(await adding).toMatchObject({ code: 0 });
  });

  test('DEL forgets the connections of the address on the default network, which another pod may get, and no others, and the next daemon those that one was killed before', async () => {
    node = await startCniNode(options);
    const track = (...words: string[]): string => {
      const { command, args } = ovsProgram('conntrack');
      const [nsenter = '', ...inNamespace] = host.inside;
      return execFileSync(nsenter, [...inNamespace, command, ...args, ...words], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
    };
    const connection = (source: string, destination: string, ...more: string[]): void => {
      const ports = ['--protonum', 'udp', '--sport', '4000', '--dport', '80', '--timeout', '600'];
      track('--create', '--src', source, '--dst', destination, ...ports, ...more);
    };
    expect(await added()).toMatchObject({ code: 0 });
    connection('10.244.1.5', '192.0.2.1');
    connection('192.0.2.2', '10.244.1.5');
    connection('192.0.2.3', '10.96.0.10', '--dst-nat', '10.244.1.5');
    connection('10.244.1.6', '192.0.2.4');
    // The same address may be that of a pod of another tenant, which is still there.
    connection('10.20.1.5', '192.0.2.5');
    expect(await call('DEL')).toMatchObject({ code: 0 });
    const left = (): string[] =>
      [...track('--dump').matchAll(/ src=(\S+) dst=(\S+) .*? src=/g)]
        .map(([, source, destination]) => `${source} ${destination}`)
        .toSorted();
    await expect.poll(left).toEqual(['10.20.1.5 192.0.2.5', '10.244.1.6 192.0.2.4']);
    await node[Symbol.asyncDispose]();

    // One that never gets to it, as one that is killed once DEL was answered.
    const never = new Promise<void>(() => undefined);
    node = await startCniNode(options, { forget: () => never, forgotten: async () => undefined });
    expect(await added()).toMatchObject({ code: 0 });
    connection('10.244.1.5', '192.0.2.1');
    expect(await call('DEL')).toMatchObject({ code: 0 });
    await node[Symbol.asyncDispose]();
    expect(left()).toContain('10.244.1.5 192.0.2.1');
    node = await startCniNode(options);
    await expect.poll(left).toEqual(['10.20.1.5 192.0.2.5', '10.244.1.6 192.0.2.4']);
    await expect.poll(() => existsSync(join(server.folder, 'run', FORGETTING))).toBe(false);
  });

  test('DEL does not wait for connections to be forgotten, but who gets the address next does; one that another pod has already keeps its', async () => {
    const forgetting: string[][] = [];
    const { promise: done, resolve: end } = Promise.withResolvers<void>();
    node = await startCniNode(options, {
      async forget(addresses) {
        forgetting.push([...addresses]);
        await done;
      },
      forgotten: async (addresses) =>
        forgetting.flat().some((address) => addresses.includes(address)) ? done : undefined,
    });
    expect(await added()).toMatchObject({ code: 0 });
    expect(await call('DEL')).toMatchObject({ code: 0 });
    expect(forgetting).toEqual([['10.244.1.5']]);
    const adding = call('ADD', { id: OTHER });
    // A pod with another address does not wait, and its DEL comes after what the first does at once.
    expect(await added('six', 1)).toMatchObject({ code: 0 });
    expect(await call('DEL', { pod: 'six' })).toMatchObject({ code: 0 });
    expect(await ports()).toEqual([]);
    end();
    await installed(2);
    expect(await adding).toMatchObject({ code: 0 });
    // As of a pod that completed, whose container is there for longer than its address is its own.
    await vsctl(
      ...'add-port br-int late -- set Interface late'.split(' '),
      `external_ids:sandbox=${ID}`,
      'external_ids:pod-if-name=eth0',
      'external_ids:iface-id=blue_done',
      'external_ids:ip_addresses=10.244.1.5/24',
    );
    forgetting.length = 0;
    expect(await call('DEL')).toMatchObject({ code: 0 });
    expect(await ports()).not.toContain('late');
    expect(forgetting).toEqual([]);
  });

  test('the plugin is one process, which becomes curl, and says so where a host has none', async () => {
    const programs = join(server.folder, 'programs');
    mkdirSync(programs);
    path = programs;
    node = await startCniNode(options);
    expect(await call('STATUS')).toMatchObject({
      code: 1,
      body: { code: 50, msg: 'this host has no curl: install it' },
    });
    const curl = join(programs, 'curl');
    writeFileSync(curl, '#!/bin/sh\necho "$$"\n', { mode: 0o755 });
    const { pid, stdout } = spawnSync(plugin, { env: { PATH: programs } });
    expect(stdout.toString()).toBe(`${pid}\n`);
    rmSync(curl);
    symlinkSync('/usr/bin/curl', curl);
    expect(await call('STATUS')).toEqual({ code: 0, body: undefined });
    expect(await call('ADD', { variables: { CNI_ARGS: '' } })).toMatchObject({
      code: REFUSED,
      body: { code: 4, msg: 'CNI_ARGS has no K8S_POD_NAMESPACE' },
    });
    expect(await call('DEL', { config: { more: 'é'.repeat(1 << 20) } })).toMatchObject({ code: 0 });
  });

  test('variables of any length and script arrive as they are; a control character does not', async () => {
    node = await startCniNode(options);
    const long = `K8S_POD_NAME=${'é'.repeat(30_000)}`;
    const { body } = await call('ADD', { variables: { CNI_ARGS: long } });
    expect(body).toMatchObject({ code: 4, msg: 'CNI_ARGS has no K8S_POD_NAMESPACE' });
    const { body: refused } = await call('ADD', { variables: { CNI_NETNS: '/run/é' } });
    expect(JSON.stringify(refused)).toContain('CNI_NETNS \\"/run/é\\"');
    for (const value of ['a\nCNI-Netns: /proc/self/ns/net', 'a\rb', 'a\u0007'])
      expect(await call('ADD', { variables: { CNI_ARGS: value } })).toEqual({
        code: 1,
        body: { cniVersion: '1.0.0', code: 4, msg: 'a variable CNI_… has a control character' },
      });
  });

  test('the plugin of an older installation is understood', async () => {
    node = await startCniNode(options);
    const body = ['STATUS', '', '', '', '', '', JSON.stringify(EVERYTHING)].join('\0');
    const sent = request({ socketPath: options.socket, path: '/', method: 'POST' }).end(body);
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    expect(answer.statusCode).toBe(200);
    answer.destroy();
  });

  test('DEL works when the namespace is gone, and for what was never there', async () => {
    node = await startCniNode(options);
    await added();
    inside[Symbol.dispose]();
    expect(await call('DEL')).toMatchObject({ code: 0 });
    await nothingIsLeft();
    expect(await call('DEL', { id: 'never' })).toMatchObject({ code: 0 });
  });

  test('what does not come in time is named, and nothing is left', async () => {
    node = await startCniNode({ ...options, limit: 300 });
    expect(await call('ADD')).toMatchObject({
      code: REFUSED,
      body: {
        code: 11,
        msg: 'gave up waiting: ovn-controller has not installed logical port blue_web and blue.l3.net_blue_web',
      },
    });
    await nothingIsLeft();
    expect(await call('ADD', { pod: 'poor' })).toMatchObject({
      body: {
        code: 11,
        msg: 'gave up waiting: there is no pod blue/poor on this node; no address is left',
      },
    });
  });

  test('an ADD waits for no write of network-status, and one that fails writes none', async () => {
    node = await startCniNode(options);
    const { store } = node;
    const asked: string[] = [];
    store.patchStatus = (_kind, key, _patch, { signal }) => {
      asked.push(key);
      return new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(new Error('aborted')));
      });
    };
    const failing = call('ADD');
    await until('ports', async () => (await ports()).length === 2);
    await store.delete(pods, 'blue/web');
    expect(await failing).toMatchObject({ code: REFUSED, body: { msg: 'pod blue/web is gone' } });
    expect(asked).toEqual([]);
    const [, web] = objects;
    await store.create(pods, web as never, { fieldManager: 'test' });
    expect(await added()).toMatchObject({ code: 0 });
    await until('the write', () => asked.length > 0);
    expect(asked).toEqual(['blue/web']);
  });

  test('a pod that comes later is waited for', async () => {
    const [network, web] = objects;
    if (network === undefined || web === undefined) throw new Error('no objects');
    node = await startCniNode({ ...options, objects: [network] });
    const adding = call('ADD');
    await node.store.create(pods, web as never, { fieldManager: 'test' });
    await installed(2);
    expect(await adding).toMatchObject({ code: 0 });
  });

  test('a pod that is deleted while its ADD waits is not waited for any more', async () => {
    const [network, web] = objects;
    if (network === undefined || web === undefined) throw new Error('no objects');
    const metadata = { ...web.metadata, finalizers: ['example.org/stays'] };
    node = await startCniNode({
      ...options,
      objects: [network, { ...web, metadata }],
      limit: 10_000,
    });
    const adding = call('ADD');
    await until('ports', async () => (await ports()).length === 2);
    await node.store.delete(pods, 'blue/web');
    const missing = 'ovn-controller has not installed logical port';
    expect(await adding).toMatchObject({
      code: REFUSED,
      body: { msg: expect.stringContaining(`pod blue/web is being deleted: ${missing}`) as string },
    });
    await nothingIsLeft();
  });

  test('a DEL ends the ADD that waits; of two ADDs at once one is refused', async () => {
    node = await startCniNode(options);
    const adding = call('ADD');
    await until('ports', async () => (await ports()).length === 2);
    expect(await call('DEL')).toMatchObject({ code: 0 });
    expect(await adding).toMatchObject({ code: REFUSED, body: { code: 11 } });
    await nothingIsLeft();
    const both = [call('ADD'), call('ADD')];
    await installed(2);
    const codes = (await Promise.all(both)).map(({ code }) => code);
    expect(new Set(codes)).toEqual(new Set([0, REFUSED]));
    expect(await ports()).toHaveLength(2);
  });

  test('a name that is taken on the host is an error, and stays', async () => {
    node = await startCniNode(options);
    host.ip('link add name 0123456789abc_3 type bridge');
    expect(await call('ADD')).toMatchObject({ code: REFUSED, body: { code: 100 } });
    await nothingIsLeft();
    expect(host.ip('link show dev 0123456789abc_3')).toContain('0123456789abc_3');
    expect(inside.ip('-brief link show')).not.toContain('eth0');
  });

  test('what a killed daemon left half-way is removed by DEL, or by GC when no runtime knows it', async () => {
    const main = resolve(import.meta.dirname, '../../support/host/cni-node.ts');
    const killed = async (id: string): Promise<void> => {
      const daemon = spawn(...bound(process.execPath, [main, JSON.stringify(options)]), {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await once(daemon.stdout, 'data');
      const adding = call('ADD', { id });
      await until('ports', async () => (await ports()).length === 2);
      daemon.kill('SIGKILL');
      expect(await adding).toEqual({ code: 52, said: notAnswered('Empty reply from server') });
    };
    await killed(ID);
    expect(await call('DEL')).toMatchObject({ code: 7, said: notAnswered('Failed to connect') });
    node = await startCniNode(options);
    expect(await call('DEL')).toMatchObject({ code: 0 });
    await nothingIsLeft();
    await node[Symbol.asyncDispose]();

    await killed('a-container-that-nobody-knows');
    node = await startCniNode(options);
    const attachments = (...ids: string[]): object => ({
      config: { 'cni.dev/valid-attachments': ids.map((containerID) => ({ containerID })) },
    });
    expect(await call('GC', attachments('a-container-that-nobody-knows'))).toMatchObject({
      code: 0,
    });
    expect(await ports()).toHaveLength(2);
    expect(await call('GC', attachments(ID))).toMatchObject({ code: 0 });
    await nothingIsLeft();
  });

  test('STATUS and VERSION; a namespace that is the host; a daemon that is not there', async () => {
    expect(await call('STATUS')).toMatchObject({ code: 1, body: { code: 50 } });
    expect(await call('ADD')).toEqual({
      code: 1,
      body: {
        cniVersion: '1.0.0',
        code: 11,
        msg: `heddle node does not listen on ${options.socket}: is it running?`,
      },
    });
    node = await startCniNode(options);
    expect(await call('STATUS')).toEqual({ code: 0, body: undefined });
    expect(await call('VERSION')).toMatchObject({ code: 0, body: { cniVersion: '1.1.0' } });
    expect(await call('ADD', { variables: { CNI_NETNS: '/proc/self/ns/net' } })).toMatchObject({
      code: REFUSED,
      body: { code: 4 },
    });
    expect(await call('ADD', { config: { more: 'x'.repeat(5 << 20) } })).toMatchObject({
      code: REFUSED,
      body: { code: 6 },
    });
    await vsctl('del-br', 'br-int');
    expect(await call('ADD')).toMatchObject({ code: REFUSED, body: { code: 11 } });
    expect(hostLinks()).toEqual([]);
  });
});

test('install replaces nothing that is not ours, leaves no other file, and uninstall removes what is', async () => {
  await using server = await OvsdbServer.start();
  const [binDir, confDir] = [join(server.folder, 'bin'), join(server.folder, 'conf')];
  installPlugin(binDir, '/run/heddle/cni.sock');
  installPlugin(binDir, '/run/heddle/other.sock');
  installConflist(confDir, '--conf-dir');
  installConflist(confDir, '--conf-dir');
  expect(readdirSync(binDir).toSorted()).toEqual([
    'heddle-cni',
    'ovn-k8s-cni-overlay',
    'ovn-kubernetes',
  ]);
  expect(readdirSync(confDir)).toEqual(['10-heddle.conflist']);
  expect(readFileSync(join(binDir, 'heddle-cni'), 'utf8')).toContain('/run/heddle/other.sock');
  removeConflist(confDir);
  removePlugin(binDir);
  expect([...readdirSync(binDir), ...readdirSync(confDir)]).toEqual([]);
  mkdirSync(binDir, { recursive: true });
  const foreign = join(binDir, 'ovn-k8s-cni-overlay');
  writeFileSync(foreign, 'ELF');
  chmodSync(foreign, 0o755);
  expect(() => installPlugin(binDir, '/run/heddle/cni.sock')).toThrow(/is another plugin/);
  removePlugin(binDir);
  expect(readdirSync(binDir)).toEqual(['ovn-k8s-cni-overlay']);
});

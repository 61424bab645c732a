/** A lab of two nodes with tenants of whom one attacks: what he sends, and what of it should arrive nowhere. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { expect } from 'vitest';
import { familyOf, macOf } from '../../../src/allocators/addresses.ts';
import { probe, type Endpoint, type Probe } from '../../../src/lab/connectivity.ts';
import { daemonProcess, startDaemons } from '../../../src/lab/daemons.ts';
import { stopDaemon } from './lab-daemons.ts';
import type { UnderlayReport } from '../../../src/node/chassis/underlay-report.ts';
import { heddleCommand, outputInside, runInside } from '../../../src/lab/exec.ts';
import { marker, sendFrames, type Send } from './frames.ts';
import { readObjects } from '../../../src/lab/objects.ts';
import { serveOutward } from '../../../src/lab/outward.ts';
import { nodeNames, stateFolder, type LabKind } from '../../../src/lab/paths.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { podPort } from '../../../src/model/rules/names.ts';
import type { GatewayMode } from '../../../src/model/model.ts';
import { datagram, ethernet, ethertypeOf, geneve } from './frame-bytes.ts';
import type { Attack } from './held-table.ts';
import { network } from './host-tenants.ts';
import { testLab, type TestLab } from './lab.ts';
import { ownFolder } from '../run/left-behind.ts';
import { type DNS, nodeAddresses, service, sliceObjects, systemObjects } from './matrix-tenants.ts';
import { Tenants } from './tenants.ts';
import { until } from '../run/until.ts';

/** Port that packets are for; nobody need listen. */
export const PORT = 7777;
const TUNNEL_PORT = 6081;
/** What packets may take, in several rounds, beside others' work: what has not arrived then does not. */
const PACKET_SECONDS = 120;

const namespace = (name: string, isTenant: boolean): object => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name,
    labels: isTenant ? { 'k8s.ovn.org/primary-user-defined-network': '' } : {},
  },
});

const pod = (key: string, nodeName: string, spec = {}): object => {
  const [namespaceName, name] = key.split('/');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: namespaceName },
    spec: { nodeName, containers: [{ name: 'web', image: 'web' }], ...spec },
  };
};

/** Pods by their keys, with their nodes. The attackers are on n1; `plain` and `guarded` have no network of their own, and nobody may reach the pods of `guarded`. */
const PODS = {
  'plain/attacker': 'n1',
  'plain/beside': 'n1',
  'plain/far': 'n2',
  'guarded/beside': 'n1',
  'blue/attacker': 'n1',
  'blue/far': 'n2',
  'green/beside': 'n1',
  'green/far': 'n2',
  'red/attacker': 'n1',
  'red/far': 'n2',
} as const;
export type HostilePod = keyof typeof PODS;

/** Pods on the host's network of n1. */
export const AGENTS = ['plain/agent', 'blue/agent', 'green/agent'] as const;
export type Agent = (typeof AGENTS)[number];

/** Of the default network, on n1. */
export const PLAIN_SERVICE = ['172.16.1.61', 'fd00:10:96::61'] as const;
/** The same on n2. */
export const FAR_SERVICE = ['172.16.1.63', 'fd00:10:96::63'] as const;
/** Its endpoint is the tunnels' port of n2. */
export const TUNNEL_SERVICE = ['172.16.1.62', 'fd00:10:96::62'] as const;

const UDP_PORT = [{ name: 'udp', port: PORT, targetPort: PORT, protocol: 'UDP' }];

const OBJECTS = [
  ...['plain', 'guarded'].map((name) => namespace(name, false)),
  ...['blue', 'green', 'red'].map((name) => namespace(name, true)),
  network('blue', 'net', 'Layer3', ['10.20.0.0/16', 'fd20::/48']),
  network('green', 'net', 'Layer3', ['10.30.0.0/16', 'fd30::/48']),
  network('red', 'net', 'Layer2', ['10.40.0.0/16', 'fd40::/64']),
  ...Object.entries(PODS).map(([key, node]) => pod(key, node)),
  ...AGENTS.map((key) => pod(key, 'n1', { hostNetwork: true })),
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'nobody', namespace: 'guarded' },
    spec: { podSelector: {}, policyTypes: ['Ingress'] },
  },
  service('plain/web', PLAIN_SERVICE, { ports: UDP_PORT }),
  service('plain/far', FAR_SERVICE, { ports: UDP_PORT }),
  service('plain/tunnel', TUNNEL_SERVICE, {
    ports: UDP_PORT.map((port) => ({ ...port, targetPort: TUNNEL_PORT })),
  }),
  ...sliceObjects('plain/tunnel', [{ node: 'n2', addresses: nodeAddresses('n2') }]).map(
    (slice) => ({ ...slice, ports: [{ name: 'udp', port: TUNNEL_PORT, protocol: 'UDP' }] }),
  ),
  ...systemObjects('n1'),
];

const manifest = (objects: readonly object[]): string =>
  objects.map((object) => stringify(object)).join('---\n');

/** Asks a daemon on its control socket (docs/operations.md) for what `heddle check` shows. */
const ASK = `
import json, socket, sys
asked = socket.socket(socket.AF_UNIX)
asked.connect(sys.argv[1])
asked.sendall(b'{"jsonrpc":"2.0","id":1,"method":"underlay","params":{}}\\n')
print(json.dumps(json.loads(asked.makefile().readline())['result']))
`;

/** Where nobody answers. */
export const NOBODY = 'nobody';
/** What an answer may take there. */
const ANSWER_SECONDS = 4;

/** A way to a server, and who should answer there: pods and nodes by their names, the host outside as `outside`. */
export interface Way extends Probe {
  readonly expected: string;
}

const wayText = ({ from, protocol = 'tcp', to, port = 0 }: Way, who: string): string =>
  `${from} ${protocol} ${to} ${port}: ${who}`;

interface TunnelKeys {
  readonly vni: number;
  readonly outPort: number;
}

export class HostileLab implements AsyncDisposable {
  readonly record: LabRecord;
  /** What was tried until now. */
  readonly attacks: Attack[] = [];
  readonly #lab: TestLab;
  readonly #tenants: Tenants;
  readonly #seconds: number;
  #primary: ReadonlyMap<string, Endpoint> = new Map();
  #onDefault: ReadonlyMap<string, Endpoint> = new Map();
  readonly #keys = new Map<string, Promise<TunnelKeys>>();
  readonly #cgroups = new Map<Agent, Promise<string>>();
  #number = 0;
  #mode: GatewayMode = 'shared';

  private constructor(lab: TestLab, seconds: number) {
    this.#lab = lab;
    this.record = lab.record;
    this.#seconds = seconds;
    const folder = ownFolder('heddle-hostile');
    writeFileSync(join(folder, 'tenants.yaml'), manifest(OBJECTS));
    this.#tenants = new Tenants(lab.record, { folder, seconds });
    rmSync(folder, { recursive: true });
  }

  /** `seconds`: what a condition may take there. */
  static async start(name: string, kind: LabKind, seconds: number): Promise<HostileLab> {
    return new HostileLab(await testLab(name, { kind, nodes: 2, families: 'dual' }), seconds);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lab[Symbol.asyncDispose]();
  }

  /** Whether a primary network reaches what is outside: by its gateway router, or by the host's port on it. */
  async reachesOutside(namespaceName: string): Promise<boolean> {
    return this.#mode === 'shared' || (await this.portOf(namespaceName)) !== '';
  }

  /** Has the nodes in this mode, from whatever they were in before. */
  async enter(gatewayMode: GatewayMode): Promise<void> {
    this.#mode = gatewayMode;
    this.#keys.clear();
    this.#cgroups.clear();
    for (const node of nodeNames(this.record.nodes))
      if ((await daemonProcess(this.record, node)) !== undefined)
        await stopDaemon(this.record, node);
    await startDaemons(this.record, [`--gateway-mode=${gatewayMode}`]);
    await this.#tenants.settle();
    // Networks were in the data plane of the mode before, too.
    for (const node of nodeNames(this.record.nodes)) await this.#untilReady(node);
    const byPod = (ends: readonly Endpoint[]): ReadonlyMap<string, Endpoint> =>
      new Map(ends.map((end) => [end.pod, end]));
    this.#primary = byPod(await this.#tenants.endpoints('primary'));
    this.#onDefault = byPod(await this.#tenants.endpoints('default'));
    const slices = (
      [
        ['plain/web', 'plain/beside'],
        ['plain/far', 'plain/far'],
      ] as const
    ).flatMap(([name, pod]) => {
      const { node, addresses } = this.onDefault(pod);
      return sliceObjects(name, [{ pod, node, addresses }]).map((slice) => ({
        ...slice,
        ports: UDP_PORT.map(({ targetPort: port, protocol }) => ({ name: 'udp', port, protocol })),
      }));
    });
    this.write('slices', slices);
    await serveOutward(this.record);
  }

  async #untilReady(node: string): Promise<void> {
    const ask = ['on', node, 'curl', '-sf', 'http://127.0.0.1:9476/readyz'];
    await until(
      `${node} to be ready`,
      async () => (await runInside(this.record, ask)).code === 0,
      this.#seconds * 1000,
    );
    await this.onNode(node, 'ovn-nbctl', '--wait=hv', 'sync');
  }

  /** Writes a file of those that the daemons follow. */
  write(name: string, objects: readonly object[]): void {
    writeFileSync(join(this.#tenants.manifests, `${name}.yaml`), manifest(objects));
  }

  /** A pod's end of the network that it talks on, and of the default network. */
  on(key: HostilePod): Endpoint {
    return this.#end(this.#primary, key);
  }
  onDefault(key: HostilePod | typeof DNS.pod): Endpoint {
    return this.#end(this.#onDefault, key);
  }
  #end(ends: ReadonlyMap<string, Endpoint>, key: string): Endpoint {
    const end = ends.get(key);
    if (end === undefined) throw new Error(`${key} has no address`);
    return end;
  }

  onNode(node: string, ...argv: string[]): Promise<string> {
    return outputInside(this.record, ['on', node, ...argv]);
  }

  /** Packets of strangers to the tunnels' port that a node has dropped, as its daemon says. */
  async strangersSeen(node: string): Promise<number> {
    const socket = join(stateFolder(this.record.name), node, 'heddle-node.sock');
    // The command takes seconds to load there: its daemon is asked as the command does.
    const argv =
      this.record.kind === 'vm'
        ? ['python3', '-c', ASK, socket]
        : heddleCommand(this.record, ['check', '--json', `--socket=${socket}`]);
    // What is wrong with the underlay makes the command end with 1.
    const { stdout } = await runInside(this.record, ['on', node, ...argv]);
    return (JSON.parse(stdout) as UnderlayReport).tunnels.strangers;
  }

  /** Runs `ip` in a network namespace: of a pod, of a node, or `ext`. */
  ip(namespaceName: string, words: string): Promise<string> {
    return outputInside(this.record, ['ip', '-n', namespaceName, ...words.split(' ')]);
  }

  /** Address of the host's port on a network, by the port's name. */
  async portMac(device: string): Promise<string> {
    return (await this.onNode('n1', 'cat', `/sys/class/net/${device}/address`)).trim();
  }

  /** The host's end of a pod's interface on the network that it talks on, on n1. */
  async hostEndOf(key: HostilePod): Promise<string> {
    const { nadKey } = this.on(key);
    const [namespaceName = '', podName = ''] = key.split('/');
    const id = podPort(nadKey, namespaceName, podName);
    const words = ['--bare', '--columns=name', 'find', 'Interface'];
    const found = await this.onNode('n1', 'ovs-vsctl', ...words, `external_ids:iface-id="${id}"`);
    return found.trim();
  }

  /** The host's port on the network of a namespace, on n1. */
  async portOf(namespaceName: string): Promise<string> {
    const words = ['--bare', '--columns=name', 'find', 'Interface'];
    const network = `external_ids:k8s.ovn.org/network=${namespaceName}_net`;
    const found = await this.onNode('n1', 'ovs-vsctl', ...words, network, 'type=internal');
    return found.trim();
  }

  /** Folder of the cgroup of a pod on the host's network, as kubelet has systemd make it before it starts the pod's containers; made once for each mode. */
  cgroupOf(agent: Agent): Promise<string> {
    const known = this.#cgroups.get(agent) ?? this.#makeCgroup(agent);
    this.#cgroups.set(agent, known);
    return known;
  }
  async #makeCgroup(agent: Agent): Promise<string> {
    const { pods } = await readObjects(this.record.name);
    const found = pods.find(({ metadata }) => `${metadata.namespace}/${metadata.name}` === agent);
    const uid = found?.metadata.uid?.replaceAll('-', '_');
    if (uid === undefined) throw new Error(`${agent} has no uid`);
    const folder = `/sys/fs/cgroup/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod${uid}.slice`;
    await this.onNode('n1', 'mkdir', '-p', folder);
    // A pod of a namespace without a primary network has no rule of its own.
    const path = agent.startsWith('plain/')
      ? '"kubepods.slice"'
      : folder.replace('/sys/fs/cgroup/', '');
    await until(
      `rules for the cgroup of ${agent}`,
      async () => (await this.onNode('n1', 'nft', 'list', 'ruleset')).includes(path),
      this.#seconds * 1000,
    );
    return folder;
  }

  id(text: string): string {
    this.#number += 1;
    return `${this.#number} ${text}`;
  }

  /** A packet from one end to an address, with the id in it. */
  packet(id: string, from: string, to: string, size = 0): Buffer {
    const payload = Buffer.concat([marker(id), Buffer.alloc(size)]);
    return datagram({ from, to, port: PORT, payload });
  }

  /** What a tunnel to n2 would carry to an address of a pod there. `size`: bytes more. */
  async inTunnel(id: string, key: HostilePod, to: string, size = 0): Promise<string> {
    const { nadKey, addresses } = this.on(key);
    const [namespaceName = '', podName = ''] = key.split('/');
    const port = podPort(nadKey, namespaceName, podName);
    const { vni, outPort } = await this.#tunnelKeys(port);
    const packet = this.packet(id, to.replace(/[^.:]+$/, '77'), to, size);
    const frame = ethernet(macOf(addresses[0] ?? ''), '0a:58:00:00:00:01', ethertypeOf(to), packet);
    return geneve({ key: vni, inPort: 1, outPort }, frame).toString('hex');
  }

  /** Keys of a logical port on n2, and of its network; read once for each mode. */
  #tunnelKeys(port: string): Promise<TunnelKeys> {
    const known = this.#keys.get(port) ?? this.#readTunnelKeys(port);
    this.#keys.set(port, known);
    return known;
  }
  async #readTunnelKeys(port: string): Promise<TunnelKeys> {
    const read = async (columns: string, ...row: string[]): Promise<string> => {
      const words = ['--bare', '--no-headings', '--format=csv', `--columns=${columns}`, ...row];
      return (await this.onNode('n2', 'ovn-sbctl', ...words)).trim();
    };
    const binding = ['find', 'Port_Binding', `logical_port="${port}"`];
    const [outPort, datapath = ''] = (await read('tunnel_key,datapath', ...binding)).split(',');
    const vni = await read('tunnel_key', 'list', 'Datapath_Binding', datapath);
    return { vni: Number(vni), outPort: Number(outPort) };
  }

  /** A frame of a pod, by one of its interfaces, to the host's port on that network, past the router; it is for an address. */
  toPort(
    from: HostilePod,
    by: 'eth0' | 'ovn-udn1',
    { device, mac, to }: { device: string; mac: string; to: string },
  ): Send {
    const end = by === 'eth0' ? this.onDefault(from) : this.on(from);
    const id = this.id(`${from} by ${device} to ${to}`);
    const source = end.addresses.find((one) => familyOf(one) === familyOf(to)) ?? '';
    const packet = this.packet(id, source, to).toString('hex');
    const frame = { device: by, to: mac, type: ethertypeOf(to), packet };
    return { id, from: end.namespace, frame };
  }

  /** Who answers on each way, asked several times: two who share it show. */
  async answers(ways: readonly Way[], seconds = ANSWER_SECONDS): Promise<readonly string[]> {
    const times = 4;
    const asked = ways.flatMap((way) => Array.from({ length: times }, () => way));
    const probes = asked.map((way) => ({ ...way, ping: false }));
    const results = await probe(this.record, probes, seconds);
    return ways.map((way, n) => {
      const found = results.slice(n * times, (n + 1) * times);
      const who = new Set(found.map(({ answer }) => answer?.server ?? NOBODY));
      return wayText(way, [...who].toSorted().join(', '));
    });
  }

  /** Waits until those answer who should. */
  async untilAnswered(ways: readonly Way[]): Promise<void> {
    await expect
      .poll(() => this.answers(ways), { timeout: this.#seconds * 1000, interval: 200 })
      .toEqual(ways.map((way) => wayText(way, way.expected)));
  }

  /** Proves that those answer who should, at the first try. */
  async proveAnswers(kind: string, ways: readonly Way[]): Promise<void> {
    // An answer ends the wait for it, so only what should not come costs all of that time.
    const isSilent = ways.some(({ expected }) => expected === NOBODY);
    const found = await this.answers(ways, isSilent ? ANSWER_SECONDS : PACKET_SECONDS);
    const right = ways.map((way) => wayText(way, way.expected));
    for (const [n, text] of right.entries()) this.note(kind, found[n] === text);
    expect(found).toEqual(right);
  }

  /** Says in the table whether one thing that was tried was held. */
  note(kind: string, isHeld: boolean): void {
    this.attacks.push({ kind, by: `${this.#mode} mode`, isHeld });
  }

  /** Sends all, and proves that what should arrive in pods, or `outside` of the nodes, did, and nothing else. `kind`: of what should not, in the table. */
  async prove(kind: string, sends: readonly Send[], outside = ['ext']): Promise<void> {
    const pods = Object.keys(PODS).map((key) => this.onDefault(key as HostilePod).namespace);
    const watch = [...pods, ...outside];
    const { seen, errors } = await sendFrames(
      this.record,
      sends,
      watch,
      Math.min(this.#seconds, PACKET_SECONDS),
    );
    const judged = sends.filter(({ isFree }) => isFree !== true);
    for (const { id, wanted } of judged)
      if (wanted === undefined) this.note(kind, (seen[id] ?? []).length === 0);
    const where = (names: readonly string[]): string => names.join(', ') || 'nowhere';
    const wrong = judged.flatMap(({ id, wanted }) => {
      const arrived = where(seen[id] ?? []);
      const right = where(wanted === undefined ? [] : [wanted]);
      const why = errors[id] === undefined ? '' : ` (${errors[id]})`;
      return arrived === right ? [] : [`${id}: ${arrived}, not ${right}${why}`];
    });
    expect(wrong).toEqual([]);
  }
}

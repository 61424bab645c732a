/** The forwarder of DNS of a node between pods of its networks and the cluster's DNS, each in a network namespace of its own, with real sockets. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asHost } from '../../../src/allocators/addresses.ts';
import { checkout } from '../../../src/lab/paths.ts';
import { MANAGEMENT_DEVICES, managementDevice } from '../../../src/node/names.ts';
import { DNS_TABLE, MARK_DNS } from '../../../src/node/numbers.ts';
import { processorTimeOf } from '../../bench/benchmark.ts';
import { bound } from '../run/left-behind.ts';
import type { Asked } from '../run/dns-asker.ts';
import { until } from '../run/until.ts';
import { temporaryFolder } from '../ovsdb/ovsdb-server.ts';
import { NetworkNamespace } from './network-namespace.ts';

const SERVICE = '10.96.0.10';
/** Endpoints of the service in the facts of the node. */
const ENDPOINTS = ['10.244.0.8', '10.244.1.8', 'fd00:10:244:1::8'] as const;
const programs = join(checkout, 'test/support');

const RULES = [
  ['add', 'table', 'inet', 'names'],
  ['add chain inet names dns { type filter hook prerouting priority -150 ; }'],
  ...[
    `udp dport 53 socket mark ${MARK_DNS} meta mark set ${MARK_DNS}`,
    `tcp dport 53 ct state new socket mark ${MARK_DNS} ct mark set ${MARK_DNS}`,
    `tcp dport 53 ct mark ${MARK_DNS} meta mark set ${MARK_DNS}`,
  ].map((rule) => [
    `add rule inet names dns iifname "${MANAGEMENT_DEVICES}" ip daddr ${SERVICE} ${rule}`,
  ]),
];

/** As `ip link` names a namespace. */
const pidOf = ({ path }: NetworkNamespace): string => path.split('/')[2] ?? '';

/** A program of test/support inside a namespace. */
function spawned(
  place: NetworkNamespace,
  program: string,
  ...words: readonly string[]
): ChildProcess {
  const [nsenter = '', ...inside] = place.inside;
  const argv = [...inside, process.execPath, join(programs, program), ...words];
  return spawn(...bound(nsenter, argv), { stdio: ['pipe', 'pipe', 'inherit'] });
}

export class NamesBed implements AsyncDisposable {
  readonly #node: NetworkNamespace;
  readonly #cluster: NetworkNamespace;
  readonly #pods: readonly NetworkNamespace[];
  readonly #networks: number;
  readonly #folder: ReturnType<typeof temporaryFolder>;
  readonly #children: ChildProcess[] = [];
  #forwarder: ChildProcess | undefined;

  private constructor(
    [node, cluster]: readonly [NetworkNamespace, NetworkNamespace],
    pods: readonly NetworkNamespace[],
    networks: number,
    folder: ReturnType<typeof temporaryFolder>,
  ) {
    this.#folder = folder;
    this.#node = node;
    this.#cluster = cluster;
    this.#pods = pods;
    this.#networks = networks;
  }

  /** `networks`: so many, with a pod on each of the first `pods`. */
  static async start(networks: number, pods: number): Promise<NamesBed> {
    const [node, cluster] = await Promise.all([
      NetworkNamespace.create(),
      NetworkNamespace.create(),
    ]);
    const places = await Promise.all(Array.from({ length: pods }, () => NetworkNamespace.create()));
    node.ip(`link add name cluster type veth peer name e0 netns ${pidOf(cluster)}`);
    for (const [place, device, last] of [
      [node, 'cluster', 1],
      [cluster, 'e0', 2],
    ] as const) {
      place.ip(`address add 172.31.0.${last}/24 dev ${device}`);
      place.ip(`address add fd00:31::${last}/64 dev ${device} nodad`);
      place.ip(`link set dev ${device} up`);
    }
    cluster.ip('route add default via 172.31.0.1');
    for (const address of [SERVICE, ...ENDPOINTS]) {
      const isV6 = address.includes(':');
      cluster.ip(`address add ${asHost(address)} dev lo${isV6 ? ' nodad' : ''}`);
      node.ip(`route add ${asHost(address)} via ${isV6 ? 'fd00:31::2' : '172.31.0.2'}`);
    }
    node.sysctls.write('net/ipv4/ip_forward', '1');
    // As the node has it (src/node/networks/dns-forwarder.ts).
    for (const words of RULES) node.run(['nft', ...words]);
    node.ip(`rule add fwmark ${MARK_DNS} table ${DNS_TABLE}`);
    node.ip(`route add local ${SERVICE}/32 dev lo table ${DNS_TABLE}`);
    const folder = temporaryFolder();
    const devices = Array.from({ length: networks }, (_, at) => managementDevice(at + 1));
    const batch = join(folder.path, 'devices');
    const empty = devices.slice(pods).map((device) => `link add name ${device} type bridge`);
    writeFileSync(batch, empty.join('\n'));
    node.ip(`-batch ${batch}`);
    for (const [at, place] of places.entries()) {
      const [id, device] = [at + 1, managementDevice(at + 1)];
      node.ip(`link add name ${device} type veth peer name e0 netns ${pidOf(place)}`);
      node.ip(`address add 10.9.${id}.1/24 dev ${device}`);
      node.ip(`link set dev ${device} up`);
      place.ip(`address add 10.9.${id}.2/24 dev e0`);
      place.ip('link set dev e0 up');
      place.ip(`route add default via 10.9.${id}.1`);
    }
    return new NamesBed([node, cluster], places, networks, folder);
  }

  get #zone(): string {
    return join(this.#folder.path, 'names.json');
  }

  /** What the cluster's DNS says from now on. */
  say(known: Readonly<Record<string, readonly string[]>>): void {
    const zone = Object.entries(known).map(([name, addresses]) => [name, { addresses, ttl: 5 }]);
    writeFileSync(this.#zone, JSON.stringify(Object.fromEntries(zone)));
  }

  /** The cluster's DNS, at the endpoints and, as load balancers would have it, at the address of the service. */
  startCluster(): void {
    for (const address of [SERVICE, ...ENDPOINTS])
      this.#children.push(spawned(this.#cluster, 'lab/dns-program.ts', address, this.#zone));
  }

  async startForwarder(): Promise<void> {
    const child = spawned(this.#node, 'run/names-node.ts', String(this.#networks));
    this.#forwarder = child;
    let output = '';
    child.stdout?.on('data', (bytes: Buffer) => (output += bytes.toString()));
    await until('the forwarder', () => output.includes('open'), { limit: 120_000 });
  }

  async killForwarder(): Promise<void> {
    const child = this.#forwarder;
    if (child === undefined) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  /** Milliseconds of processor time that the forwarder has used. */
  get processorTime(): number {
    return processorTimeOf(this.#forwarder?.pid ?? 0);
  }

  /** What the pod of a network is told; `rate`: questions a second for five seconds, or each once. */
  ask(id: number, protocol: 'udp' | 'tcp', queries: readonly Buffer[], rate = 0): Asked {
    const place = this.#pods[id - 1];
    if (place === undefined) throw new Error(`no pod on network ${id}`);
    const [nsenter = '', ...inside] = place.inside;
    const program = join(programs, 'run/dns-asker.ts');
    const words = queries.map((query) => query.toString('hex'));
    const argv = [...inside, process.execPath, program, SERVICE, protocol, String(rate), ...words];
    return JSON.parse(execFileSync(nsenter, argv, { encoding: 'utf8' })) as Asked;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.killForwarder();
    for (const child of this.#children) child.kill('SIGKILL');
    for (const one of [this.#node, this.#cluster, ...this.#pods]) one[Symbol.dispose]();
    this.#folder[Symbol.dispose]();
  }
}

/** A lab with the tenants of the matrix: sends packets between them, and keeps what they proved for a table. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import { table } from '../../../src/cli/output.ts';
import {
  probe,
  type Endpoint,
  type Probe,
  type ProbeResult,
} from '../../../src/lab/connectivity.ts';
import { outputInside } from '../../../src/lab/exec.ts';
import { serveOutward } from '../../../src/lab/outward.ts';
import type { LabKind } from '../../../src/lab/paths.ts';
import { SERVER_PORT } from '../../../src/lab/pods.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { testLab, type TestLab } from './lab.ts';
import { ownFolder } from '../run/left-behind.ts';
import {
  clusterIps,
  DNS,
  healthPort,
  nodeAddresses,
  podKey,
  PODS,
  serviceObjects,
  SERVICES,
  sliceObjects,
  systemObjects,
  systemServices,
  tenantObjects,
  TENANTS,
  type NodeName,
  type PodName,
  type ServiceEndpoint,
  type ServiceName,
  type Tenant,
} from './matrix-tenants.ts';
import { Tenants } from './tenants.ts';

/** Where nobody answers. */
export const NOBODY = 'nobody';

/** How the nodes of a matrix are run. */
export interface MatrixMode {
  readonly gatewayMode: 'shared' | 'local';
  readonly kind: LabKind;
  /** Seconds that packets have; those that should not arrive are waited for so long. */
  readonly seconds: number;
  /** Pods of each tenant from which every other pod is tried. */
  readonly senders: readonly PodName[];
  /** Seconds that a condition may take; how long it takes is not what is tested. */
  readonly limit: number;
}

/** One packet's way, for a tenant: who should answer, and whom it should see. */
export interface Way extends Probe {
  readonly tenant: Tenant;
  readonly expected: string;
}

type Protocols = readonly ('tcp' | 'udp')[];

/** Name of the server that answered. */
export const server = ({ answer }: ProbeResult): string => answer?.server ?? NOBODY;
/** The same with the address that it saw. */
export const serverAndPeer = ({ answer }: ProbeResult): string =>
  answer === null ? NOBODY : `${answer.server} saw ${answer.peer}`;

const manifest = (objects: readonly object[]): string =>
  objects.map((object) => stringify(object)).join('---\n');

/** All tenants and the system; the default network reaches services of these networks. */
const clusterObjects = (open: readonly Tenant[]): object[] => [
  ...TENANTS.flatMap((tenant) =>
    tenantObjects(
      tenant,
      open.includes(tenant) ? { 'k8s.ovn.org/default-network-access': 'true' } : {},
    ),
  ),
  ...systemObjects('n3'),
];

export class MatrixLab implements AsyncDisposable {
  readonly record: LabRecord;
  readonly tenants: Tenants;
  /** By pod, on the default network. */
  readonly onDefault: ReadonlyMap<string, Endpoint>;
  /** For `expect.poll`. */
  readonly soon: { readonly timeout: number; readonly interval: number };
  readonly #primary: ReadonlyMap<string, Endpoint>;
  readonly #mode: MatrixMode;
  readonly #lab: TestLab;
  /** Rows of the table by what they say: tenants for which it is so. */
  readonly #proved = new Map<string, readonly Tenant[]>();

  private constructor(
    mode: MatrixMode,
    lab: TestLab,
    tenants: Tenants,
    ends: readonly (readonly Endpoint[])[],
  ) {
    this.#mode = mode;
    this.#lab = lab;
    this.record = lab.record;
    this.tenants = tenants;
    this.soon = { timeout: mode.limit * 1000, interval: 300 };
    const [primary, onDefault] = ends.map((some) => new Map(some.map((end) => [end.pod, end])));
    this.#primary = primary ?? new Map();
    this.onDefault = onDefault ?? new Map();
  }

  /** Starts nodes, daemons, pods and services of all tenants. */
  static async start(mode: MatrixMode): Promise<MatrixLab> {
    const folder = ownFolder('heddle-matrix');
    writeFileSync(join(folder, 'tenants.yaml'), manifest(clusterObjects([])));
    const { kind, gatewayMode, limit } = mode;
    const lab = await testLab(`e2e-matrix-${gatewayMode}`, { kind, families: 'dual' });
    try {
      const daemonArguments = [
        `--gateway-mode=${gatewayMode}`,
        // No network lets it in, but where a test says so.
        '--default-network-access=kube-system',
        // Three daemons have one processor in the virtual machine: with the default of a second nodes let egress addresses go while others are busy.
        ...(kind === 'vm' ? ['--egressip-reachability-total-timeout=20'] : []),
      ];
      const tenants = new Tenants(lab.record, { folder, daemonArguments, seconds: limit });
      await tenants.start();
      await serveOutward(lab.record);
      const ends = [await tenants.endpoints('primary'), await tenants.endpoints('default')];
      const matrix = new MatrixLab(mode, lab, tenants, ends);
      matrix.write('services', TENANTS.flatMap(serviceObjects));
      matrix.writeSlices();
      return matrix;
    } catch (error) {
      await lab[Symbol.asyncDispose]();
      throw error;
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lab[Symbol.asyncDispose]();
  }

  /** What was proved: a row for each promise, a column for each kind of network. */
  get text(): string {
    const rows = [...this.#proved].map(([words, right]) => [
      words,
      ...TENANTS.map((tenant) => (right.includes(tenant) ? 'yes' : '-')),
    ]);
    const heading = `in ${this.#mode.gatewayMode} gateway mode`;
    return table([heading, ...TENANTS.map(({ name }) => name)], rows);
  }

  /** Notes for the table what was proved for these tenants. */
  note(words: string, tenants: readonly Tenant[]): void {
    this.#proved.set(words, tenants);
  }

  /** Writes a file of those that the daemons follow. */
  write(name: string, objects: readonly object[]): void {
    writeFileSync(this.#file(name), manifest(objects));
  }

  /** Has the networks of these tenants, and no others, let the default network in. */
  letDefaultIn(open: readonly Tenant[]): void {
    this.write('tenants', clusterObjects(open));
  }

  remove(name: string): void {
    rmSync(this.#file(name));
  }

  #file(name: string): string {
    return join(this.tenants.manifests, `${name}.yaml`);
  }

  /** Writes the endpoints of the tenants' services; `moved` puts all of them on one pod. */
  writeSlices(moved?: PodName): void {
    const endpointOf = (key: string): ServiceEndpoint => {
      const end = this.onDefault.get(key);
      if (end === undefined) throw new Error(`${key} has no address`);
      return { pod: key, node: end.node, addresses: end.addresses };
    };
    const slices = TENANTS.flatMap((tenant) =>
      Object.entries(SERVICES).flatMap(([name, { endpoints }]) =>
        sliceObjects(
          `${tenant.name}/${name}`,
          // A service selects pods of its own namespace.
          (moved === undefined ? endpoints : [moved])
            .map((pod) => podKey(tenant, pod))
            .filter((key) => key.startsWith(`${tenant.name}/`))
            .map(endpointOf),
        ),
      ),
    );
    this.write('slices', [...slices, ...systemServices(endpointOf(DNS.pod))]);
  }

  /** A pod's end on the network that it talks on. */
  endOf(tenant: Tenant, pod: PodName): Endpoint {
    const found = this.#primary.get(podKey(tenant, pod));
    if (found === undefined) throw new Error(`${podKey(tenant, pod)} has no interface`);
    return found;
  }

  ask(ways: readonly Way[]): Promise<ProbeResult[]> {
    const probes = ways.map((way) => ({ ...way, ping: false }));
    return probe(this.record, probes, this.#mode.seconds);
  }

  /** Sends what the ways say until all is as expected, and notes it. */
  async prove(
    words: string,
    ways: readonly Way[],
    seen: (result: ProbeResult) => string = server,
  ): Promise<void> {
    const text = ({ tenant, from, to, port, protocol = 'tcp' }: Way, what: string): string =>
      `${tenant.name}: ${from} ${protocol} ${to} ${port}: ${what}`;
    const expected = ways.map((way) => text(way, way.expected));
    let found: string[] = [];
    try {
      await expect
        .poll(async () => {
          const results = await this.ask(ways);
          found = ways.map((way, n) => text(way, seen(results[n] as ProbeResult)));
          return found;
        }, this.soon)
        .toEqual(expected);
    } finally {
      const isWrong = (_: Way, n: number): boolean => found[n] !== expected[n];
      const wrong = new Set(ways.filter(isWrong).map(({ tenant }) => tenant));
      const tried = new Set(ways.map(({ tenant }) => tenant));
      this.note(
        words,
        [...tried].filter((tenant) => !wrong.has(tenant)),
      );
    }
  }

  /** Ways to a pod's addresses on its network. */
  toPod(tenant: Tenant, from: PodName, to: PodName, expected: string): Way[] {
    return this.endOf(tenant, to).addresses.map((address) => ({
      tenant,
      from: this.endOf(tenant, from).namespace,
      to: address,
      port: SERVER_PORT,
      expected,
    }));
  }

  /** Ways to a service's cluster IPs. */
  toService(
    tenant: Tenant,
    from: PodName,
    service: ServiceName,
    expected: string,
    protocols: Protocols = ['tcp', 'udp'],
  ): Way[] {
    return clusterIps(tenant, service).flatMap((to) =>
      protocols.map((protocol) => ({
        tenant,
        from: this.endOf(tenant, from).namespace,
        to,
        port: 80,
        protocol,
        expected,
      })),
    );
  }

  /** Status and number of endpoints that a load balancer gets from a node for each tenant. */
  async health(node: NodeName): Promise<string[]> {
    const program = `
import json, sys, urllib.error, urllib.request
for port in sys.argv[2:]:
    try:
        with urllib.request.urlopen(f'http://{sys.argv[1]}:{port}/', timeout=5) as answer:
            print(answer.status, json.load(answer)['localEndpoints'])
    except urllib.error.HTTPError as error:
        print(error.code, json.load(error)['localEndpoints'])
    except OSError:
        print('${NOBODY}')
`;
    const ports = TENANTS.map((tenant) => String(healthPort(tenant)));
    const argv = ['ip', 'netns', 'exec', 'ext', 'python3', '-c', program];
    const text = await outputInside(this.record, [...argv, nodeAddresses(node)[0], ...ports]);
    return text.trim().split('\n');
  }

  /** Adds a route to the host outside. */
  async routeOutside(route: string): Promise<void> {
    await outputInside(this.record, `ip -n ext route replace ${route}`.split(' '));
  }
}

/** Ways from the host outside; `expected` by family. */
export const fromOutside = (
  tenant: Tenant,
  addresses: readonly string[],
  port: number,
  expected: (family: number) => string,
  protocols: Protocols = ['tcp'],
): Way[] =>
  addresses.flatMap((to, family) =>
    protocols.map((protocol) => ({
      tenant,
      from: 'ext',
      to,
      port,
      protocol,
      expected: expected(family),
    })),
  );

/** Pods of the matrix by their keys, with the tenant whose network they are on. */
export const tenantOfPod = (
  pods: readonly PodName[] = Object.keys(PODS) as PodName[],
): Map<string, string> =>
  new Map(TENANTS.flatMap((tenant) => pods.map((pod) => [podKey(tenant, pod), tenant.name])));

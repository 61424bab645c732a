/**
 * Who reaches whom among the pods a, b and c of the namespaces x, y and z, by each protocol and port: twice, on the cluster default network and on
 * a primary network of the three namespaces. What the cases of Kubernetes for network policies are told with.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import { probe, type Endpoint, type Probe } from '../../../src/lab/connectivity.ts';
import { outputInside } from '../../../src/lab/exec.ts';
import { askSctp, SctpServers, type Where } from './sctp-associations.ts';
import type { Tenants } from './tenants.ts';

export const SPACES = ['x', 'y', 'z'] as const;
export type Space = (typeof SPACES)[number];
export const PODS = { a: 'n1', b: 'n2', c: 'n3' } as const;
export type PodName = keyof typeof PODS;
const POD_NAMES = Object.keys(PODS) as PodName[];

/** One pod of the table. */
export interface Place {
  readonly space: Space;
  readonly pod: PodName;
  /** `x/a`. */
  readonly key: `${Space}/${PodName}`;
}
export const PLACES: readonly Place[] = SPACES.flatMap((space) =>
  POD_NAMES.map((pod): Place => ({ space, pod, key: `${space}/${pod}` })),
);

/** A protocol and a port on which every pod answers. */
const VIAS = ['tcp 80', 'tcp 81', 'udp 80', 'udp 81'] as const;
/** The same of SCTP, for steps that are about it. */
const SCTP_VIAS = ['sctp 80', 'sctp 81'] as const;
export type Via = (typeof VIAS)[number] | (typeof SCTP_VIAS)[number];
export const viasOf = ({ hasSctp = false }: Pick<Step, 'hasSctp'>): readonly Via[] =>
  hasSctp ? [...VIAS, ...SCTP_VIAS] : VIAS;
/** What pods call their ports; `web` is another one on c. */
export const portsOf = (pod: PodName): object[] => [
  ...VIAS.map((via) => {
    const [protocol = '', port] = via.split(' ');
    const name = `serve-${port}-${protocol}`;
    return { name, containerPort: Number(port), protocol: protocol.toUpperCase() };
  }),
  { name: 'web', containerPort: pod === 'c' ? 81 : 80, protocol: 'TCP' },
];

/** The two networks; names of namespaces begin with it. */
export const NETWORKS = ['default', 'primary'] as const;
export type NetworkName = (typeof NETWORKS)[number];

/** A namespace whose pods are closed by one step and opened by the next one: seen, all that the step says is in force on their nodes. */
const SIGNAL = 'signal';

/** What a case may ask about the network that it is on. */
export interface World {
  /** Name of a namespace. */
  name(space: Space): string;
  /** Address of a pod. */
  address(key: Place['key']): string;
  /** Block of all its pods. */
  readonly subnet: string;
}

export interface Labels {
  readonly spaces?: Partial<Record<Space, Readonly<Record<string, string>>>>;
  readonly pods?: Partial<Record<Place['key'], Readonly<Record<string, string>>>>;
}

/** By namespace: names of policies, and their specs. */
export type Policies = Partial<Record<Space, Readonly<Record<string, object>>>>;

export interface Step {
  /** Those that are there, and no others. */
  readonly policies?: Policies | ((world: World) => Policies);
  /** Of the cluster's administrators: names, and specs. Each network has its own. */
  readonly cluster?:
    | Readonly<Record<string, object>>
    | ((world: World) => Readonly<Record<string, object>>);
  /** AdminNetworkPolicies, likewise. */
  readonly admin?: (world: World) => Readonly<Record<string, object>>;
  /** What is added to the labels that pods and namespaces have anyway: `pod: a`, `ns: x`. */
  readonly labels?: Labels;
  /** Whether SCTP is asked, too. */
  readonly hasSctp?: boolean;
  /** Whether one gets an answer of another; nobody asks itself. */
  readonly open: (from: Place, to: Place, via: Via) => boolean;
}

/** Its name, and what is true step by step. */
export type PolicyCase = [name: string, ...steps: Step[]];

/** Long enough for a packet that arrives; what is late is asked again. */
const SECONDS = 1;
/** Each pod has a program of its own that asks. */
const SCTP_SECONDS = 3;
const SOON = { timeout: 30_000, interval: 100 };
const SUBNETS: Readonly<Record<NetworkName, string>> = {
  default: '10.128.0.0/14',
  primary: '10.40.0.0/16',
};
/** Long enough for a packet that arrives. */
const SIGNAL_SECONDS = 1;
const PRIMARY = 'k8s.ovn.org/primary-user-defined-network';

const text = (objects: readonly object[]): string =>
  // `y` is no truth here.
  objects.map((object) => stringify(object, { version: '1.1' })).join('---\n');

export const spaceName = (network: NetworkName, space: Space): string => `${network}-${space}`;

const podObject = (
  namespace: string,
  pod: PodName,
  labels: object = {},
  ports: readonly object[] = [],
): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace, name: pod, labels: { pod, ...labels } },
  spec: {
    nodeName: PODS[pod],
    containers: [{ name: 'main', image: 'main', ports: [...portsOf(pod), ...ports] }],
  },
});
const namespaceObject = (name: string, labels: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { 'kubernetes.io/metadata.name': name, ...labels } },
});
const policyObject = (namespace: string, name: string, spec: object): object => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { namespace, name },
  spec,
});

const clusterPolicyObject = (name: string, spec: object): object => ({
  apiVersion: 'policy.networking.k8s.io/v1alpha2',
  kind: 'ClusterNetworkPolicy',
  metadata: { name },
  spec,
});

const adminPolicyObject = (name: string, spec: object): object => ({
  apiVersion: 'policy.networking.k8s.io/v1alpha1',
  kind: 'AdminNetworkPolicy',
  metadata: { name },
  spec,
});

/** Policies of a step, on both networks. */
export const policyObjects = (
  { policies = {}, cluster = {}, admin }: Omit<Step, 'open' | 'labels'>,
  worldOf: (network: NetworkName) => World,
): object[] =>
  NETWORKS.flatMap((network) => {
    const world = worldOf(network);
    const given = typeof policies === 'function' ? policies(world) : policies;
    const ofCluster = typeof cluster === 'function' ? cluster(world) : cluster;
    return [
      ...Object.entries(given).flatMap(([space, named]) =>
        Object.entries(named).map(([name, spec]) =>
          policyObject(world.name(space as Space), name, spec),
        ),
      ),
      ...Object.entries(ofCluster).map(([name, spec]) =>
        clusterPolicyObject(`${network}-${name}`, spec),
      ),
      ...Object.entries(admin?.(world) ?? {}).map(([name, spec]) =>
        adminPolicyObject(`${network}-${name}`, spec),
      ),
    ];
  });

/** Namespaces, pods and the primary network. */
export function tableObjects(
  { spaces = {}, pods = {} }: Labels = {},
  morePorts: (network: NetworkName, place: Place['key']) => readonly object[] = () => [],
): string {
  const objects = NETWORKS.flatMap((network) => [
    ...SPACES.map((space) => {
      const own = network === 'primary' ? { [PRIMARY]: '', network } : {};
      return namespaceObject(spaceName(network, space), { ns: space, ...own, ...spaces[space] });
    }),
    ...PLACES.map(({ space, pod, key }) =>
      podObject(spaceName(network, space), pod, pods[key], morePorts(network, key)),
    ),
  ]);
  const network = {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'ClusterUserDefinedNetwork',
    metadata: { name: 'table' },
    spec: {
      namespaceSelector: { matchLabels: { network: 'primary' } },
      network: {
        topology: 'Layer3',
        layer3: { role: 'Primary', subnets: [{ cidr: SUBNETS.primary, hostSubnet: 24 }] },
      },
    },
  };
  const signal = [namespaceObject(SIGNAL), ...POD_NAMES.map((pod) => podObject(SIGNAL, pod))];
  return text([...objects, ...signal, network]);
}

/** Has every pod answer on both ports. */
export async function servePorts({ lab }: Tenants, ends: readonly Endpoint[]): Promise<void> {
  const servers = ends.map(({ namespace, pod: name }) => ({ namespace, name }));
  for (const port of [80, 81])
    await outputInside(lab, ['lab-serve'], { input: JSON.stringify({ servers, port }) });
}

/** A question of one pod to another one. */
interface Asked {
  readonly network: NetworkName;
  readonly from: Place;
  readonly to: Place;
  readonly via: Via;
}

const podPlace = (namespace: string): Where => ['ip', 'netns', 'exec', namespace];

/** Has every pod answer SCTP, until disposed. */
export const sctpServers = ({ lab }: Tenants, ends: readonly Endpoint[]): Promise<SctpServers> =>
  SctpServers.start(
    lab,
    ends.map(({ namespace }) => podPlace(namespace)),
  );

/** The table on a lab on which `tableObjects` are plugged in. */
export class TruthTable {
  readonly #tenants: Tenants;
  readonly #ends: ReadonlyMap<string, Endpoint>;
  #labels = '';
  #isClosed = false;

  private constructor(tenants: Tenants, ends: readonly Endpoint[]) {
    this.#tenants = tenants;
    this.#ends = new Map(ends.map((end) => [end.pod, end]));
  }

  static async of(tenants: Tenants): Promise<TruthTable> {
    const table = new TruthTable(tenants, await tenants.endpoints());
    await servePorts(tenants, [...table.#ends.values()]);
    return table;
  }

  /** Pods of the table with their addresses on its networks. */
  get ends(): readonly Endpoint[] {
    return [...this.#ends.values()].filter(({ pod }) => !pod.startsWith(SIGNAL));
  }

  #end(network: NetworkName, { space, pod }: Pick<Place, 'space' | 'pod'>): Endpoint {
    return this.#named(`${spaceName(network, space)}/${pod}`);
  }

  #named(key: string): Endpoint {
    const found = this.#ends.get(key);
    if (found === undefined) throw new Error(`${key} has no address`);
    return found;
  }

  #world(network: NetworkName): World {
    return {
      name: (space) => spaceName(network, space),
      address: (key) => {
        const place = PLACES.find((one) => one.key === key);
        return place === undefined ? '' : (this.#end(network, place).addresses[0] ?? '');
      },
      subnet: SUBNETS[network],
    };
  }

  /** Writes what a step says on both networks, and waits until it is in force on every node. */
  async apply(step: Omit<Step, 'open'>): Promise<void> {
    this.#write(step);
    await this.#inForce();
  }

  /** Writes what a step says on both networks, and sends packets between all pairs until they arrive where it says, and nowhere else. */
  async holds({ open, ...step }: Step): Promise<void> {
    await this.apply(step);
    const asked = NETWORKS.flatMap((network) =>
      PLACES.flatMap((from) =>
        PLACES.filter((to) => to !== from).flatMap((to) =>
          viasOf(step).map((via): Asked => ({ network, from, to, via })),
        ),
      ),
    );
    const line = ({ network, from, to, via }: Asked, is: boolean): string =>
      `${network}: ${from.key} to ${to.key} ${via}: ${is ? 'open' : 'closed'}`;
    const expected = asked.map((one) => line(one, open(one.from, one.to, one.via)));
    const wrong = async (): Promise<string[]> => {
      const bySctp = asked.filter(({ via }) => via.startsWith('sctp'));
      const others = asked.filter(({ via }) => !via.startsWith('sctp'));
      const reached = new Set([
        ...(await this.#reached(others)),
        ...(await this.#associated(bySctp)),
      ]);
      const found = asked.map((one) => line(one, reached.has(one)));
      return found.filter((said, n) => said !== expected[n]);
    };
    await expect.poll(wrong, SOON).toEqual([]);
  }

  /** Those whom the pod that is asked answers, by TCP and UDP. */
  async #reached(asked: readonly Asked[]): Promise<readonly Asked[]> {
    const probes = asked.map(({ network, from, to, via }): Probe => {
      const [protocol = '', port] = via.split(' ');
      return {
        from: this.#end(network, from).namespace,
        to: this.#end(network, to).addresses[0] ?? '',
        port: Number(port),
        protocol: protocol as 'tcp' | 'udp',
        ping: false,
      };
    });
    const results = await probe(this.#tenants.lab, probes, SECONDS);
    return asked.filter(
      ({ network, to }, n) => results[n]?.answer?.server === this.#end(network, to).pod,
    );
  }

  /** The same by SCTP, of servers that `sctpServers` has started. */
  async #associated(asked: readonly Asked[]): Promise<readonly Asked[]> {
    const bySender = Map.groupBy(asked, ({ network, from }) => this.#end(network, from).namespace);
    const found = await Promise.all(
      [...bySender].map(async ([namespace, all]) => {
        const ends = all.map(({ network, to }) => this.#end(network, to));
        const answers = await askSctp(
          this.#tenants.lab,
          podPlace(namespace),
          ends.map(({ addresses }, n) => [addresses[0] ?? '', Number(all[n]?.via.split(' ')[1])]),
          { seconds: SCTP_SECONDS },
        );
        return all.filter((_, n) => answers[n]?.server === ends[n]?.namespace);
      }),
    );
    return found.flat();
  }

  #write({ labels = {}, ...step }: Omit<Step, 'open'>): void {
    const { manifests } = this.#tenants;
    const objects = tableObjects(labels);
    if (objects !== this.#labels) writeFileSync(join(manifests, 'table.yaml'), objects);
    this.#labels = objects;
    const all = policyObjects(step, (network) => this.#world(network));
    this.#isClosed = !this.#isClosed;
    if (this.#isClosed) all.push(policyObject(SIGNAL, 'closed', { podSelector: {} }));
    const file = join(manifests, 'policies.yaml');
    if (all.length === 0) rmSync(file, { force: true });
    else writeFileSync(file, text(all));
  }

  /** Waits until every node does what was written last. */
  async #inForce(): Promise<void> {
    const keys = POD_NAMES.map((pod) => `${SIGNAL}/${pod}`);
    const probes = keys.map((key, n): Probe => {
      const from = keys[(n + 1) % keys.length] ?? '';
      const to = this.#named(key).addresses[0] ?? '';
      return { from: this.#named(from).namespace, to, port: 80, ping: false };
    });
    const expected = keys.map((key) => (this.#isClosed ? undefined : key));
    const servers = async (): Promise<(string | undefined)[]> =>
      (await probe(this.#tenants.lab, probes, SIGNAL_SECONDS)).map(({ answer }) => answer?.server);
    await expect.poll(servers, SOON).toEqual(expected);
  }
}

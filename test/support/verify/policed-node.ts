/** A node with pods on the default network and on a primary one, of three namespaces each, and policies: rows as a daemon writes them into a real database. */
import {
  adminNetworkPolicies,
  baselineAdminNetworkPolicies,
  clusterNetworkPolicies,
  egressFirewalls,
  multiNetworkPolicies,
  namespaces,
  networkAttachmentDefinitions,
  networkPolicies,
  nodes,
  pods,
} from '../../../src/api/kinds.ts';
import { objectKey, type KubeObject, type ResourceKind } from '../../../src/api/objects.ts';
import { macOf } from '../../../src/allocators/addresses.ts';
import { readTables } from '../../../src/verify/read/databases.ts';
import type { Snapshot } from '../../../src/verify/snapshot.ts';
import { schemaOf } from '../../bench/filled-server.ts';
import { Zone } from '../../bench/zone-change.ts';
import { BENCH_SETTINGS, nadObject, nodeObject, OWN_NODE } from '../../bench/zone-objects.ts';
import { OvnZone } from '../zone/ovn-zone.ts';
import {
  NETWORKS,
  PLACES,
  spaceName,
  SPACES,
  type NetworkName,
  type Place,
  type Space,
  portsOf,
  type Step,
  type World,
} from '../lab/truth-table.ts';

const by = { fieldManager: 'test' };
const never = new AbortController().signal;
const PRIMARY = 'k8s.ovn.org/primary-user-defined-network';
const PRIMARY_NETWORK = 'cluster_udn_p';

const OCTETS: Readonly<Record<NetworkName, number>> = { default: 10, primary: 103 };
/** Pods c are on another node. */
const nodeOf = ({ pod }: Place): number => (pod === 'c' ? 1 : 0);

const placeOf = (key: Place['key']): Place => {
  const found = PLACES.find((one) => one.key === key);
  if (found === undefined) throw new Error(`there is no pod ${key}`);
  return found;
};

const addressOf = (network: NetworkName, place: Place): string =>
  `${OCTETS[network]}.0.${64 * nodeOf(place)}.${3 + PLACES.indexOf(place)}`;

const nodeNamed = (index: number): KubeObject => {
  const node = nodeObject(index, []);
  const subnets = JSON.stringify({
    default: [`10.0.${64 * index}.0/18`],
    [PRIMARY_NETWORK]: [`103.0.${64 * index}.0/18`],
  });
  const annotations = { ...node.metadata.annotations, 'k8s.ovn.org/node-subnets': subnets };
  return { ...node, metadata: { ...node.metadata, annotations } };
};

const nadIn = (namespace: string): KubeObject =>
  JSON.parse(
    JSON.stringify(nadObject(1))
      .replaceAll('t1_net', PRIMARY_NETWORK)
      .replace('"UserDefinedNetwork"', '"ClusterUserDefinedNetwork"')
      .replaceAll('"t1"', JSON.stringify(namespace))
      .replaceAll('t1/net', `${namespace}/p`)
      .replaceAll('"name":"net"', '"name":"p"'),
  ) as KubeObject;

const namespaceOf = (network: NetworkName, space: string, labels: object = {}): KubeObject => {
  const name = spaceName(network, space as 'x');
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name,
      labels: {
        'kubernetes.io/metadata.name': name,
        ns: space,
        ...(network === 'primary' ? { [PRIMARY]: '' } : {}),
        ...labels,
      },
    },
  };
};

function podOf(network: NetworkName, place: Place, labels: object = {}): KubeObject {
  const namespace = spaceName(network, place.space);
  const onNetwork = (of: NetworkName, role: string): object => {
    const address = addressOf(of, place);
    return { ip_addresses: [`${address}/18`], mac_address: macOf(address), role };
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace,
      name: place.pod,
      uid: `${namespace}-${place.pod}`,
      labels: { pod: place.pod, ...labels },
      annotations: {
        // On the default network, beside a primary one.
        ...(network === 'primary' && place.key === 'x/a'
          ? { 'k8s.ovn.org/open-default-ports': '[{protocol: tcp, port: 80}, {protocol: icmp}]' }
          : {}),
        'k8s.ovn.org/pod-networks': JSON.stringify(
          network === 'default'
            ? { default: onNetwork('default', 'primary') }
            : {
                default: {
                  ip_addresses: [`10.0.${64 * nodeOf(place)}.${103 + PLACES.indexOf(place)}/18`],
                  mac_address: macOf(`10.0.${64 * nodeOf(place)}.${103 + PLACES.indexOf(place)}`),
                  role: 'infrastructure-locked',
                },
                [`${namespace}/p`]: onNetwork('primary', 'primary'),
              },
        ),
      },
    },
    spec: {
      nodeName: `node-${nodeOf(place)}`,
      containers: [{ name: 'main', image: 'main', ports: portsOf(place.pod) }],
    },
    status: { phase: 'Running' },
  };
}

const KINDS = [networkPolicies, clusterNetworkPolicies, egressFirewalls];

function kindOf({ kind }: Pick<KubeObject, 'kind'>): ResourceKind {
  const found = KINDS.find((one) => one.kind === kind);
  if (found === undefined) throw new Error(`${kind} is no kind of policy`);
  return found;
}

/** What a step says of both networks, and of namespaces there. */
export type PolicedStep = Omit<Step, 'open'> & {
  /** Rules of the EgressFirewalls of namespaces. */
  readonly firewalls?: (world: World) => Partial<Record<Space, readonly object[]>>;
};

export class PolicedNode implements AsyncDisposable {
  readonly #ovn: OvnZone;
  readonly #zone: Zone;
  #there: readonly KubeObject[] = [];

  private constructor(ovn: OvnZone, zone: Zone) {
    this.#ovn = ovn;
    this.#zone = zone;
  }

  static async start(): Promise<PolicedNode> {
    const ovn = await OvnZone.start();
    const node = new PolicedNode(ovn, new Zone(ovn.northbound));
    for (const index of [0, 1]) await node.#create(nodes, nodeNamed(index));
    for (const network of NETWORKS)
      for (const space of SPACES) {
        await node.#create(namespaces, namespaceOf(network, space));
        if (network === 'primary')
          await node.#create(networkAttachmentDefinitions, nadIn(spaceName(network, space)));
      }
    for (const network of NETWORKS)
      for (const place of PLACES) await node.#create(pods, podOf(network, place));
    await node.#zone.synced();
    return node;
  }

  async #create(kind: ResourceKind, object: KubeObject): Promise<void> {
    await this.#zone.store.create(kind, object, by);
  }

  /** Labels and policies of a step, on both networks, in place of those that were there. */
  async take({
    labels = {},
    policies = {},
    cluster = {},
    firewalls = () => ({}),
  }: PolicedStep): Promise<void> {
    const { store } = this.#zone;
    const wanted: KubeObject[] = [];
    for (const network of NETWORKS) {
      const world: World = {
        name: (space) => spaceName(network, space),
        address: (key) => addressOf(network, placeOf(key)),
        subnet: network === 'default' ? '10.0.0.0/8' : '103.0.0.0/8',
      };
      const given = typeof policies === 'function' ? policies(world) : policies;
      for (const space of SPACES)
        for (const [name, spec] of Object.entries(given[space] ?? {}))
          wanted.push({
            apiVersion: 'networking.k8s.io/v1',
            kind: 'NetworkPolicy',
            metadata: { namespace: spaceName(network, space), name },
            spec,
          });
      const admins = typeof cluster === 'function' ? cluster(world) : cluster;
      for (const [name, spec] of Object.entries(admins))
        wanted.push({
          apiVersion: 'policy.networking.k8s.io/v1alpha2',
          kind: 'ClusterNetworkPolicy',
          metadata: { name: `${network}-${name}` },
          spec,
        });
      for (const [space, egress] of Object.entries(firewalls(world)))
        wanted.push({
          apiVersion: 'k8s.ovn.org/v1',
          kind: 'EgressFirewall',
          metadata: { namespace: spaceName(network, space as Space), name: 'default' },
          spec: { egress },
        });
      for (const space of SPACES)
        await this.#put(namespaces, namespaceOf(network, space, labels.spaces?.[space]));
      for (const place of PLACES)
        await this.#put(pods, podOf(network, place, labels.pods?.[place.key]));
    }
    for (const { metadata, kind } of this.#there)
      await store.delete(kindOf({ kind }), objectKey(metadata));
    for (const one of wanted) await this.#create(kindOf(one), one);
    this.#there = wanted;
  }

  /** Gives an object the labels that this one has, and no others. */
  async #put(kind: ResourceKind, { metadata }: KubeObject): Promise<void> {
    const key = objectKey(metadata);
    const before = (await this.#zone.store.get(kind, key))?.metadata.labels ?? {};
    const gone = Object.fromEntries(Object.keys(before).map((label) => [label, null]));
    if (JSON.stringify(before) === JSON.stringify(metadata.labels)) return;
    const labels = { ...gone, ...metadata.labels };
    await this.#zone.store.patch(kind, key, { metadata: { labels } }, by);
  }

  /** What `heddle verify` reads once rows are as the objects want them. */
  async snapshot(): Promise<Snapshot> {
    const { store, client } = this.#zone;
    for (let i = 0; i < 20; i += 1) await new Promise(setImmediate);
    await this.#zone.pass();
    const { tables } = await schemaOf(this.#ovn.northbound);
    const has = (table: string, column?: string): boolean =>
      column === undefined ? tables.has(table) : (tables.get(table)?.columns.has(column) ?? false);
    return {
      node: OWN_NODE,
      settings: { ...BENCH_SETTINGS, routingTables: 10_000 },
      objects: {
        attachmentDefinitions: await store.list(networkAttachmentDefinitions),
        clusterNetworks: [],
        networks: [],
        connects: [],
        namespaces: await store.list(namespaces),
        nodes: await store.list(nodes),
        pods: await store.list(pods),
        services: [],
        slices: [],
        egressIps: [],
      },
      policies: {
        namespaced: [
          ...(await store.list(networkPolicies)),
          ...(await store.list(multiNetworkPolicies)),
        ],
        admins: [
          ...(await store.list(adminNetworkPolicies)),
          ...(await store.list(baselineAdminNetworkPolicies)),
          ...(await store.list(clusterNetworkPolicies)),
        ],
        firewalls: await store.list(egressFirewalls),
      },
      northbound: await readTables('OVN_Northbound', client, has, never),
      host: {},
      unread: [],
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#zone[Symbol.asyncDispose]();
    await this.#ovn[Symbol.asyncDispose]();
  }
}

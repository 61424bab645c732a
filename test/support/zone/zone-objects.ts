/** Objects of a small cluster as the cluster manager leaves them, changed at random: what a node's zone is made from. */
import type { KubeObject } from '../../../src/api/objects.ts';
import { objectKey } from '../../../src/api/objects.ts';
import type {
  EndpointSlice,
  Namespace,
  NetworkAttachmentDefinition,
  Node,
  Pod,
  Service,
} from '../../../src/api/types.ts';
import { objectKindOf } from '../../../src/model/read/object-kinds.ts';
import type { ObjectIntake } from '../../../src/model/zone/intake.ts';
import type { SeededRandom } from '../run/seeded-random.ts';
import { service, slice } from './services.ts';
import {
  randomAdminPolicy,
  randomConnect,
  randomExternalRoute,
  randomLabels,
  randomPolicy,
  randomQos,
  TEAMS,
} from './random-policies.ts';
import { pod as podWith, type PodNetwork } from './pods.ts';
import { config, NETWORKS, OWNER, place, type Asked } from './zone-networks.ts';
import { nodeObject, SUBNETS, type NodeState } from './zone-nodes.ts';

export const SELF = 'w1';
const OTHERS = ['w2', 'w3', 'w4'];
const PODS = ['web', 'db', SELF, 'tstor-w2'];
const NAMESPACES = ['blue', 'red', 'k8s-red', 'wide', 'default'];
const SERVICES = ['default/kubernetes', 'default/web', 'blue/web', 'red/web', 'wide/web'];
/** NADs of secondary networks that ask for a gateway now and then. */
const GATEWAYS = ['blue/a-b', 'blue/quote', 'blue/flat'];
const ACL_LOGGING = ['{"deny":"alert"}', '{"deny":"info","allow":"notice"}', '{}', '{'];

/** Objects by `Kind key`; `seen` is what their watchers get, `effective` what they should go by. */
export class ZoneObjects {
  readonly seen = new Map<string, KubeObject>();
  readonly effective = new Map<string, KubeObject>();
  readonly #random: SeededRandom;
  readonly #nodes = new Map<string, NodeState>();
  readonly #torn = new Set<string>();
  #first: NodeState | undefined;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** Annotations that cannot be read now. */
  get isTorn(): boolean {
    return this.#torn.size > 0;
  }

  /** The objects that every history begins with. */
  begin(): readonly KubeObject[] {
    const self = this.#putNode(SELF);
    const state = this.#nodes.get(SELF) as NodeState;
    this.#first = {
      ...state,
      subnets: new Map(state.subnets),
      hostAddresses: new Set(state.hostAddresses),
    };
    return [
      self,
      ...NAMESPACES.map((name) => this.#putNamespace(name)),
      this.#putNad('blue/blue'),
      ...NETWORKS.flatMap(({ nads }) => nads)
        .filter(() => this.#random.is(0.7))
        .map((nad) => this.#putNad(nad)),
      ...Array.from({ length: 8 }, () => this.#putPod()),
    ];
  }

  /** Changes something. Returns the objects that changed; of those that are gone `isGone` is true. */
  change(): readonly { readonly object: KubeObject; readonly isGone: boolean }[] {
    const random = this.#random;
    const there = (object: KubeObject): { object: KubeObject; isGone: boolean }[] => [
      { object, isGone: false },
    ];
    const kind = random.below(38);
    if (kind < 3) return there(this.#putNad(random.pick(NETWORKS.flatMap(({ nads }) => nads))));
    if (kind < 4) return this.#remove('NetworkAttachmentDefinition');
    if (kind < 9) return there(this.#putPod());
    if (kind < 11) return this.#remove('Pod');
    if (kind < 13) return there(this.#putNode(random.pick([SELF, ...OTHERS])));
    if (kind < 14) return this.#remove('Node');
    if (kind < 16) return there(this.#tear());
    if (kind < 17) return there(this.#putService());
    if (kind < 18) return this.#remove('Service');
    if (kind < 20) return there(this.#putSlice());
    if (kind < 21) return this.#remove('EndpointSlice');
    if (kind < 24)
      return there(
        this.#put(
          randomPolicy(
            random,
            NAMESPACES,
            NETWORKS.flatMap(({ role, nads }) => (role === 'secondary' ? nads : [])),
          ),
        ),
      );
    if (kind < 25) return this.#remove(random.pick(['NetworkPolicy', 'MultiNetworkPolicy']));
    if (kind < 26) return there(this.#put(randomAdminPolicy(random)));
    if (kind < 27)
      return this.#remove(
        random.pick(['AdminNetworkPolicy', 'BaselineAdminNetworkPolicy', 'ClusterNetworkPolicy']),
      );
    if (kind < 29)
      return there(
        this.#put(
          randomConnect(
            random,
            NETWORKS.filter(({ role }) => role === 'primary'),
          ),
        ),
      );
    if (kind < 30) return this.#remove('ClusterNetworkConnect');
    if (kind < 32) return there(this.#put(randomExternalRoute(random)));
    if (kind < 33) return this.#remove('AdminPolicyBasedExternalRoute');
    if (kind < 35) return there(this.#put(randomQos(random, NAMESPACES)));
    if (kind < 36) return this.#remove(random.pick(['EgressQoS', 'NetworkQoS']));
    if (random.is(0.2)) return this.#remove('Namespace');
    return there(this.#putNamespace(random.pick(NAMESPACES)));
  }

  /** Takes everything away but this node, which is again as it was at first. */
  removeAll(): readonly { readonly object: KubeObject; readonly isGone: boolean }[] {
    this.#torn.clear();
    const gone = [...this.seen]
      .filter(([id]) => id !== `Node ${SELF}`)
      .map(([id, object]) => {
        this.seen.delete(id);
        this.effective.delete(id);
        return { object, isGone: true };
      })
      .toSorted(() => this.#random.number() - 0.5);
    this.#nodes.clear();
    this.#nodes.set(SELF, this.#first as NodeState);
    return [...gone, { object: this.#write(SELF), isGone: false }];
  }

  /** Writes every torn annotation anew. */
  mend(): readonly KubeObject[] {
    const names = [...this.#torn];
    this.#torn.clear();
    return names.map((name) => this.#write(name));
  }

  #put(object: KubeObject): KubeObject {
    const id = `${object.kind} ${objectKey(object.metadata)}`;
    this.seen.set(id, object);
    this.effective.set(id, object);
    return object;
  }

  #remove(kind: string): readonly { object: KubeObject; isGone: boolean }[] {
    const ids = [...this.seen.keys()].filter(
      (id) => id.startsWith(`${kind} `) && id !== `Node ${SELF}`,
    );
    if (ids.length === 0) return [];
    const id = this.#random.pick(ids);
    const object = this.seen.get(id);
    this.seen.delete(id);
    this.effective.delete(id);
    if (kind === 'Node') {
      this.#nodes.delete(id.slice('Node '.length));
      this.#torn.delete(id.slice('Node '.length));
    }
    return object === undefined ? [] : [{ object, isGone: true }];
  }

  #putNamespace(name: string): Namespace {
    // The label of a namespace can't come or go; of one that nothing is expected of it may.
    const isLabelled = name !== 'default' || this.#random.is(0.7);
    return this.#put({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name,
        labels: {
          ...(isLabelled ? { 'k8s.ovn.org/primary-user-defined-network': '' } : {}),
          ...(this.#random.is(0.5) ? {} : { team: this.#random.pick(TEAMS) }),
        },
        annotations: {
          ...(this.#random.is(0.5)
            ? { 'k8s.ovn.org/multicast-enabled': this.#random.pick(['true', 'false', 'yes']) }
            : {}),
          ...(this.#random.is(0.3)
            ? { 'k8s.ovn.org/acl-logging': this.#random.pick(ACL_LOGGING) }
            : {}),
        },
      },
    }) as Namespace;
  }

  #putNad(key: string): NetworkAttachmentDefinition {
    const asked = NETWORKS.find(({ nads }) => nads.includes(key)) as Asked;
    const hasId = this.#random.is(0.9);
    return this.#put({
      apiVersion: 'k8s.cni.cncf.io/v1',
      kind: 'NetworkAttachmentDefinition',
      metadata: {
        ...place(key),
        uid: `uid-of-${key}`,
        creationTimestamp: '2026-01-01T00:00:00Z',
        ...(asked.name.startsWith('cluster_udn_') ? { ownerReferences: [OWNER] } : {}),
        labels: this.#random.is(0.5) ? {} : { team: this.#random.pick(TEAMS) },
        annotations: {
          ...(hasId
            ? { 'k8s.ovn.org/network-id': String(asked.id), ...this.#tunnelKeys(asked) }
            : {}),
          ...(GATEWAYS.includes(key) && this.#random.is(0.7)
            ? { 'k8s.ovn.org/secondary-gateway': this.#random.pick(['{}', '{}', 'x']) }
            : {}),
        },
      },
      spec: { config: config(asked, key, this.#random) },
    }) as NetworkAttachmentDefinition;
  }

  /**
   * Those of primary Layer2 networks; now and then there are none, or others. No two networks have the same ones: who had them first
   * keeps them, which a new daemon can't know.
   */
  #tunnelKeys({ id, role, topology }: Asked): Readonly<Record<string, string>> {
    if (role !== 'primary' || topology !== 'layer2' || this.#random.is(0.1)) return {};
    const router = 16_715_779 + (this.#random.is(0.8) ? id : 1000 + id);
    return { 'k8s.ovn.org/tunnel-keys': `[${16_711_683 + id},${router}]` };
  }

  /** Pods of a namespace ask for its primary network and for a secondary one, wherever those are. */
  #putPod(): Pod {
    const random = this.#random;
    const namespace = random.pick(NAMESPACES);
    const name = random.pick(PODS);
    const number = 10 * NAMESPACES.indexOf(namespace) + PODS.indexOf(name) + 3;
    const primary = NETWORKS.flatMap(({ role, id, nads }) =>
      role === 'primary' ? nads.map((nad) => ({ nad, id })) : [],
    ).find(({ nad }) => nad.startsWith(`${namespace}/`));
    const networks: PodNetwork[] = [];
    const tunnelId = random.is(0.9) ? { tunnelId: number } : {};
    if (random.is(0.9))
      networks.push({
        nadKey: 'default',
        address: `10.244.1.${number}/24`,
        role: primary === undefined ? 'primary' : 'infrastructure-locked',
      });
    if (primary !== undefined && random.is(0.9))
      networks.push({
        nadKey: primary.nad,
        address: `10.${primary.id}.1.${number}/24`,
        role: 'primary',
        ...tunnelId,
      });
    const reachable = NETWORKS.filter(
      ({ role, nads }) =>
        role === 'secondary' && nads.some((nad) => place(nad).namespace === namespace),
    );
    const other = random.pick(reachable.length > 0 && random.is(0.7) ? reachable : NETWORKS);
    if (other.role === 'secondary' && random.is(0.5))
      networks.push({
        nadKey: other.nads[0] ?? '',
        address: `10.${other.id}.1.${number}/24`,
        role: 'secondary',
        ...tunnelId,
      });
    const node = random.is(0.8) ? SELF : 'w2';
    const bare = podWith(`${namespace}/${name}`, node, networks, `uid-${random.below(2)}`) as Pod;
    const selection =
      other.role === 'secondary' ? { 'k8s.v1.cni.cncf.io/networks': other.nads[0] ?? '' } : {};
    const isMachine = random.is(0.2);
    const made: Pod = {
      ...bare,
      metadata: {
        ...bare.metadata,
        labels: {
          ...randomLabels(random),
          ...(isMachine ? { 'kubevirt.io': 'virt-launcher' } : {}),
        },
        annotations: {
          ...bare.metadata.annotations,
          ...selection,
          ...(isMachine ? { 'kubevirt.io/domain': 'machine' } : {}),
          ...(random.is(0.3)
            ? { 'kubevirt.io/migration-target-ready-timestamp': '2026-01-01T00:00:00Z' }
            : {}),
        },
      },
      spec: {
        ...bare.spec,
        ...(random.is(0.05) ? { hostNetwork: true } : {}),
        containers: [
          { ports: random.is(0.5) ? [] : [{ name: 'http', containerPort: 8080, protocol: 'TCP' }] },
        ],
      },
    };
    if (random.is(0.05)) return this.#put({ ...made, status: { phase: 'Succeeded' } }) as Pod;
    if (!random.is(0.3)) return this.#put(made) as Pod;
    const openPorts = '- protocol: tcp\n  port: 80\n';
    const annotations = {
      ...made.metadata.annotations,
      'k8s.ovn.org/open-default-ports': openPorts,
    };
    return this.#put({ ...made, metadata: { ...made.metadata, annotations } }) as Pod;
  }

  /** Some are in the way of others: two want one node port. Not one external address: who has that depends on who had it. */
  #putService(): Service {
    const random = this.#random;
    const type = random.pick(['ClusterIP', 'ClusterIP', 'NodePort', 'LoadBalancer']);
    const key = random.pick(SERVICES);
    const outside = `172.19.${SERVICES.indexOf(key)}`;
    const hasNodePorts = type !== 'ClusterIP' && random.is(0.9);
    const isAffine = random.is(0.3);
    const ports = [
      { name: 'http', port: 80, ...(hasNodePorts ? { nodePort: 30080 } : {}) },
      {
        name: 'dns',
        port: 53,
        protocol: random.pick(['UDP', 'SCTP', 'TCP']),
        ...(hasNodePorts ? { nodePort: 30053 } : {}),
      },
    ];
    const namespace = key.slice(0, key.indexOf('/'));
    const nads = NETWORKS.flatMap((network) => network.nads).filter((nad) =>
      nad.startsWith(`${namespace}/`),
    );
    const made = service(
      key,
      {
        type,
        clusterIPs: random.pick([['10.96.0.1'], ['10.96.0.7'], []]),
        ports: random.is(0.5) ? ports.slice(0, 1) : ports,
        externalTrafficPolicy: random.pick(['Cluster', 'Local']),
        internalTrafficPolicy: random.pick(['Cluster', 'Cluster', 'Local']),
        sessionAffinity: isAffine ? 'ClientIP' : 'None',
        ...(isAffine && random.is(0.7)
          ? { sessionAffinityConfig: { clientIP: { timeoutSeconds: random.pick([5, 86_400]) } } }
          : {}),
        ...(random.is(0.3)
          ? { externalIPs: random.pick([[`${outside}.7`], [`${outside}.8`]]) }
          : {}),
        publishNotReadyAddresses: random.is(0.3),
        allocateLoadBalancerNodePorts: hasNodePorts,
      },
      random.is(0.5) ? {} : { loadBalancer: { ingress: [{ ip: `${outside}.9` }] } },
    );
    const annotations = { 'k8s.v1.cni.cncf.io/service-network': random.pick([...nads, 'gone']) };
    return this.#put(
      random.is(0.6) ? made : { ...made, metadata: { ...made.metadata, annotations } },
    ) as Service;
  }

  #putSlice(): EndpointSlice {
    const random = this.#random;
    const key = random.pick(SERVICES);
    const network = random.pick([
      '',
      'blue_blue',
      'red_red',
      'cluster_udn_c',
      'wide',
      'a-b',
      'red',
    ]);
    const octet = NETWORKS.find(({ name }) => name === network)?.id ?? 244;
    const endpoints = [3, 5, 7]
      .filter(() => random.is(0.6))
      .map((host) => {
        const isFar = host > 5;
        if (random.is(0.7)) return `10.${octet}.${isFar ? 2 : 1}.${host} on ${isFar ? 'w2' : SELF}`;
        return {
          addresses: [`10.${octet}.${isFar ? 2 : 1}.${host}`],
          nodeName: isFar ? 'w2' : SELF,
          conditions: {
            ready: random.is(0.3),
            serving: random.is(0.5),
            terminating: random.is(0.5),
          },
        };
      });
    return this.#put(
      slice(key, random.is(0.2) ? [...endpoints, `172.18.0.1 on ${SELF}`] : endpoints, {
        name: network === '' ? 'own' : network.replaceAll('_', '-'),
        ports: [
          { name: 'http', port: random.pick([8080, 9090]) },
          { name: 'dns', port: 5353, protocol: random.pick(['UDP', 'SCTP', 'TCP']) },
        ],
        ...(network === '' ? {} : { network }),
      }),
    ) as EndpointSlice;
  }

  #putNode(name: string): Node {
    const random = this.#random;
    const number = [SELF, ...OTHERS].indexOf(name) + 1;
    let state = this.#nodes.get(name);
    if (state === undefined) {
      state = {
        id: number + 1,
        chassis: `chassis-${name}`,
        address: `172.18.0.${number}`,
        hasGateway: true,
        isLocalMode: false,
        hasNodePorts: true,
        vlan: 0,
        hasMtuSupport: true,
        hostAddresses: new Set(),
        subnets: new Map([['default', `10.244.${number}.0/24`]]),
      };
      this.#nodes.set(name, state);
      for (const { name: network, id } of NETWORKS)
        if (random.is(0.8)) state.subnets.set(network, `10.${id}.${number}.0/24`);
    } else {
      const kind = random.below(10);
      const network = random.pick(NETWORKS);
      if (kind === 0) state.subnets.set(network.name, `10.${network.id}.${number}.0/24`);
      if (kind === 1) state.subnets.set(network.name, `10.${network.id}.${number + 100}.0/24`);
      if (kind === 2) state.subnets.delete(network.name);
      if (kind === 3) state.address = `172.18.0.${number + 10 * random.below(3)}`;
      if (kind === 4 && name === SELF) state.hasGateway = !state.hasGateway;
      if (kind === 5) state.isLocalMode = !state.isLocalMode;
      if (kind === 6) state.hasNodePorts = !state.hasNodePorts;
      if (kind === 7) state.vlan = random.pick([0, 7]);
      if (kind === 8) state.hasMtuSupport = !state.hasMtuSupport;
      if (kind === 9 && !state.hostAddresses.delete('172.30.0.9/24'))
        state.hostAddresses.add('172.30.0.9/24');
      if (kind === 4 && name !== SELF) state.chassis = `chassis-${name}-${random.below(3)}`;
    }
    this.#torn.delete(name);
    return this.#write(name);
  }

  #write(name: string): Node {
    return this.#put(nodeObject(name, this.#nodes.get(name) as NodeState)) as Node;
  }

  /** One annotation of a node that cannot be read: what it said last stays in force. */
  #tear(): Node {
    const random = this.#random;
    const name = random.pick([...this.#nodes.keys()]);
    const id = `Node ${name}`;
    const whole = this.effective.get(id) as Node;
    const key = random.pick([
      SUBNETS,
      SUBNETS,
      'k8s.ovn.org/node-encap-ips',
      'k8s.ovn.org/node-id',
      'k8s.ovn.org/host-cidrs',
    ]);
    const before = whole.metadata.annotations?.[key] ?? '';
    const text = random.pick([
      '{"default":["10.2',
      '[1,2]',
      before.replace(/\["10\.[^"]*"\]/, '[7]'),
    ]);
    const annotations = { ...whole.metadata.annotations, [key]: text === before ? '}' : text };
    const torn = { ...whole, metadata: { ...whole.metadata, annotations } };
    this.seen.set(id, torn);
    this.#torn.add(name);
    return torn;
  }
}

/** Gives an object, or that it is gone, to what reads objects of its kind, if anything does. */
export function feed(intake: ObjectIntake, object: KubeObject, isGone = false): void {
  if (objectKindOf(object.kind) === undefined) return;
  intake.take(object.kind, {
    key: objectKey(object.metadata),
    after: isGone ? undefined : object,
  });
}

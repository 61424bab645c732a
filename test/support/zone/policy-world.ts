/** Random namespaces, pods and policies of a small cluster, and who may reach whom by the words of the Kubernetes documentation. */
import { contains } from '../../../src/allocators/addresses.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import type {
  LabelSelector,
  NetworkPolicyPeer,
  NetworkPolicyPort,
  NetworkPolicySpec,
} from '../../../src/api/types.ts';
import { adminPolicy, namespace, networkPolicy, ownNetwork, policedPod } from './policed-zone.ts';
import type { SeededRandom } from '../run/seeded-random.ts';

type Labels = Readonly<Record<string, string>>;

export interface WorldPod {
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly labels: Labels;
  readonly address: string;
  readonly ports: readonly { name: string; containerPort: number; protocol: string }[];
}

interface WorldPolicy {
  readonly namespace: string;
  readonly name: string;
  readonly spec: NetworkPolicySpec;
}

/** Namespace blue has a network of its own; the others share the default one. */
const NAMESPACES = ['blue', 'red', 'green'];
const OWN = 'blue';
const NAMES = ['a', 'b', 'c', 'd'];
const NODES = ['ovn-worker', 'ovn-worker', 'ovn-worker2'];
export const PORTS = [80, 81, 85, 443, 8080];
export const PROTOCOLS = ['TCP', 'UDP', 'SCTP'] as const;
/** Ends of connections that are no pods. */
export const OUTSIDE = ['192.0.2.7', '10.244.0.200'];

export const onSameNetwork = (a: { namespace: string }, b: { namespace: string }): boolean =>
  (a.namespace === OWN) === (b.namespace === OWN);

export class PolicyWorld {
  readonly namespaces = new Map<string, Labels>();
  readonly pods = new Map<string, WorldPod>();
  readonly policies = new Map<string, WorldPolicy>();
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    this.#random = random;
    for (const name of NAMESPACES) this.#putNamespace(name);
    for (let i = 0; i < 8; i += 1) this.#putPod();
    for (let i = 0; i < 4; i += 1) this.#putPolicy();
  }

  /** Everything as objects. */
  objects(): KubeObject[] {
    return [
      ...[...this.namespaces.keys()].map((name) => this.#namespaceObject(name)),
      ...[...this.pods.values()].map(podObject),
      ...[...this.policies.values()].map(policyObject),
    ];
  }

  /** Changes something: the object as it is now, or as it was before it went. */
  change(): { readonly object: KubeObject; readonly isGone: boolean } {
    const random = this.#random;
    const there = (object: KubeObject) => ({ object, isGone: false });
    const drop = <T>(from: Map<string, T>, objectOf: (value: T) => KubeObject) => {
      const key = random.pick([...from.keys()]);
      const value = from.get(key) as T;
      from.delete(key);
      return { object: objectOf(value), isGone: true };
    };
    const kind = random.below(10);
    if (kind < 4) return there(podObject(this.#putPod()));
    if (kind === 4 && this.pods.size > 1) return drop(this.pods, podObject);
    if (kind === 5 && this.policies.size > 1) return drop(this.policies, policyObject);
    if (kind === 6) {
      const name = random.pick(NAMESPACES);
      this.#putNamespace(name);
      return there(this.#namespaceObject(name));
    }
    return there(policyObject(this.#putPolicy()));
  }

  #labels(): Labels {
    const random = this.#random;
    return {
      ...(random.is(0.6) ? { app: random.pick(['web', 'db']) } : {}),
      ...(random.is(0.4) ? { tier: random.pick(['x', 'y']) } : {}),
    };
  }

  #putNamespace(name: string): void {
    this.namespaces.set(name, { ...this.#labels(), 'kubernetes.io/metadata.name': name });
  }

  #namespaceObject(name: string): KubeObject {
    return namespace(name, { ...this.namespaces.get(name), ...(name === OWN ? ownNetwork : {}) });
  }

  #putPod(): WorldPod {
    const random = this.#random;
    const space = random.pick(NAMESPACES);
    const name = random.pick(NAMES);
    const number = 10 + 10 * NAMESPACES.indexOf(space) + NAMES.indexOf(name);
    const node = random.pick(NODES);
    const subnet = `${space === OWN ? '103.103' : '10.244'}.${node === 'ovn-worker2' ? 1 : 0}`;
    const pod: WorldPod = {
      namespace: space,
      name,
      node,
      labels: this.#labels(),
      address: `${subnet}.${number}`,
      ports: random.list(2, () => ({
        name: random.pick(['http', 'other']),
        containerPort: random.pick(PORTS),
        protocol: random.pick(PROTOCOLS),
      })),
    };
    this.pods.set(`${space}/${name}`, pod);
    return pod;
  }

  #selector(): LabelSelector {
    const random = this.#random;
    const [key, values] = random.pick([
      ['app', ['web', 'db']],
      ['tier', ['x', 'y']],
    ] as const);
    const operator = random.pick(['In', 'NotIn', 'Exists', 'DoesNotExist']);
    const takesValues = operator === 'In' || operator === 'NotIn';
    return {
      ...(random.is(0.4) ? { matchLabels: { [key]: random.pick(values) } } : {}),
      ...(random.is(0.3)
        ? {
            matchExpressions: [
              { key, operator, ...(takesValues ? { values: [random.pick(values)] } : {}) },
            ],
          }
        : {}),
    };
  }

  #peer(): NetworkPolicyPeer {
    const random = this.#random;
    if (random.is(0.25))
      return {
        ipBlock: random.pick([
          { cidr: '0.0.0.0/0', except: ['10.244.0.16/28', '192.0.2.0/24'] },
          { cidr: '10.244.0.0/16' },
          { cidr: '192.0.2.0/24', except: ['192.0.2.8/29'] },
          { cidr: '103.103.0.12/32' },
        ]),
      };
    const kind = random.below(3);
    return {
      ...(kind !== 0 ? { podSelector: this.#selector() } : {}),
      ...(kind !== 1 ? { namespaceSelector: this.#selector() } : {}),
    };
  }

  /** A policy of administrators: of these there are two. */
  adminPolicy(): KubeObject {
    const random = this.#random;
    const peer = () =>
      random.is(0.5)
        ? { namespaces: this.#selector() }
        : { pods: { namespaceSelector: this.#selector(), podSelector: this.#selector() } };
    const rules = (field: string) =>
      random.list(2, () => ({
        action: random.pick(['Allow', 'Deny', 'Pass']),
        [field]: [peer(), ...random.list(1, peer)],
        ports: random.list(2, () =>
          random.pick([
            { namedPort: 'http' },
            { portNumber: { protocol: random.pick(PROTOCOLS), port: random.pick(PORTS) } },
          ]),
        ),
      }));
    return adminPolicy(random.pick(['guard', 'other']), {
      priority: random.below(3),
      subject: peer(),
      ingress: rules('from'),
      egress: rules('to'),
    });
  }

  #port(): NetworkPolicyPort {
    const random = this.#random;
    const port = random.pick([undefined, 'http', 'other', 80, 81, 443]);
    return {
      ...(random.is(0.7) ? { protocol: random.pick(PROTOCOLS) } : {}),
      ...(port === undefined ? {} : { port }),
      ...(typeof port === 'number' && random.is(0.3) ? { endPort: port + random.below(9) } : {}),
    };
  }

  #putPolicy(): WorldPolicy {
    const random = this.#random;
    const space = random.pick(NAMESPACES);
    const name = random.pick(['p', 'q']);
    const rules = () =>
      random.list(2, () => ({
        peers: random.list(2, () => this.#peer()),
        ports: random.list(2, () => this.#port()),
      }));
    const spec: NetworkPolicySpec = {
      ...(random.is(0.8) ? { podSelector: this.#selector() } : {}),
      ...(random.is(0.6)
        ? { policyTypes: random.pick([['Ingress'], ['Egress'], ['Ingress', 'Egress'], []]) }
        : {}),
      ...(random.is(0.8)
        ? { ingress: rules().map(({ peers, ports }) => ({ from: peers, ports })) }
        : {}),
      ...(random.is(0.6)
        ? { egress: rules().map(({ peers, ports }) => ({ to: peers, ports })) }
        : {}),
    };
    const policy = { namespace: space, name, spec };
    this.policies.set(`${space}/${name}`, policy);
    return policy;
  }

  podAt(address: string): WorldPod | undefined {
    return [...this.pods.values()].find((pod) => pod.address === address);
  }

  /** Whether a connection is allowed; only ends on `node` are asked, as only there are their ports. */
  isAllowed(
    source: string,
    destination: string,
    protocol: string,
    port: number,
    node: string,
  ): boolean {
    const [from, to] = [this.podAt(source), this.podAt(destination)];
    const sides = [
      { direction: 'Egress', pod: from, peer: to, peerAddress: destination },
      { direction: 'Ingress', pod: to, peer: from, peerAddress: source },
    ];
    return sides.every(({ direction, pod, peer, peerAddress }) => {
      if (pod?.node !== node) return true;
      const policies = [...this.policies.values()].filter(
        ({ namespace: space, spec }) =>
          space === pod.namespace &&
          matches(spec.podSelector ?? {}, pod.labels) &&
          typesOf(spec).includes(direction),
      );
      if (policies.length === 0) return true;
      return policies.some(({ namespace: space, spec }) => {
        const rules =
          direction === 'Ingress'
            ? (spec.ingress ?? []).map(({ from: peers, ports }) => ({ peers, ports }))
            : (spec.egress ?? []).map(({ to: peers, ports }) => ({ peers, ports }));
        return rules.some(
          ({ peers = [], ports = [] }) =>
            (peers.length === 0 ||
              peers.some((one) => this.#isPeer(one, space, pod, peer, peerAddress))) &&
            (ports.length === 0 || ports.some((one) => isPort(one, to, protocol, port))),
        );
      });
    });
  }

  #isPeer(
    { ipBlock, podSelector, namespaceSelector }: NetworkPolicyPeer,
    policyNamespace: string,
    pod: WorldPod,
    peer: WorldPod | undefined,
    address: string,
  ): boolean {
    if (ipBlock !== undefined)
      return (
        contains(ipBlock.cidr, address) &&
        !(ipBlock.except ?? []).some((except) => contains(except, address))
      );
    if (peer === undefined || !onSameNetwork(peer, pod)) return false;
    const isOfNamespace =
      namespaceSelector === undefined
        ? peer.namespace === policyNamespace
        : matches(namespaceSelector, {
            ...this.namespaces.get(peer.namespace),
            ...(peer.namespace === OWN ? ownNetwork : {}),
          });
    return isOfNamespace && (podSelector === undefined || matches(podSelector, peer.labels));
  }
}

const podObject = ({ namespace: space, name, address, ...rest }: WorldPod): KubeObject =>
  policedPod(`${space}/${name}`, {
    ...rest,
    ...(space === OWN ? { on: 'blue/blue' } : {}),
    address: `${address}/16`,
  });

const policyObject = ({ namespace: space, name, spec }: WorldPolicy): KubeObject =>
  networkPolicy(`${space}/${name}`, spec);

function matches(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Labels,
): boolean {
  const has = (key: string): boolean => labels[key] !== undefined;
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const isAmong = has(key) && values.includes(labels[key] ?? '');
      if (operator === 'In') return isAmong;
      if (operator === 'NotIn') return !isAmong;
      return operator === 'Exists' ? has(key) : !has(key);
    })
  );
}

const typesOf = ({ policyTypes = [], egress = [] }: NetworkPolicySpec): readonly string[] =>
  policyTypes.length > 0 ? policyTypes : ['Ingress', ...(egress.length > 0 ? ['Egress'] : [])];

function isPort(
  { protocol = 'TCP', port, endPort }: NetworkPolicyPort,
  destination: WorldPod | undefined,
  wantedProtocol: string,
  wanted: number,
): boolean {
  if (protocol !== wantedProtocol) return false;
  if (port === undefined) return true;
  if (typeof port === 'number') return port <= wanted && wanted <= (endPort ?? port);
  return (destination?.ports ?? []).some(
    (one) => one.name === port && one.protocol === protocol && one.containerPort === wanted,
  );
}

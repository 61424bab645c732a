/** Networks that have rows here: those that may be, and that something on this node uses. */
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { FactTable } from '../../facts/fact-table.ts';
import type { KeySource } from '../../facts/keys.ts';
import type { Network, Topology } from '../model.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';
import { valueOf } from '../read/reading.ts';
import { hasGateway, isNumberMissing } from '../rules/network-addresses.ts';
import type { AttachmentTables } from './attachments.ts';
import type { ConnectTables } from './connects.ts';
import type { DefaultAccessTables } from './default-access.ts';
import type { EgressIpTables } from './egress-ips.ts';
import type { EgressServiceTables } from './egress-services.ts';
import type { NetworkTables } from './networks.ts';
import type { NodeTables } from './nodes.ts';
import type { PodKey, PodTables } from './pods.ts';
import type { ReachTables } from './reach.ts';
import type { ServiceTables } from './services.ts';
import { NetworkUsage } from './usage.ts';
import type { ZoneBasis } from './zone-basis.ts';

export interface RenderingOptions {
  /** Render every network, whether something uses it or not. */
  readonly renderEverywhere?: boolean;
  /** Milliseconds for which a network stays rendered after its last use; default 60,000. */
  readonly gracePeriod?: number;
}

const DEFAULT_GRACE_PERIOD = 60_000;

/** User of a network that is always in use. */
const ALWAYS = 'always';
const PODS = 'pods';
const CONNECTS = 'connects';
const SIBLINGS = 'primary networks of the same namespace';
const SERVICES = 'services';
const DEFAULT_ACCESS = 'access from the default network';
const EGRESS_IPS = 'EgressIPs';
const EGRESS_SERVICES = 'EgressServices';
const HOST_PODS = "pods on the host's network";

/** A network with a gateway has addresses of its own on the node, or it has to be given some first. */
const withNumber = (network: Network | undefined): Network | undefined =>
  network === undefined || isNumberMissing(network) ? undefined : network;

/** Buckets of a network: its topology, and, with a gateway, `<topology> with gateway`. */
const topologiesOf = (network: Network): readonly string[] =>
  hasGateway(network) ? [network.topology, withGateway(network.topology)] : [network.topology];
const withGateway = (topology: Topology): string => `${topology} with gateway`;

export type RenderedTables = ReturnType<typeof renderedTables>;

export function renderedTables(
  known: ZoneBasis &
    NodeTables &
    NetworkTables &
    ConnectTables &
    ReachTables &
    PodTables &
    AttachmentTables &
    EgressIpTables &
    EgressServiceTables &
    DefaultAccessTables &
    ServiceTables,
  { renderEverywhere, gracePeriod = DEFAULT_GRACE_PERIOD }: RenderingOptions,
) {
  const { graph, networks, admissions, connects, membersOf } = known;
  const usage = new NetworkUsage(graph, gracePeriod);
  /** Networks that are used here for themselves, and by whom. */
  const directUseStep = graph.add('directUse');
  const directUse = new FactTable<[network: string], { readonly users: readonly string[] }>(
    'directUse',
    known.recorder,
    {},
    directUseStep,
  );
  const rendered = new DerivedFacts<
    [network: string],
    Network,
    { topology: [string]; role: [string] }
  >('rendered', graph, usage.table, (name) => withNumber(valueOf(admissions.get(name))), {
    object: (network) => `network ${network}`,
    indexes: { topology: topologiesOf, role: ({ role }) => [role] },
  });
  const isRendered = (network: string): boolean => rendered.part(network, 'name') !== undefined;
  const isUsed = (network: string): boolean => directUse.get(network) !== undefined;

  /** Connections that have rows here: of what asks, a network that joins concerns none. */
  const renderedConnects = new DerivedFacts(
    'renderedConnects',
    graph,
    connects,
    (name) => (known.idsOf(name).some(isRendered) ? { name } : undefined),
    { object: (connect) => `ClusterNetworkConnect ${connect}` },
  );
  /** A network in use brings those that it is connected with: their services and routers have to be here. */
  const connectUses = new DerivedFacts<
    [connect: string],
    { readonly networks: readonly string[] },
    { network: [network: string] }
  >(
    'connectUses',
    graph,
    connects,
    (connect) => {
      const members = known.idsOf(connect);
      return members.some(isUsed) ? { networks: members } : undefined;
    },
    {
      object: (connect) => `ClusterNetworkConnect ${connect}`,
      indexes: { network: (use) => use.networks },
    },
  );
  /** So it does with the other primary networks of its namespaces: pods here reach them through this node alone. */
  const siblingUses = new DerivedFacts(
    'siblingUses',
    graph,
    known.neighbours,
    (network) => (known.siblingsOf(network).some(isUsed) ? { network } : undefined),
    { object: (network) => `network ${network}` },
  );
  /** Networks whose services pods on the host's network reach. */
  const hostPodNetworks = new DerivedFacts<
    PodKey,
    { readonly networks: readonly string[] },
    { network: [network: string] }
  >(
    'hostPodNetworks',
    graph,
    known.hostNetworkPods,
    (namespace) => ({ networks: known.primariesOf(namespace) }),
    {
      object: (namespace, pod) => `Pod ${namespace}/${pod}`,
      indexes: { network: (use) => use.networks },
    },
  );

  usage.use(DEFAULT_NETWORK, ALWAYS);
  const follow = (source: KeySource<[network: string]>, user: string): void => {
    usage.comesBehind(source);
    source.onKeys(([network], isPresent) => {
      if (isPresent) usage.use(network, user);
      else usage.release(network, user);
    });
  };
  /** Of uses that reach as far as networks are connected: not those that come from connections. */
  const followDirect = (source: KeySource<[network: string]>, user: string): void => {
    follow(source, user);
    for (const step of source.steps) directUseStep.comesBehind(step);
    source.onKeys(([network], isPresent) => {
      const users = new Set(directUse.peek(network)?.users);
      if (isPresent) users.add(user);
      else users.delete(user);
      directUse.put(network, users.size === 0 ? undefined : { users: [...users] });
    });
  };
  followDirect(known.attachments.distinct('network'), PODS);
  followDirect(known.serviceNetworks.distinct('exposed'), SERVICES);
  followDirect(known.accessUses, DEFAULT_ACCESS);
  follow(known.egressUses.distinct('network'), EGRESS_IPS);
  follow(known.egressServiceUses.distinct('network'), EGRESS_SERVICES);
  followDirect(hostPodNetworks.distinct('network'), HOST_PODS);
  follow(connectUses.distinct('network'), CONNECTS);
  follow(siblingUses, SIBLINGS);
  if (renderEverywhere === true) follow(networks, ALWAYS);

  return {
    usage,
    rendered,

    /** True for a network that is in use, and that only a masquerade number keeps from being rendered. */
    isAwaitingNumber: (name: string): boolean => {
      const network = valueOf(admissions.peek(name));
      return (
        usage.table.peek(name) !== undefined && network !== undefined && isNumberMissing(network)
      );
    },

    /** Rendered networks of a topology. */
    renderedOf: (topology: Topology) => rendered.bucket('topology', topology),

    /** Those of them that have a gateway. */
    renderedWithGateway: (topology: Topology) => rendered.bucket('topology', withGateway(topology)),

    /** True if a network of the connection has rows here: the others have no use of it. */
    isConnectRendered: (connect: string): boolean => renderedConnects.get(connect) !== undefined,

    /** Networks of a connection that have a switch on this node: a Layer3 network without a subnet here has none. */
    membersHere: (connect: string): readonly Network[] =>
      membersOf(connect).filter(
        ({ name, topology }) =>
          isRendered(name) &&
          (topology !== 'layer3' || known.subnetsOn(name, known.nodeName).length > 0),
      ),

    /** Networks in use that settings have no room for: they may have been written with other settings, and what there is of them stays. */
    keptNetworks: (): readonly string[] =>
      admissions.keysBy('keepsRows').filter((network) => usage.table.peek(network) !== undefined),
  };
}

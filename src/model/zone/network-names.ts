/** Which primary networks have their names answered by nodes, and what is known of the cluster from them. */
import { contains, withinAny } from '../../allocators/addresses.ts';
import {
  asksForNames,
  namesLabelProblem,
  NETWORK_NAMES_LABEL,
} from '../../api/annotations/network-annotations.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { ONE } from '../../facts/keys.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';
import { reachesDnsByHost } from '../rules/dns-forwarding.ts';
import type { NameView } from '../rules/network-names.ts';
import type { ConnectTables } from './connects.ts';
import type { NetworkTables } from './networks.ts';
import type { NodeTables } from './nodes.ts';
import type { ModelProblem } from './problems.ts';
import type { ReachTables } from './reach.ts';
import type { RenderedTables } from './rendered-networks.ts';
import type { ServiceTables } from './services.ts';
import type { ZoneBasis } from './zone-basis.ts';

/** Networks of which all NADs ask for it, in the order of their names. */
interface NamedNetworks {
  readonly networks: readonly string[];
}

/** Ranges of all primary networks. */
interface PrimaryRanges {
  readonly cidrs: readonly string[];
}

export type NameTables = ReturnType<typeof nameTables>;

export function nameTables(
  known: ZoneBasis &
    NodeTables &
    NetworkTables &
    ConnectTables &
    ReachTables &
    ServiceTables &
    Pick<RenderedTables, 'rendered'>,
) {
  const { settings, graph, definitions, registrations, networks, connects, sliceNames } = known;
  const isOn = settings.networkNames && reachesDnsByHost(settings);

  const namedNetworks = new DerivedFacts<[], NamedNetworks, { here: [] }>(
    'namedNetworks',
    graph,
    ONE,
    () => {
      if (!isOn) return undefined;
      const asking = definitions.by('named').filter(({ labels }) => asksForNames(labels));
      const found = new Set(asking.map(({ network }) => network));
      const asked = [...found].filter(
        (name) =>
          networks.part(name, 'role') === 'primary' &&
          (registrations.part(name, 'nads') ?? []).every((nad) =>
            asksForNames(definitions.part(nad, 'labels')),
          ),
      );
      return { networks: asked.sort() };
    },
    { object: () => 'names of networks', indexes: { here: () => [[]] } },
  );
  /** Empty while no network has its names answered: nobody asks. */
  const primaryRanges = new DerivedFacts<[], PrimaryRanges>(
    'primaryRanges',
    graph,
    ONE,
    () => {
      if ((namedNetworks.by('here')[0]?.networks ?? []).length === 0) return undefined;
      const cidrs = [...networks.keys()].flatMap(([name]) =>
        name !== DEFAULT_NETWORK && networks.part(name, 'role') === 'primary'
          ? (networks.part(name, 'subnets') ?? []).map(({ cidr }) => cidr)
          : [],
      );
      return { cidrs: [...new Set(cidrs)].sort() };
    },
    { object: () => 'names of networks' },
  );

  let within: { readonly ranges: PrimaryRanges; readonly has: (address: string) => boolean };
  /** True for an address that a pod of some primary network may have. */
  function isOfPrimary(address: string): boolean {
    const ranges = primaryRanges.peek() ?? { cidrs: [] };
    if (within?.ranges !== ranges) within = { ranges, has: withinAny(ranges.cidrs) };
    return within.has(address);
  }

  const hasAddress = (network: string, address: string): boolean =>
    (networks.peek(network)?.subnets ?? []).some(({ cidr }) => contains(cidr, address));

  /** Networks whose services are reached from that one's pods. */
  function sharingServices(network: string, id: number): ReadonlySet<string> {
    const shared = connects.by('network', String(id)).filter(({ hasServices }) => hasServices);
    const members = shared.flatMap(({ members: all }) => all);
    return new Set([
      network,
      ...known.siblingsOf(network),
      ...members.flatMap(({ networkId }) => known.networksOfId(networkId)),
      // Who reaches whom over the external bridge is so in both directions.
      ...connects.by('bridgedTo', String(id)).flatMap(({ name }) => known.bridgedClients(name, id)),
    ]);
  }

  /** What is wrong with how a NAD asks for it. */
  function problemOf(
    labels: Readonly<Record<string, string>>,
    network: string,
  ): string | undefined {
    const wrong = namesLabelProblem(labels, networks.peek(network)?.role ?? 'primary');
    if (wrong !== undefined || !asksForNames(labels)) return wrong;
    const label = `label ${NETWORK_NAMES_LABEL}`;
    if (!isOn)
      return `${label}: nodes answer no names of networks (--network-names false): they are what the cluster's DNS says; an administrator sets it, or remove the label`;
    const other = (registrations.peek(network)?.nads ?? []).find(
      (nad) => !asksForNames(definitions.peek(nad)?.labels),
    );
    return other === undefined
      ? undefined
      : `${label}: NetworkAttachmentDefinition ${other} of the same network does not have it: names are what the cluster's DNS says until all of them have`;
  }

  return {
    namedNetworks,

    *nameProblems(): Iterable<ModelProblem> {
      for (const nad of definitions.keysBy('named')) {
        const { labels = {}, network = '' } = definitions.peek(nad) ?? {};
        const message = problemOf(labels, network);
        if (message !== undefined) yield { object: `NetworkAttachmentDefinition ${nad}`, message };
      }
    },

    /** Networks whose names nodes answer, as they are or were last. */
    namesOf: (): readonly string[] => namedNetworks.by('here')[0]?.networks ?? [],

    /** What is known from the network of an id, now: not for who is building. */
    namesFrom(id: number): NameView | undefined {
      const network = known.networksOfId(id).find((name) => known.rendered.peek(name)?.id === id);
      if (network === undefined) return undefined;
      const reached = [network, ...known.reachedFrom(network)];
      const sharing = sharingServices(network, id);
      return {
        domain: settings.clusterDomain,
        networksOf(namespace) {
          const primaries = known.primariesOf(namespace);
          const found = primaries.filter((name) => reached.includes(name));
          return found.length > 0 || primaries.some((name) => sharing.has(name))
            ? found
            : undefined;
        },
        isOpen: (service) => known.enabledServices.peek(service) !== undefined,
        hasOpen: (namespace) =>
          settings.allowedDefaultServices.some((service) => service.startsWith(`${namespace}/`)),
        clusterService(service) {
          const facts = known.declaredServices.peek(service)?.facts;
          if (facts === undefined) return undefined;
          const { networks: places = [], isSecondary } = known.serviceNetworks.peek(service) ?? {};
          // Pods reach one of a secondary network by their address there, and know it by the name all the same.
          const named = isSecondary === true ? known.primariesOf(facts.namespace) : places;
          const isReached = named.some((name) => sharing.has(name));
          return { clusterIps: isReached ? facts.clusterIps : [], ports: facts.ports };
        },
        slicesOf: (name, service) => sliceNames.by('service', name, service),
        isOfPods: (service) =>
          sliceNames.by('service', DEFAULT_NETWORK, service).some(({ isOfPods }) => isOfPods),
        mayHave(namespace, address) {
          const own = known.primariesOf(namespace).filter((name) => reached.includes(name));
          return (
            own.some((name) => hasAddress(name, address)) || known.nodeAt(address) !== undefined
          );
        },
        servicesAt: (address) => known.declaredServices.keysBy('address', address),
        networksAt(address) {
          const found = reached.filter((name) => hasAddress(name, address));
          return found.length > 0 || isOfPrimary(address) ? found : undefined;
        },
        // A slice may say that it is of any network: its namespace's count.
        endpointsAt: (name, address) =>
          sliceNames
            .by('address', name, address)
            .filter(({ service }) =>
              known.primariesOf(service.slice(0, service.indexOf('/'))).includes(name),
            ),
      };
    },
  };
}

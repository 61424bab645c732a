/**
 * What pods of this node ask of the cluster's DNS service, and the node forwards: while rules of some EgressFirewall, or of a policy of administrators,
 * have names, and where the node answers names of networks.
 */
import { contains, familyOf, type Family } from '../../allocators/addresses.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { FactTable } from '../../facts/fact-table.ts';
import { ONE } from '../../facts/keys.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';
import type { AddressBlock } from '../read/policies.ts';
import { DNS_PORT, dnsForwarderAddress, forwardsDnsOn } from '../rules/dns-forwarding.ts';
import { endpointsOf, socketAddress, type SocketAddress } from '../rules/backends.ts';
import type { AdminTables } from './admin-policies.ts';
import type { backendTables } from './backends.ts';
import type { FirewallTables } from './egress-firewalls.ts';
import type { NameTables } from './network-names.ts';
import type { NodeTables } from './nodes.ts';
import type { RenderedTables } from './rendered-networks.ts';
import type { ServiceTables } from './services.ts';
import type { ZoneBasis } from './zone-basis.ts';

/** A way in: an address of the service, and where what is asked there is led to instead. */
export interface ForwardedDns {
  readonly family: Family;
  readonly protocol: 'UDP' | 'TCP';
  readonly clusterIp: string;
  /** The cluster IP and port of the service, as OVN writes them. */
  readonly vip: string;
  /** The forwarder's, on the host: of nobody else, so that who may ask DNS may do nothing else there. */
  readonly address: string;
  /** The endpoints' port: policies that let pods to these let them to the forwarder. */
  readonly port: number;
  readonly endpoints: readonly SocketAddress[];
}

export interface DnsForwarding {
  readonly service: string;
  /** Of pods of the default network; none while no rule has names. */
  readonly ways: readonly ForwardedDns[];
  /** Of pods of primary networks, which ask the service itself. */
  readonly serviceWays: readonly ForwardedDns[];
  /** Ids of primary networks on which rules have names, or whose own names nodes answer: their pods ask by the host's port on the network. */
  readonly networks: readonly number[];
  /** Those of them whose own names nodes answer. */
  readonly named: readonly number[];
  /** All endpoints are pods of the default network. */
  readonly isInside: boolean;
  /** Somebody listens: until then pods ask the endpoints. */
  readonly isOpen: boolean;
}

export function dnsForwardingTables(
  known: ZoneBasis &
    FirewallTables &
    AdminTables &
    ServiceTables &
    RenderedTables &
    Pick<NodeTables, 'subnetsOn'> &
    Pick<NameTables, 'namesOf'> &
    ReturnType<typeof backendTables>,
) {
  const { settings, graph, recorder, services, backends } = known;
  /** Whether the forwarder listens. It comes from no object: a `FactSource` keeps it (src/node/dns/dns-forwarder.ts). */
  const dnsForwarders = new FactTable<[at: 'host'], { readonly isOpen: true }>(
    'dnsForwarders',
    recorder,
  );

  const renderedId = (network: string): number | readonly [] =>
    known.rendered.part(network, 'id') ?? [];
  const idOf = (network: string): number | readonly [] =>
    network !== DEFAULT_NETWORK && forwardsDnsOn(network, settings) ? renderedId(network) : [];
  const sorted = (ids: Iterable<number>): readonly number[] => [...ids].sort((a, b) => a - b);

  function forwarding(): DnsForwarding | undefined {
    const { dnsServers: key } = settings;
    if (typeof key !== 'string') return undefined;
    const isOnDefault = forwardsDnsOn(DEFAULT_NETWORK, settings) && known.hasRuleNames();
    const answered = known.namesOf().flatMap(renderedId);
    if (!isOnDefault && answered.length === 0) return undefined;
    const service = services.get(key);
    const found = backends.get(DEFAULT_NETWORK, key);
    if (service === undefined || found === undefined) return undefined;
    const families = new Set(known.subnetsOn(DEFAULT_NETWORK, known.nodeName).map(familyOf));
    const ways: ForwardedDns[] = [];
    let isInside = true;
    for (const [index, { port, protocol }] of service.ports.entries()) {
      const backed = found.ports[index];
      if (port !== DNS_PORT || protocol === 'SCTP' || backed === undefined) continue;
      const targets = service.isInternallyLocal ? backed.local : backed.all;
      for (const clusterIp of service.clusterIps) {
        const family = familyOf(clusterIp);
        const address = dnsForwarderAddress(settings, family);
        const endpoints = endpointsOf(targets[family]);
        const [first] = endpoints;
        if (address === undefined || first === undefined || !families.has(family)) continue;
        isInside &&= !backed.hasHostEndpoints;
        ways.push({
          family,
          protocol,
          clusterIp,
          vip: socketAddress(clusterIp, port),
          address,
          port: first.port,
          endpoints,
        });
      }
    }
    if (ways.length === 0) return undefined;
    const isOpen = dnsForwarders.get('host') !== undefined;
    const withRules = [
      ...known.firewallPlacements.by('named'),
      ...known.adminPlacements.by('named'),
    ].flatMap((one) => one.networks);
    const ids = new Set([...withRules.flatMap(idOf), ...answered]);
    return {
      service: key,
      ways: isOnDefault ? ways : [],
      serviceWays: ways,
      networks: sorted(ids),
      named: sorted(answered),
      isInside,
      isOpen,
    };
  }

  const dnsForwarding = new DerivedFacts<
    [],
    DnsForwarding,
    { here: []; endpoint: [address: string]; service: [service: string] }
  >('dnsForwarding', graph, ONE, forwarding, {
    object: () => `Service ${String(settings.dnsServers)}`,
    indexes: {
      here: () => [[]],
      endpoint: ({ ways }) =>
        ways.flatMap(({ endpoints }) => endpoints.map(({ address }) => address)),
      service: ({ service }) => [service],
    },
  });

  /** What it is, or was last: rows of others are not kept for what is wrong with it. */
  const forwardedDns = (): DnsForwarding | undefined => dnsForwarding.by('here')[0];

  return {
    dnsForwarders,
    dnsForwarding,
    forwardedDns,
    /** The forwarder's addresses, for who means endpoints of DNS by blocks of addresses of a network. */
    dnsForwardersIn(network: string, blocks: readonly AddressBlock[]): readonly string[] {
      const ways = network === DEFAULT_NETWORK ? (forwardedDns()?.ways ?? []) : [];
      const means = ({ cidr, except }: AddressBlock, address: string): boolean =>
        contains(cidr, address) && !except.some((one) => contains(one, address));
      const found = ways.filter(({ endpoints }) =>
        endpoints.some(({ address }) => blocks.some((block) => means(block, address))),
      );
      return [...new Set(found.map(({ address }) => address))];
    },

    /** The forwarder's address, for who means an endpoint of DNS on the default network. */
    dnsForwarderFor(endpoint: string): readonly string[] {
      const [found] = dnsForwarding.by('endpoint', endpoint);
      const way = found?.ways.find(({ family }) => family === familyOf(endpoint));
      return way === undefined ? [] : [way.address];
    },
  };
}

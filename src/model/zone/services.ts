/** Services: what they may have, and on which networks they are. */
import { contains } from '../../allocators/addresses.ts';
import { serviceNetwork } from '../../api/annotations/service-network.ts';
import type { Result } from '../../api/result.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { FactTable } from '../../facts/fact-table.ts';
import type { AllowedDefaultService } from '../model.ts';
import type { AssignedEgress } from '../read/egress-ips.ts';
import type { SliceNames } from '../read/endpoint-names.ts';
import type { SliceFacts } from '../read/endpoint-slices.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';
import type { ServiceNetworks } from '../read/services.ts';
import {
  claimOf,
  claimsOf,
  hadBefore,
  poolClaimOf,
  ServiceAdmission,
  type AdmittedService,
  type SeenService,
} from '../rules/service-admission.ts';
import type { NamedRange } from '../../api/validation/closed-ranges.ts';
import type { ConnectTables } from './connects.ts';
import type { NamespaceTables } from './namespaces.ts';
import type { NetworkTables } from './networks.ts';
import type { NodeTables } from './nodes.ts';
import type { ModelProblem } from './problems.ts';
import type { ReachTables } from './reach.ts';
import type { PoolTables } from './service-pools.ts';
import type { ZoneBasis } from './zone-basis.ts';

/** The service whose endpoints are the API servers. */
const API_SERVICE = 'default/kubernetes';

const namespaceOf = (service: string): string => service.slice(0, service.indexOf('/'));

/** A service on a network. The service is `namespace/name`. */
export type PlaceKey = [network: string, service: string];

export type ServiceTables = ReturnType<typeof serviceTables>;

export function serviceTables(
  known: ZoneBasis &
    NodeTables &
    NamespaceTables &
    NetworkTables &
    PoolTables &
    ConnectTables &
    ReachTables,
) {
  const { settings, graph, recorder, namespaces, definitions, networks, connects } = known;
  /** Services open to every primary network. */
  const enabledServices = new FactTable<[service: string], AllowedDefaultService>(
    'enabledServices',
    recorder,
  );
  /** Services with cluster IPs as their objects say them. */
  const declaredServices = new FactTable<
    [service: string],
    SeenService,
    { address: [string]; claim: [string]; nodePort: [string] }
  >('declaredServices', recorder, {
    indexes: {
      address: ({ facts }) => facts.clusterIps,
      claim: ({ facts }) => claimsOf(facts),
      nodePort: ({ facts }) =>
        facts.ports.flatMap(({ protocol, nodePort }) =>
          nodePort === undefined ? [] : `${protocol} ${nodePort}`,
        ),
    },
  });
  /** Addresses of EgressIPs that nodes have. */
  const assignedEgress = new FactTable<
    [egressIp: string],
    AssignedEgress,
    { address: [address: string] }
  >('assignedEgress', recorder, { indexes: { address: ({ addresses }) => addresses } });
  /** By `namespace/name`. */
  const endpointSlices = new FactTable<[slice: string], SliceFacts, { service: PlaceKey }>(
    'endpointSlices',
    recorder,
    { indexes: { service: ({ network, service }) => [[network, service]] } },
  );
  /** What names of services lead to; nothing where nodes answer none. */
  const sliceNames = new FactTable<
    [slice: string],
    SliceNames,
    { service: PlaceKey; address: [network: string, address: string] }
  >('sliceNames', recorder, {
    indexes: {
      service: ({ network, service }) => [[network, service]],
      address: ({ network, endpoints }) => endpoints.map(({ address }) => [network, address]),
    },
  });

  const admission = new ServiceAdmission(settings);
  /** Services with the external addresses that they may have. */
  const services = new DerivedFacts<[service: string], AdmittedService, { refused: [] }>(
    'services',
    graph,
    declaredServices,
    (service) => admit(service),
    {
      object: (service) => `Service ${service}`,
      indexes: { refused: ({ refused }) => (refused === undefined ? [] : [[]]) },
    },
  );
  const serviceNetworks = new DerivedFacts<
    [service: string],
    ServiceNetworks,
    { place: PlaceKey; exposed: [network: string]; pooled: [network: string]; refused: [] }
  >('serviceNetworks', graph, services, (service) => networksOf(service), {
    object: (service) => `Service ${service}`,
    indexes: {
      place: ({ networks: names, service }) => names.map((name) => [name, service]),
      exposed: ({ networks: names, isExposed }) => (isExposed ? names : []),
      pooled: ({ networks: names, isPooled }) => (isPooled ? names : []),
      refused: ({ refused }) => (refused === undefined ? [] : [[]]),
    },
  });

  /** What it may have; what others have is looked for only of services with external addresses. */
  function admit(key: string): AdmittedService | undefined {
    const service = declaredServices.get(key);
    if (service === undefined) return undefined;
    const { externalIps, ports } = service.facts;
    return admission.admit(service, {
      ranges: externalIps.length === 0 ? [] : [...rangesAround(key)],
      clusterIp: (address) =>
        declaredServices.keysBy('address', address).find((other) => other !== key),
      ofNode: known.nodeAt,
      egressIp: (address) => assignedEgress.keysBy('address', address)[0],
      isApiServer: (address) =>
        endpointSlices
          .by('service', DEFAULT_NETWORK, API_SERVICE)
          .some(({ endpoints }) => endpoints.some(({ addresses }) => addresses.includes(address))),
      olderService: (address) =>
        ports
          .map((port) => claimOf(address, port))
          .flatMap((claim) => declaredServices.by('claim', claim).map((one) => ({ claim, one })))
          .find(
            ({ claim, one }) =>
              one.facts.key !== key &&
              hadBefore(claim, one, service) &&
              services.part(one.facts.key, 'externalIps')?.includes(address) === true,
          )?.one.facts.key,
      isInPool: (address) => poolsOf(key, address).length > 0,
      olderInPool: (address) =>
        declaredServices
          .by('claim', poolClaimOf(address))
          .find(
            (one) =>
              one.facts.key !== key &&
              hadBefore(poolClaimOf(address), one, service) &&
              services.part(one.facts.key, 'poolIps')?.includes(address) === true &&
              poolsOf(one.facts.key, address).some((name) => poolsOf(key, address).includes(name)),
          )?.facts.key,
    });
  }

  /** The secondary network that a service asks to be on, or why it can't be there; undefined for one that is where its namespace is. */
  function askedPlace(key: string): Result<string> | undefined {
    const text = declaredServices.part(key, 'askedNetwork');
    if (text === undefined) return undefined;
    return serviceNetwork(text, namespaceOf(key), {
      secondaryGateways: settings.secondaryGateways,
      networkOf(nad) {
        const name = definitions.part(nad, 'network');
        const role = name === undefined ? undefined : networks.part(name, 'role');
        if (name === undefined || role === undefined) return undefined;
        return { name, role, isOptedIn: networks.part(name, 'isOptedIn') === true };
      },
    });
  }

  /** Networks of their own that a service is on. */
  function ownNetworks(key: string): readonly string[] {
    const asked = askedPlace(key);
    if (asked === undefined) return known.primariesOf(namespaceOf(key));
    return asked.kind === 'value' ? [asked.value] : [];
  }

  /** Networks of a service whose pool has the address. */
  const poolsOf = (key: string, address: string): readonly string[] =>
    ownNetworks(key).filter((name) => known.isInPool(name, address));

  /** Ranges of the networks that a service is on, and of those that they are connected with: others don't meet its packets. */
  function* rangesAround(key: string): Iterable<NamedRange> {
    const own = ownNetworks(key);
    const names = new Set(own);
    const joined = new Set<string>();
    for (const name of own)
      for (const connect of connects.keysBy('network', String(networks.part(name, 'id') ?? 0))) {
        joined.add(connect);
        for (const member of known.membersOf(connect)) names.add(member.name);
      }
    for (const name of names) {
      for (const { cidr } of networks.part(name, 'subnets') ?? [])
        yield { cidr, name: `the subnet of network ${name}` };
      const { v4, v6 } = networks.part(name, 'joinSubnets') ?? {};
      for (const cidr of [v4, v6])
        if (cidr !== undefined) yield { cidr, name: `the join subnet of network ${name}` };
    }
    for (const connect of joined)
      for (const { cidr } of connects.part(connect, 'ranges') ?? [])
        yield { cidr, name: `the subnet of ClusterNetworkConnect ${connect}` };
  }

  /** The network that it names, else its namespace's primary ones; while there is none that is asked for, the service is nowhere. */
  function networksOf(service: string): ServiceNetworks | undefined {
    const isExposed = services.part(service, 'isExposed') ?? false;
    const isLabelled = namespaces.part(namespaceOf(service), 'isLabelled');
    if (isLabelled === undefined) return undefined;
    const asked = askedPlace(service);
    return {
      service,
      networks: isLabelled || asked !== undefined ? ownNetworks(service) : [DEFAULT_NETWORK],
      isExposed,
      isPooled: (services.part(service, 'poolIps') ?? []).length > 0,
      ...(asked?.kind === 'value' ? { isSecondary: true } : {}),
      ...(asked?.kind === 'invalid' ? { refused: asked.error } : {}),
    };
  }

  /** Addresses of the network's pool that a service on it has. */
  const poolIpsOn = (network: string, key: string): readonly string[] =>
    (services.part(key, 'poolIps') ?? []).filter((address) => known.isInPool(network, address));

  /** Addresses of pools that services have, by network, in the order of their texts. */
  const poolAddresses = new DerivedFacts<
    [network: string],
    { readonly addresses: readonly string[] }
  >(
    'poolAddresses',
    graph,
    known.servicePools,
    (network) => {
      const found = serviceNetworks
        .by('pooled', network)
        .flatMap(({ service }) => poolIpsOn(network, service));
      return found.length === 0 ? undefined : { addresses: [...new Set(found)].sort() };
    },
    { object: (network) => `network ${network}` },
  );

  return {
    enabledServices,
    poolAddresses,
    poolIpsOn,

    /**
     * True for an address of the network's pool that pods of a connection reach: another network of the connection has it neither for pods nor in
     * a pool of its own, so that nobody's packets for others come here.
     */
    isPoolAddressShared: (connect: string, network: string, address: string): boolean =>
      known
        .membersOf(connect)
        .every(
          ({ name, subnets }) =>
            name === network ||
            (!subnets.some(({ cidr }) => contains(cidr, address)) &&
              !(known.servicePools.part(name, 'cidrs') ?? []).some((cidr) =>
                contains(cidr, address),
              )),
        ),

    assignedEgress,
    declaredServices,
    endpointSlices,
    sliceNames,
    services,
    serviceNetworks,
    rangesAround,

    /** Where pods ask for names, as the setting says; none while the service that it names is not known. */
    dnsServers: (): readonly string[] =>
      typeof settings.dnsServers === 'string'
        ? (declaredServices.get(settings.dnsServers)?.facts.clusterIps ?? [])
        : settings.dnsServers,

    /**
     * Another service with a cluster IP and port of that one, on another network of the connection: of the two the connection shares
     * the one that comes first by its name.
     */
    sharedBefore(connect: string, key: string): string | undefined {
      const service = services.get(key);
      const own = serviceNetworks.get(key)?.networks ?? [];
      return service?.clusterIps
        .flatMap((address) => declaredServices.keysBy('address', address))
        .filter((other) => other < key)
        .find((other) => {
          const ports = services.part(other, 'ports') ?? [];
          const theirs = serviceNetworks.get(other)?.networks ?? [];
          return (
            theirs.some(
              (network) => !own.includes(network) && known.idsOf(connect).includes(network),
            ) &&
            ports.some(({ protocol, port }) =>
              service.ports.some((one) => one.protocol === protocol && one.port === port),
            )
          );
        });
    },

    *serviceProblems(): Iterable<ModelProblem> {
      for (const name of services.keysBy('refused')) {
        const message = services.peek(name)?.refused;
        if (message !== undefined) yield { object: `Service ${name}`, message };
      }
      for (const name of serviceNetworks.keysBy('refused')) {
        const message = serviceNetworks.peek(name)?.refused;
        if (message !== undefined) yield { object: `Service ${name}`, message };
      }
    },
  };
}

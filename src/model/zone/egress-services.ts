/** EgressServices, and the interfaces of pods that they have: those of this node, and of all nodes where it is this one that they leave by. */
import { SERVICE_NETWORK } from '../../api/annotations/service-network.ts';
import {
  FAMILIES,
  familyOf,
  formatAddress,
  parsePrefix,
  withoutPrefix,
  type Family,
} from '../../allocators/addresses.ts';
import { egressServiceMasquerade } from '../../allocators/node-addresses.ts';
import { compareAge } from '../../api/order.ts';
import { matchesSelector } from '../../api/selectors.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { FactTable } from '../../facts/fact-table.ts';
import { whileAny } from '../../facts/keys.ts';
import type { NetworkName } from '../model.ts';
import { EVERY_HOST, type EgressServiceFacts, type NamedTable } from '../read/egress-services.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';
import { egressServiceMark, egressServiceSlot } from '../rules/egress-service-mark.ts';
import type { AttachmentTables } from './attachments.ts';
import type { NamespaceTables } from './namespaces.ts';
import type { InterfaceKey, PodTables } from './pods.ts';
import type { ModelProblem } from './problems.ts';
import type { ReachTables } from './reach.ts';
import type { ServiceTables } from './services.ts';
import type { ZoneBasis } from './zone-basis.ts';

export type EgressServiceKey = [namespace: string, service: string];

/** Where pods of an EgressService leave, and how. */
export interface EgressServicePlace {
  readonly service: string;
  /** A node, EVERY_HOST, or empty: nothing leaves. */
  readonly host: string;
  /** Addresses with which they leave, one of each family at most; none with EVERY_HOST. */
  readonly sources: readonly string[];
  /** Routing table that leads them. */
  readonly table?: NamedTable;
  /** What an administrator is told. */
  readonly problems: readonly string[];
  /** What the bridge of this node knows by a mark: `sources`, or with a routing table the service. */
  readonly marked: readonly string[];
}

/** How pods of primary networks leave this node as an EgressService says. */
export interface EgressServiceExit {
  /** By which the bridge knows them. */
  readonly mark: number;
  /** With which they leave; absent with that of the device that they leave by. */
  readonly address?: string;
  /** By which the host knows them, where a routing table leads them. */
  readonly link?: string;
}

/** An interface of a pod that leaves as an EgressService says. */
export interface EgressServicePort {
  readonly service: string;
  readonly namespace: string;
  readonly pod: string;
  readonly network: NetworkName;
  /** Without prefix length, of families that the service has. */
  readonly addresses: readonly string[];
  /** The pod is on this node. */
  readonly isOwn: boolean;
  /** Later ones that have it, too. */
  readonly others: readonly string[];
}

export type EgressServiceTables = ReturnType<typeof egressServiceTables>;

export const egressServiceObject = (service: string): string => `EgressService ${service}`;

const keyOf = (service: string): EgressServiceKey => {
  const [namespace = '', name = ''] = service.split('/');
  return [namespace, name];
};

const byAge = (a: EgressServiceFacts, b: EgressServiceFacts): number =>
  compareAge({ ...a, creationTimestamp: a.created }, { ...b, creationTimestamp: b.created });

export function egressServiceTables(
  known: ZoneBasis & NamespaceTables & PodTables & ReachTables & AttachmentTables & ServiceTables,
) {
  const { graph, recorder, settings, nodeName, pods, declaredServices, services } = known;
  const isOn = settings.features.egressService;
  const egressServices = new FactTable<
    EgressServiceKey,
    EgressServiceFacts,
    { namespace: [string]; slot: [string]; here: [] }
  >('egressServices', recorder, {
    indexes: {
      namespace: ({ namespace }) => [namespace],
      slot: ({ key, table }) => (table === undefined ? [] : [String(egressServiceSlot(key))]),
      here: ({ host, isHere }) => (isOn && (isHere || host === EVERY_HOST) ? [[]] : []),
    },
  });
  const egressServicePlaces = new DerivedFacts<
    EgressServiceKey,
    EgressServicePlace,
    { told: []; mark: [string] }
  >('egressServicePlaces', graph, egressServices, (...key) => placeOf(...key), {
    object: (...key) => egressServiceObject(key.join('/')),
    indexes: {
      told: ({ problems }) => (problems.length === 0 ? [] : [[]]),
      mark: ({ marked }) => marked.map((one) => String(egressServiceMark(one))),
    },
  });
  const egressServicePorts = new DerivedFacts<
    InterfaceKey,
    EgressServicePort,
    { standby: []; primary: []; service: [service: string] },
    { served: [Family] }
  >(
    'egressServicePorts',
    graph,
    whileAny(egressServices, known.allAttachments),
    (...key) => portOf(...key),
    {
      object: (namespace, pod) => `Pod ${namespace}/${pod}`,
      indexes: {
        standby: ({ others }) => (others.length === 0 ? [] : [[]]),
        primary: ({ network }) => (network === DEFAULT_NETWORK ? [] : [[]]),
        service: ({ service }) => [service],
      },
      sets: {
        served: ({ network, addresses, isOwn }) =>
          isOwn && network === DEFAULT_NETWORK
            ? addresses.map((address) => [[familyOf(address)], address])
            : [],
      },
    },
  );
  /** EgressServices that are here, and primary networks whose pods come here to leave. */
  const egressServiceUses = new DerivedFacts<
    EgressServiceKey,
    { readonly service: string; readonly networks: readonly NetworkName[] },
    { network: [network: string] }
  >(
    'egressServiceUses',
    graph,
    egressServices.bucket('here'),
    (namespace, name) => {
      const isLabelled = known.namespaces.part(namespace, 'isLabelled') === true;
      const own = isLabelled ? known.primariesOf(namespace) : [];
      return {
        service: `${namespace}/${name}`,
        networks: [...(own as readonly NetworkName[])].sort(),
      };
    },
    {
      object: (...key) => egressServiceObject(key.join('/')),
      indexes: { network: ({ networks }) => networks },
    },
  );

  function placeOf(namespace: string, name: string): EgressServicePlace | undefined {
    const egressService = egressServices.get(namespace, name);
    if (egressService === undefined || !isOn) return undefined;
    const { key: service, isByNetwork, host, table, tableProblem } = egressService;
    const sources = isByNetwork ? [] : sourcesOf(service);
    const problems = [
      ...(isByNetwork ||
      sources.length > 0 ||
      (declaredServices.part(service, 'ingress') ?? []).length === 0
        ? []
        : [
            `no address of the load balancer of Service ${service} may be used (see the Service): no pod of it leaves`,
          ]),
      ...(known.serviceNetworks.part(service, 'isSecondary') === true
        ? [
            `Service ${service} is on a secondary network (annotation ${SERVICE_NETWORK}), and its pods leave as this object says by their default or primary network alone; for what leaves by the secondary one write an EgressIP`,
          ]
        : []),
    ];
    const isUsable =
      tableProblem === undefined && (isByNetwork ? host === EVERY_HOST : host !== EVERY_HOST);
    return {
      service,
      host: isUsable ? host : '',
      sources,
      ...(table === undefined ? {} : { table }),
      problems,
      ...marked(egressService, sources),
    };
  }

  const marked = (
    { key, isHere, host, table }: EgressServiceFacts,
    sources: readonly string[],
  ): Pick<EgressServicePlace, 'marked'> => {
    if (table === undefined) return { marked: isHere ? sources : [] };
    return { marked: isHere || host === EVERY_HOST ? [key] : [] };
  };

  /** The EgressService that has what an object's is to be, and is older. */
  const olderOf = (
    service: string,
    others: readonly EgressServiceFacts[],
  ): EgressServiceFacts | undefined => {
    const self = egressServices.get(...keyOf(service));
    return others.find(
      (other) => other.key !== service && (self === undefined || byAge(other, self) < 0),
    );
  };

  /** Who is known by the mark of another address, or service, on this node. */
  function markOwner(service: string, of: string): EgressServiceFacts | undefined {
    const mark = egressServiceMark(of);
    const others = egressServicePlaces
      .by('mark', String(mark))
      .filter((other) => other.marked.some((one) => one !== of && egressServiceMark(one) === mark))
      .flatMap((other) => egressServices.get(...keyOf(other.service)) ?? []);
    return olderOf(service, others);
  }

  /** By what hosts know pods of primary networks that a routing table leads, or why they can't. */
  function linkOf(service: string, family: Family): { link: string } | { problem: string } {
    const older = olderOf(service, egressServices.by('slot', String(egressServiceSlot(service))));
    if (older !== undefined)
      return {
        problem: `spec.network: nodes would know pods of primary networks by the address that those of EgressService ${older.key} have there, which is older: they send nothing out; give the Service, and this object, another name`,
      };
    const subnet = parsePrefix(settings.masqueradeSubnets[family] ?? '');
    const found = subnet && egressServiceMasquerade(subnet, egressServiceSlot(service));
    return found === undefined
      ? {
          problem: `spec.network: the masquerade subnet has no address by which nodes would know pods of primary networks: they send nothing out; choose a wider one (--gateway-${family}-masquerade-subnet, ${family === 'v4' ? '/17' : '/113'} or wider), or take the field away`,
        }
      : { link: formatAddress(found) };
  }

  /** Addresses of the load balancer: the last one of each family, as far as the service may have it. */
  function sourcesOf(service: string): readonly string[] {
    const ingress = declaredServices.part(service, 'ingress') ?? [];
    const admitted = services.part(service, 'externalIps') ?? [];
    if (services.part(service, 'isLoadBalancer') !== true) return [];
    return FAMILIES.flatMap(
      (family) =>
        ingress.findLast((address) => familyOf(address) === family && admitted.includes(address)) ??
        [],
    );
  }

  function portOf(...key: InterfaceKey): EgressServicePort | undefined {
    const [namespace] = key;
    const candidates = isOn ? egressServices.by('namespace', namespace) : [];
    if (candidates.length === 0) return undefined;
    const own = known.attachments.get(...key);
    const attachment = own ?? known.remoteAttachments.get(...key);
    if (attachment?.role !== 'primary') return undefined;
    const { pod, network } = attachment;
    const addresses = attachment.addresses.map(withoutPrefix);
    const [first, ...others] = candidates
      .filter(({ key: service }) => isBehind(service, [namespace, pod], network, addresses))
      .toSorted(byAge)
      .map(({ key: service }) => service);
    if (first === undefined) return undefined;
    const families = (services.part(first, 'clusterIps') ?? []).map(familyOf);
    return {
      service: first,
      namespace,
      pod,
      network,
      addresses: addresses.filter((address) => families.includes(familyOf(address))),
      isOwn: own !== undefined,
      others,
    };
  }

  /**
   * Whether a pod is behind a service of its namespace. By its labels from its first packet on, long before it is an endpoint; by slices only where
   * people write them themselves.
   */
  function isBehind(
    service: string,
    pod: readonly [namespace: string, pod: string],
    network: string,
    addresses: readonly string[],
  ): boolean {
    const selector = declaredServices.part(service, 'selector');
    if (selector === undefined) return false;
    if (Object.keys(selector).length > 0)
      return matchesSelector({ matchLabels: selector }, pods.part([...pod], 'labels'));
    return known.endpointSlices
      .by('service', network, service)
      .some(({ endpoints }) =>
        endpoints.some((endpoint) =>
          endpoint.addresses.some((address) => addresses.includes(address)),
        ),
      );
  }

  return {
    placeOfService: (service: string): EgressServicePlace | undefined =>
      egressServicePlaces.get(...keyOf(service)),
    egressServices,
    egressServicePlaces,
    egressServicePorts,
    egressServiceUses,

    /** Why pods of primary networks can't leave by the routing table that an EgressService names, whatever their node; undefined where they can. */
    whyNotByTable(service: string, family: Family): string | undefined {
      if (egressServicePlaces.get(...keyOf(service))?.table === undefined) return undefined;
      const found = linkOf(service, family);
      return 'problem' in found ? found.problem : undefined;
    },

    /** How pods of primary networks leave this node, or why they do not; undefined where they do not leave by it, or with no address. */
    egressServiceExit(service: string, family: Family): EgressServiceExit | string | undefined {
      const place = egressServicePlaces.get(...keyOf(service));
      const isByNetwork = place?.host === EVERY_HOST;
      if (place === undefined || (place.host !== nodeName && !isByNetwork)) return undefined;
      const address = place.sources.find((one) => familyOf(one) === family);
      const of = place.table === undefined ? address : service;
      if (of === undefined || (address === undefined && !isByNetwork)) return undefined;
      const owner = markOwner(service, of);
      if (owner !== undefined)
        return `the external bridge would know its pods of primary networks by the mark of EgressService ${owner.key}, which is older: they send nothing out; give ${place.table === undefined ? 'its load balancer another address' : 'the Service, and this object, another name'}`;
      const exit = {
        mark: egressServiceMark(of),
        ...(address === undefined ? {} : { address }),
      };
      if (place.table === undefined) return exit;
      const found = linkOf(service, family);
      return 'problem' in found ? found.problem : { ...exit, link: found.link };
    },

    /** EgressServices that are not, or not wholly, in force here. */
    *egressServiceProblems(): Iterable<ModelProblem> {
      for (const key of egressServicePlaces.keysBy('told'))
        for (const message of egressServicePlaces.peek(...key)?.problems ?? [])
          yield { object: egressServiceObject(key.join('/')), message };
      for (const key of egressServicePorts.keysBy('standby')) {
        const port = egressServicePorts.peek(...key);
        for (const other of port?.others ?? [])
          yield {
            object: egressServiceObject(other),
            message: `pod ${key[0]}/${key[1]} leaves as EgressService ${port?.service} says, which is older and has it, too: give the services selectors that share no pod`,
          };
      }
    },
  };
}

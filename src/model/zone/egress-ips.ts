/** EgressIPs, and the interfaces of pods that leave with their addresses: those of this node, and of all nodes where an address is on this one. */
import {
  canonicalCidr,
  contains,
  familyOf,
  formatAddress,
  parsePrefix,
  withoutPrefix,
  type Family,
} from '../../allocators/addresses.ts';
import { egressMasquerade } from '../../allocators/node-addresses.ts';
import { FIRST_EGRESS_MARK } from '../../api/annotations/network-annotations.ts';
import { compareAge } from '../../api/order.ts';
import { matchesSelector } from '../../api/selectors.ts';
import type { LabelSelector } from '../../api/types.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { FactTable } from '../../facts/fact-table.ts';
import { whileAny } from '../../facts/keys.ts';
import { Unreadable } from '../../facts/unreadable.ts';
import type { NetworkName } from '../model.ts';
import {
  exitsOf,
  type EgressAddress,
  type EgressExit,
  type EgressIp,
  type RequestedEgress,
} from '../read/egress-ips.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';
import { noNamespace } from '../rules/pod-plan.ts';
import type { AttachmentTables } from './attachments.ts';
import type { EgressLeaseTables } from './egress-lease.ts';
import type { HostRouteTables } from './host-routes.ts';
import type { NamespaceTables } from './namespaces.ts';
import type { NetworkTables } from './networks.ts';
import type { NodeTables } from './nodes.ts';
import type { InterfaceKey, PodKey, PodTables } from './pods.ts';
import type { ModelProblem } from './problems.ts';
import type { ReachTables } from './reach.ts';
import type { ZoneBasis } from './zone-basis.ts';

/** What an EgressIP selects: it stays while addresses move. */
interface EgressSelector {
  readonly name: string;
  readonly created: string;
  readonly namespaceSelector: LabelSelector;
  readonly podSelector: LabelSelector;
  /** It is for classes of destinations alone. */
  readonly isByClass: boolean;
}

/** EgressIPs that select pods of a namespace, the one that serves before all others first. */
interface NamespaceEgress {
  readonly egressIps: readonly Pick<EgressSelector, 'name' | 'podSelector' | 'isByClass'>[];
}

/** The EgressIP that serves a pod, and others that would. */
interface PodEgress {
  readonly egressIp: string;
  readonly others: readonly string[];
}

/** An interface of a pod that leaves with addresses of an EgressIP. */
export interface EgressPort {
  readonly egressIp: string;
  readonly namespace: string;
  readonly pod: string;
  readonly network: NetworkName;
  /** Without prefix length. */
  readonly addresses: readonly string[];
  /** The pod is on this node. */
  readonly isOwn: boolean;
}

/** An address of an EgressIP, and where pods leave with it. */
export interface EgressPlace extends EgressAddress {
  /** Device of this node that is not its gateway's, in whose network the address is. */
  readonly card?: string;
}

/** An address of an EgressIP that this node gives to what leaves. */
export type EgressExitHere = EgressExit & EgressPlace;

/** Addresses of an EgressIP with which pods may leave: of those on this node only what is nobody else's. */
interface EgressPlaces {
  readonly addresses: readonly EgressPlace[];
  readonly exits: readonly EgressExitHere[];
  /** Why others that are assigned to this node are not used. */
  readonly refusals: readonly string[];
}

/** An EgressIP with an address on this node, and the networks whose pods it may serve. */
interface EgressUse {
  readonly networks: readonly NetworkName[];
}

/** How something leaves by a network card of this node: a pod of the default network, or pods of other networks by an EgressIP. */
export interface CardExit {
  /** By which the host knows it, without prefix length. */
  readonly from: string;
  readonly card: string;
  readonly egressAddress: string;
}

export type EgressIpTables = ReturnType<typeof egressIpTables>;

const byAge = (
  a: Pick<EgressSelector, 'name' | 'created'>,
  b: Pick<EgressSelector, 'name' | 'created'>,
): number =>
  compareAge(
    { creationTimestamp: a.created, name: a.name },
    { creationTimestamp: b.created, name: b.name },
  );

export function egressIpTables(
  known: ZoneBasis &
    NodeTables &
    HostRouteTables &
    NamespaceTables &
    PodTables &
    NetworkTables &
    ReachTables &
    AttachmentTables &
    EgressLeaseTables,
) {
  const { graph, recorder, settings, nodeName, namespaces, pods } = known;
  const isOn = settings.features.egressIp;
  const egressIps = new FactTable<
    [egressIp: string],
    EgressIp,
    { here: []; mark: [string]; address: [string]; node: [string] }
  >('egressIps', recorder, {
    indexes: {
      here: ({ isHere }) => (isHere && isOn ? [[]] : []),
      mark: ({ mark }) => (mark === undefined ? [] : [String(mark)]),
      node: (egressIp) =>
        isOn ? exitsOf(egressIp).flatMap(({ node }) => (node === nodeName ? [] : [node])) : [],
      address: (egressIp) =>
        exitsOf(egressIp).flatMap(({ node, address }) => (node === nodeName ? [address] : [])),
    },
  });
  /** What EgressIPs ask for, whoever has it. */
  const requestedEgress = new FactTable<[egressIp: string], RequestedEgress, { address: [string] }>(
    'requestedEgress',
    recorder,
    { indexes: { address: ({ addresses }) => addresses } },
  );
  const objectOf = (egressIp: string): string => `EgressIP ${egressIp}`;
  /** The object that an address of this node, or a mark, is of: of several the oldest. */
  const isFirst = (name: string, others: readonly EgressIp[]): boolean =>
    others.toSorted(byAge)[0]?.name === name;
  const egressPlaces = new DerivedFacts<
    [egressIp: string],
    EgressPlaces,
    { refused: []; onCard: []; card: [device: string] }
  >(
    'egressPlaces',
    graph,
    egressIps,
    (name) => {
      const exits: EgressExitHere[] = [];
      const refusals: string[] = [];
      const items = isOn ? (egressIps.part(name, 'items') ?? []) : [];
      for (const exit of exitsOf({ items, moves: egressIps.part(name, 'moves') ?? [] })) {
        // Another node may have it by now; only who answers for it must not have it, too.
        if (exit.node !== nodeName || (exit.role === 'holder' && isLost())) continue;
        const place = placeOf(name, exit);
        if (typeof place === 'string') refusals.push(place);
        else exits.push({ ...exit, ...place });
      }
      const addresses = items.flatMap((item): readonly EgressPlace[] => {
        if (item.node !== nodeName) return [item];
        const exit = exits.find(({ address }) => address === item.address);
        if (exit === undefined) return [];
        return [exit.card === undefined ? item : { ...item, card: exit.card }];
      });
      return { addresses, exits, refusals };
    },
    {
      object: objectOf,
      indexes: {
        onCard: ({ exits }) => (exits.some(({ card }) => card !== undefined) ? [[]] : []),
        refused: ({ refusals }) => (refusals.length === 0 ? [] : [[]]),
        card: ({ exits }) => exits.flatMap(({ card }) => card ?? []),
      },
    },
  );
  const egressSelectors = new DerivedFacts<[egressIp: string], EgressSelector, { all: [] }>(
    'egressSelectors',
    graph,
    egressIps,
    (name) => {
      const created = egressIps.part(name, 'created');
      const namespaceSelector = egressIps.part(name, 'namespaceSelector');
      const podSelector = egressIps.part(name, 'podSelector');
      const isByClass = egressIps.part(name, 'trafficSelector') !== undefined;
      return !isOn ||
        created === undefined ||
        namespaceSelector === undefined ||
        podSelector === undefined
        ? undefined
        : { name, created, namespaceSelector, podSelector, isByClass };
    },
    { object: objectOf, indexes: { all: () => [[]] } },
  );
  const namespaceEgress = new DerivedFacts<[namespace: string], NamespaceEgress>(
    'namespaceEgress',
    graph,
    namespaces,
    (namespace) => {
      const labels = namespaces.part(namespace, 'labels');
      const found = egressSelectors
        .by('all')
        .filter(({ namespaceSelector }) => matchesSelector(namespaceSelector, labels))
        .toSorted(byAge);
      return found.length === 0
        ? undefined
        : {
            egressIps: found.map(({ name, podSelector, isByClass }) => ({
              name,
              podSelector,
              isByClass,
            })),
          };
    },
    { object: (namespace) => `Namespace ${namespace}` },
  );
  const podEgress = new DerivedFacts<PodKey, PodEgress, { standby: [] }>(
    'podEgress',
    graph,
    whileAny(egressIps, pods),
    (...pod) => {
      const [egressIp, ...others] = selecting(pod, false);
      return egressIp === undefined ? undefined : { egressIp, others };
    },
    {
      object: (namespace, pod) => `Pod ${namespace}/${pod}`,
      indexes: { standby: ({ others }) => (others.length === 0 ? [] : [[]]) },
    },
  );
  const egressPorts = new DerivedFacts<
    InterfaceKey,
    EgressPort,
    {},
    { served: [network: NetworkName, Family] }
  >('egressPorts', graph, whileAny(egressIps, known.allAttachments), (...key) => portOf(...key), {
    object: (namespace, pod) => `Pod ${namespace}/${pod}`,
    sets: {
      served: ({ network, addresses, isOwn }) =>
        isOwn ? addresses.map((address) => [[network, familyOf(address)], address]) : [],
    },
  });
  /** EgressIPs with an address here, and the networks that they bring here. */
  const egressUses = new DerivedFacts<
    [egressIp: string],
    EgressUse,
    { network: [network: string] }
  >(
    'egressUses',
    graph,
    egressIps.bucket('here'),
    (name) => {
      const selector = egressSelectors.get(name)?.namespaceSelector;
      const selected = namespaces.all().filter(({ labels }) => matchesSelector(selector, labels));
      const networks = selected.flatMap((namespace) => {
        const own = namespace.isLabelled ? known.primariesOf(namespace.name) : [DEFAULT_NETWORK];
        return [...own, ...known.optedInFor(namespace.name)] as NetworkName[];
      });
      return { networks: [...new Set(networks)].sort() };
    },
    {
      object: objectOf,
      indexes: {
        network: ({ networks }) => networks,
      },
    },
  );

  /** True if this node may have no egress addresses. Throws `Unreadable` while that is not known. */
  function isLost(): boolean {
    const state = known.egressLease.get()?.state;
    if (state === 'unknown')
      throw new Unreadable(
        `it is not known yet whether node ${nodeName} may have egress addresses`,
      );
    return state === 'lost';
  }

  /** Where an address is that is assigned to this node, or why it is not used here. */
  function placeOf(name: string, { node, address }: EgressAddress): EgressPlace | string {
    const family = familyOf(address);
    const gateway = known.own('gateway');
    const isNear = gateway?.addresses.some(
      (own) => familyOf(own) === family && contains(canonicalCidr(own), address),
    );
    const card = gateway === undefined || isNear === true ? undefined : known.hostCardOf(address);
    if (isNear !== true && (card === undefined || card === gateway?.bridge))
      return `address ${address} is in no network of the gateway of node ${nodeName}, nor of another network card that is up and in no VRF`;
    const owner = known.nodeAt(address);
    if (owner !== undefined) return `address ${address} is ${owner.what}`;
    if (!isFirst(name, egressIps.by('address', address)))
      return `address ${address} is that of another EgressIP on node ${nodeName}`;
    return { node, address, ...(card === undefined ? {} : { card }) };
  }

  /** Addresses of an EgressIP that are this node's at its gateway, whether or not it may have them at this moment. */
  function gatewayEgressAddresses(name: string): readonly string[] {
    const items = egressIps.part(name, 'items') ?? [];
    return exitsOf({ items, moves: egressIps.part(name, 'moves') ?? [] }).flatMap((exit) => {
      const place = exit.node === nodeName ? placeOf(name, exit) : undefined;
      return typeof place !== 'object' || place.card !== undefined ? [] : [place.address];
    });
  }

  function egressIpsOf(namespace: string): NamespaceEgress['egressIps'] {
    // A pod must not leave with its node's address because its namespace came later.
    if (namespaces.part(namespace, 'name') === undefined && egressSelectors.by('all').length > 0)
      throw new Unreadable(noNamespace({ namespace }));
    return namespaceEgress.get(namespace)?.egressIps ?? [];
  }

  /** Those that select a pod, the oldest first: those for all destinations, or those for classes of them. */
  function selecting(pod: PodKey, isByClass: boolean): readonly string[] {
    const labels = pods.part(pod, 'labels');
    return egressIpsOf(pod[0])
      .filter((one) => one.isByClass === isByClass && matchesSelector(one.podSelector, labels))
      .map(({ name }) => name);
  }

  function portOf(...key: InterfaceKey): EgressPort | undefined {
    const own = known.attachments.get(...key);
    const attachment = own ?? known.remoteAttachments.get(...key);
    if (attachment === undefined || !known.leavesBy(attachment)) return undefined;
    const { namespace, pod, network, addresses } = attachment;
    const egressIp = podEgress.get(namespace, pod)?.egressIp;
    if (egressIp === undefined) return undefined;
    const families = egressIps.part(egressIp, 'families') ?? [];
    return {
      egressIp,
      namespace,
      pod,
      network,
      addresses: addresses
        .map(withoutPrefix)
        .filter((address) => families.includes(familyOf(address))),
      isOwn: own !== undefined,
    };
  }

  /** The mark that is an EgressIP's alone. */
  function egressMarkOf(name: string): number | undefined {
    const mark = egressIps.part(name, 'mark');
    return mark !== undefined && isFirst(name, egressIps.by('mark', String(mark)))
      ? mark
      : undefined;
  }

  /** Address by which the host knows what networks of users send out by a network card with an EgressIP; undefined where there is none. */
  function cardLink(name: string, family: Family): string | undefined {
    const mark = egressMarkOf(name);
    const subnet = parsePrefix(settings.masqueradeSubnets[family] ?? '');
    if (mark === undefined || subnet === undefined) return undefined;
    const found = egressMasquerade(subnet, mark - FIRST_EGRESS_MARK);
    return found && formatAddress(found);
  }

  const isByClass = (name: string): boolean =>
    egressIps.part(name, 'trafficSelector') !== undefined;

  const egressAddressesHere = (name: string): readonly EgressExitHere[] =>
    egressPlaces.part(name, 'exits') ?? [];

  return {
    egressIps,
    requestedEgress,
    egressPlaces,
    egressPorts,
    egressUses,

    egressMarkOf,

    /** EgressIPs for classes of destinations that select a pod, the oldest first. */
    classEgressOf: (...pod: PodKey): readonly string[] => selecting(pod, true),

    isByClass,

    /** Addresses of an EgressIP that this node gives to what leaves, also where it does not answer for them yet, or no longer. */
    egressAddressesHere,

    gatewayEgressAddresses,

    cardLink,

    /** By which cards of this node pods of networks of users leave with an EgressIP, and those of the default network with one for classes of destinations. */
    cardExitsOfNetworks(name: string): readonly CardExit[] {
      const isUsed = (egressUses.part(name, 'networks') ?? []).some(
        (network) => network !== DEFAULT_NETWORK || isByClass(name),
      );
      return (isUsed ? egressAddressesHere(name) : []).flatMap(({ address, card }) => {
        const from = cardLink(name, familyOf(address));
        return card === undefined || from === undefined
          ? []
          : [{ from, card, egressAddress: address }];
      });
    },

    /** By which cards of this node an interface's pod of the default network leaves. */
    cardExitsOf(...key: InterfaceKey): readonly CardExit[] {
      const port = egressPorts.get(...key);
      if (port?.network !== DEFAULT_NETWORK) return [];
      const here = egressAddressesHere(port.egressIp);
      return port.addresses.flatMap((from) => {
        const place = here.find(({ address }) => familyOf(address) === familyOf(from));
        return place?.card === undefined
          ? []
          : [{ from, card: place.card, egressAddress: place.address }];
      });
    },

    /** EgressIPs that are not, or not wholly, in force here. */
    *egressProblems(): Iterable<ModelProblem> {
      for (const name of egressPlaces.keysBy('refused'))
        for (const refusal of egressPlaces.peek(name)?.refusals ?? [])
          yield {
            object: objectOf(name),
            message: `${refusal}: no pod leaves with it; choose another one`,
          };
      for (const [namespace, pod] of podEgress.keysBy('standby'))
        for (const other of podEgress.peek(namespace, pod)?.others ?? [])
          yield {
            object: objectOf(other),
            message: `EgressIP object ${other} will not be configured for pod ${namespace}_${pod} since another egressIP object ${podEgress.peek(namespace, pod)?.egressIp} is serving it: it is the older one`,
          };
    },
  };
}

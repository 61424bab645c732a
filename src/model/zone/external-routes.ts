/** External routes: whose pods leave by which next hops, worked out per namespace, policy and pod. */
import { familyOf, parseAddress, withoutPrefix, type Family } from '../../allocators/addresses.ts';
import { matchesSelector } from '../../api/selectors.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { FactTable } from '../../facts/fact-table.ts';
import type { NetworkName } from '../model.ts';
import {
  isNoHop,
  MOST_HOPS,
  type ExternalRoute,
  type GatewayPod,
  type HopPods,
  type NextHop,
} from '../read/external-routes.ts';
import type { AttachmentTables } from './attachments.ts';
import type { EgressClassTables } from './egress-classes.ts';
import type { EgressIpTables } from './egress-ips.ts';
import type { EgressServiceTables } from './egress-services.ts';
import type { NamespaceTables } from './namespaces.ts';
import type { NetworkTables } from './networks.ts';
import type { NodeTables } from './nodes.ts';
import type { InterfaceKey, PodKey, PodTables } from './pods.ts';
import type { ModelProblem } from './problems.ts';
import type { ZoneBasis } from './zone-basis.ts';

/** Which policy a namespace is under. */
interface RoutedNamespace {
  readonly namespace: string;
  readonly policy: string;
  /** Later ones that select it, too. */
  readonly others: readonly string[];
}

/** Next hops of a policy, static ones and those that its pods are. */
interface PolicyHops {
  readonly policy: string;
  readonly hops: readonly NextHop[];
  /** More than there may be. */
  readonly left: number;
}

interface PodRoute extends NextHop {
  /** Address of the pod, without prefix length. */
  readonly source: string;
}

/** An interface of a pod of this node, by which it leaves through next hops. */
export interface RoutedPod {
  readonly network: NetworkName;
  readonly policy: string;
  readonly namespace: string;
  /** Addresses that leave by an EgressIP instead. */
  readonly outranked: readonly string[];
  /** None while no hop has the family of an address of it. */
  readonly routes: readonly PodRoute[];
}

export type ExternalRouteTables = ReturnType<typeof externalRouteTables>;

const comesBefore = (a: ExternalRoute, b: ExternalRoute): number =>
  a.created === b.created ? (a.name < b.name ? -1 : 1) : a.created < b.created ? -1 : 1;

export const externalRouteObject = (policy: string): string =>
  `AdminPolicyBasedExternalRoute ${policy}`;

export function externalRouteTables(
  known: ZoneBasis &
    NodeTables &
    NamespaceTables &
    NetworkTables &
    PodTables &
    AttachmentTables &
    EgressIpTables &
    EgressServiceTables &
    EgressClassTables,
) {
  const { graph, recorder, settings, namespaces, nodeName } = known;
  const externalRoutes = new FactTable<[policy: string], ExternalRoute>('externalRoutes', recorder);
  const gatewayPods = new FactTable<PodKey, GatewayPod, { namespace: [string] }>(
    'gatewayPods',
    recorder,
    { indexes: { namespace: ({ namespace }) => [namespace] } },
  );
  const routedNamespaces = new DerivedFacts<
    [namespace: string],
    RoutedNamespace,
    { contested: [policy: string] }
  >('routedNamespaces', graph, namespaces, policyOf, {
    object: (namespace) => `Namespace ${namespace}`,
    indexes: { contested: ({ others }) => others },
  });
  const policyHops = new DerivedFacts<[policy: string], PolicyHops, { incomplete: [] }>(
    'policyHops',
    graph,
    externalRoutes,
    hopsOf,
    {
      object: externalRouteObject,
      indexes: { incomplete: ({ hops, left }) => (hops.length === 0 || left > 0 ? [[]] : []) },
    },
  );
  const routedPods = new DerivedFacts<
    InterfaceKey,
    RoutedPod,
    {
      unit: [network: NetworkName, ...pod: InterfaceKey];
      network: [network: NetworkName];
      policy: [policy: string];
      unserved: [];
      outranked: [];
    },
    { sources: [network: NetworkName, Family] }
  >('routedPods', graph, known.attachments, routesOf, {
    object: (namespace, pod) => `Pod ${namespace}/${pod}`,
    indexes: {
      unit: ({ network }, pod) => [[network, ...pod]],
      network: ({ network }) => [network],
      policy: ({ policy }) => [policy],
      unserved: ({ routes, outranked }) =>
        routes.length === 0 && outranked.length === 0 ? [[]] : [],
      outranked: ({ outranked }) => (outranked.length > 0 ? [[]] : []),
    },
    sets: {
      sources: ({ network, routes }) =>
        routes.map(({ source }) => [[network, familyOf(source)], source]),
    },
  });
  /** Hops that are watched, as pods of this node leave by them. */
  const watchedHops = new DerivedFacts<
    [policy: string],
    { readonly policy: string; readonly addresses: readonly string[] },
    { hop: [address: string] }
  >('watchedHops', graph, routedPods.distinct('policy'), watchedOf, {
    object: externalRouteObject,
    indexes: { hop: ({ addresses }) => addresses },
  });

  /** Those of them that BFD does not reach. It comes from no object: a `FactSource` keeps it (src/zone/bfd-sessions.ts). */
  const deadHops = new FactTable<[address: string], { readonly hop: string }>('deadHops', recorder);

  function policyOf(namespace: string): RoutedNamespace | undefined {
    if (!settings.features.externalRoutes) return undefined;
    const labels = namespaces.part(namespace, 'labels');
    const [first, ...others] = externalRoutes
      .all()
      .filter(({ namespaceSelector }) => matchesSelector(namespaceSelector, labels))
      .sort(comesBefore)
      .map(({ name }) => name);
    return first === undefined ? undefined : { namespace, policy: first, others };
  }

  function hopsOf(policy: string): PolicyHops | undefined {
    const route = externalRoutes.get(policy);
    if (route === undefined) return undefined;
    if (route.pods.length > 0) known.requireOtherPods();
    const ofPods = route.pods.flatMap(podHops).sort((a, b) => (a.address < b.address ? -1 : 1));
    const byAddress = new Map<string, NextHop>();
    for (const hop of [...route.hops, ...ofPods]) {
      const isWatched = hop.isWatched || byAddress.get(hop.address)?.isWatched === true;
      byAddress.set(hop.address, { address: hop.address, isWatched });
    }
    const all = [...byAddress.values()];
    return {
      policy,
      hops: all.slice(0, MOST_HOPS),
      left: Math.max(0, all.length - MOST_HOPS),
    };
  }

  function podHops(selected: HopPods): readonly NextHop[] {
    const { podSelector, namespaceSelector, network, isWatched } = selected;
    return namespaces
      .all()
      .filter(({ labels }) => matchesSelector(namespaceSelector, labels))
      .flatMap(({ name }) => gatewayPods.by('namespace', name))
      .filter(({ labels }) => matchesSelector(podSelector, labels))
      .flatMap((pod) => (network === '' ? pod.hostAddresses : addressesOn(pod, network)))
      .map((address) => ({ address, isWatched }));
  }

  /** Multus names a network by its namespace and name, or a pod's own by the name alone. */
  const addressesOn = ({ namespace, networks }: GatewayPod, network: string): readonly string[] =>
    networks
      .filter((one) => one.network === network || one.network === `${namespace}/${network}`)
      .flatMap(({ addresses }) => addresses)
      .filter((address) => {
        const parsed = parseAddress(address);
        return parsed !== undefined && !isNoHop(parsed);
      });

  function routesOf(...key: InterfaceKey): RoutedPod | undefined {
    const [namespace] = key;
    const policy = routedNamespaces.get(namespace)?.policy;
    const attachment = policy === undefined ? undefined : known.attachments.get(...key);
    if (policy === undefined || attachment === undefined || !known.leavesBy(attachment))
      return undefined;
    // A pod that is a hop on its own node is no way out of it; nor is one of a family that the node's gateway has not.
    const own = (known.self.part(nodeName, 'hostAddresses') ?? []).map(withoutPrefix);
    const ways = known.self.part(nodeName, 'gateway')?.addresses;
    const hops = (policyHops.get(policy)?.hops ?? []).filter(
      ({ address }) =>
        !own.includes(address) &&
        ways?.some((way) => familyOf(way) === familyOf(address)) !== false,
    );
    // What has an EgressIP leaves with its address by the node that has it, in either gateway mode, or not at all.
    const byClass = known.egressClassPorts.get(...key)?.uses ?? [];
    const outranked = [
      ...[known.egressPorts, known.egressServicePorts].flatMap(
        (ports) => ports.get(...key)?.addresses ?? [],
      ),
      ...byClass.flatMap(({ addresses }) => addresses),
    ];
    return {
      network: attachment.network,
      policy,
      namespace,
      outranked,
      routes: attachment.addresses
        .map(withoutPrefix)
        .filter((source) => !outranked.includes(source))
        .flatMap((source) =>
          hops
            .filter(({ address }) => familyOf(address) === familyOf(source))
            .map((hop) => ({ source, ...hop })),
        ),
    };
  }

  /** Namespaces of which pods have an EgressIP. */
  function outrankedByPolicy(): ReadonlyMap<string, ReadonlySet<string>> {
    const found = new Map<string, Set<string>>();
    for (const key of routedPods.keysBy('outranked')) {
      const { policy = '', namespace = '' } = routedPods.peek(...key) ?? {};
      found.set(policy, (found.get(policy) ?? new Set()).add(namespace));
    }
    return found;
  }

  function watchedOf(policy: string) {
    const routes = routedPods.by('policy', policy).flatMap((pod) => pod.routes);
    const watched = routes.flatMap(({ address, isWatched }) => (isWatched ? [address] : []));
    return { policy, addresses: [...new Set(watched)].sort() };
  }

  return {
    externalRoutes,
    gatewayPods,
    routedNamespaces,
    policyHops,
    routedPods,
    watchedHops,
    deadHops,

    /** What policies do not do. */
    *externalRouteProblems(): Iterable<ModelProblem> {
      for (const [policy] of routedNamespaces.distinct('contested').keys()) {
        const lost = Map.groupBy(
          routedNamespaces.by('contested', policy),
          ({ policy: older }) => older,
        );
        for (const [older, found] of lost)
          yield {
            object: externalRouteObject(policy),
            message: `namespaces ${listed(found.map(({ namespace }) => namespace))} are already affected by another policy: ${older}, which is older; select each namespace by one policy`,
          };
      }
      for (const policy of policyHops.keysBy('incomplete')) {
        const { hops = [], left = 0 } = policyHops.peek(policy) ?? {};
        yield {
          object: externalRouteObject(policy),
          message:
            hops.length === 0
              ? 'it has no next hop: its pods leave as without it; name a static one, or let spec.nextHops.dynamic select pods that are ready, and on the network of their host or on networkAttachmentName by their annotation k8s.v1.cni.cncf.io/network-status'
              : `it has ${hops.length + left} next hops: ${left} of them are not used, as each costs a route for each pod; write or select at most ${MOST_HOPS}`,
        };
      }
      for (const [policy, namespaces] of outrankedByPolicy())
        yield {
          object: externalRouteObject(policy),
          message: `pods of namespaces ${listed(namespaces)} have an EgressIP, which comes first: they leave with its address by the node that has it, and by no next hop; select them by one of both`,
        };
      const unserved = new Set<string>();
      for (const key of routedPods.keysBy('unserved')) {
        const { policy = '', namespace = '' } = routedPods.peek(...key) ?? {};
        if ((policyHops.peek(policy)?.hops.length ?? 0) > 0)
          unserved.add(`${policy}\n${namespace}`);
      }
      for (const one of unserved) {
        const [policy = '', namespace = ''] = one.split('\n');
        yield {
          object: externalRouteObject(policy),
          message: `pods of namespace ${namespace} on node ${nodeName} have no next hop: each is of a family of which they or the gateway of the node have no address, or is the node itself; they leave as without the policy`,
        };
      }
    },
  };
}

/** So many are named. */
const MOST_NAMED = 5;
const listed = (namespaces: Iterable<string>): string => {
  const names = [...namespaces].sort();
  const named = names.slice(0, MOST_NAMED).join(', ');
  const more = names.length - MOST_NAMED;
  return more > 0 ? `${named} and ${more} more` : named;
};

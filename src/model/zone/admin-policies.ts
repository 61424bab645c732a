/** Policies of administrators, and the networks that each has rows on. */
import { matchesSelector } from '../../api/selectors.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { FactTable } from '../../facts/fact-table.ts';
import { union } from '../../facts/keys.ts';
import { FailedFact } from '../../facts/unreadable.ts';
import type { NetworkName } from '../model.ts';
import { adminPortQueries, type AdminPolicy } from '../read/admin-policies.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';
import type { FirewallTables } from './egress-firewalls.ts';
import type { NamespaceTables } from './namespaces.ts';
import {
  placedSelections,
  selectionsOf,
  type Placement,
  type PolicyTables,
  type SelectionKey,
} from './policies.ts';
import type { RenderedTables } from './rendered-networks.ts';
import type { ZoneBasis } from './zone-basis.ts';

export type AdminKey = [kind: string, name: string];

export type AdminTables = ReturnType<typeof adminTables>;

/** What is read, or what it was last if it can't be worked out now. */
function orLast<T>(read: () => T, last: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof FailedFact) return last();
    throw error;
  }
}

const namesOf = ({ rules }: AdminPolicy): readonly string[] => [
  ...new Set(rules.flatMap(({ names }) => names)),
];

export function adminTables(
  known: ZoneBasis & NamespaceTables & RenderedTables & PolicyTables & FirewallTables,
) {
  const { namespaces, namespaceNetworks, rendered } = known;
  const admins = new FactTable<AdminKey, AdminPolicy, { dnsName: [string]; named: [] }>(
    'admins',
    known.recorder,
    {
      indexes: {
        dnsName: namesOf,
        named: (policy) => (namesOf(policy).length > 0 ? [[]] : []),
      },
    },
  );
  const adminPlacements = new DerivedFacts<
    AdminKey,
    Placement<AdminPolicy>,
    {
      network: [NetworkName];
      unit: [network: NetworkName, ...policy: AdminKey];
      rule: [network: NetworkName, ...policy: AdminKey, direction: string, index: string];
      selection: SelectionKey;
      named: [];
    }
  >('adminPlacements', known.graph, admins, (...key) => place(...key), {
    object: (kind, name) => `${kind} ${name}`,
    indexes: {
      network: ({ networks }) => networks,
      unit: ({ policy: { kind, name }, networks }) =>
        networks.map((network) => [network, kind, name]),
      rule: ({ policy: { kind, name, rules }, networks }) =>
        networks.flatMap((network) =>
          rules.map(({ direction, index }): [NetworkName, string, string, string, string] => [
            network,
            kind,
            name,
            direction,
            String(index),
          ]),
        ),
      selection: placedSelections,
      named: ({ policy }) => (namesOf(policy).length > 0 ? [[]] : []),
    },
  });

  /** The default network, and the primary ones of the namespaces that the policy is about. */
  function place(...key: AdminKey): Placement<AdminPolicy> | undefined {
    const policy = admins.get(...key);
    if (policy === undefined) return undefined;
    const { namespaceSelector } = policy.subject;
    const primary = namespaces
      .all()
      .filter(({ labels }) => matchesSelector(namespaceSelector, labels))
      .flatMap(({ name }) => lastNetworks(name));
    const networks = new Set([DEFAULT_NETWORK, ...primary]);
    const ports = policy.rules.flatMap((rule) => adminPortQueries(policy, rule));
    return {
      policy,
      networks: [...networks].sort().filter(wasRendered),
      selections: selectionsOf(policy.rules, ports),
      ports,
    };
  }

  /**
   * Networks of a namespace, as they were last where they can't be worked out: a policy of all namespaces is not held up by one of them. Pods of
   * that one get no ports meanwhile.
   */
  const lastNetworks = (namespace: string): readonly NetworkName[] =>
    orLast(
      () => namespaceNetworks.get(namespace),
      () => namespaceNetworks.peek(namespace),
    )?.networks ?? [];

  const wasRendered = (network: NetworkName): boolean =>
    orLast(
      () => rendered.part(network, 'name'),
      () => rendered.peek(network)?.name,
    ) !== undefined;

  return {
    admins,
    adminPlacements,
    /** Names that rules mean by DNS: those of EgressFirewalls and of administrators. */
    ruleNames: union(known.firewalls.distinct('dnsName'), admins.distinct('dnsName')),
    /** Objects that have a name in rules. */
    objectsNaming: (name: string): readonly string[] => [
      ...known.firewalls
        .keysBy('dnsName', name)
        .map(([namespace, firewall]) => `EgressFirewall ${namespace}/${firewall}`),
      ...admins.keysBy('dnsName', name).map(([kind, policy]) => `${kind} ${policy}`),
    ],
    hasRuleNames: (): boolean =>
      known.firewalls.keysBy('named').length > 0 || admins.keysBy('named').length > 0,
  };
}

/** Egress firewalls, and the networks that each has rows on: those by which its pods may send something out. */
import type { Family } from '../../allocators/addresses.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { FactTable } from '../../facts/fact-table.ts';
import type { NetworkName } from '../model.ts';
import type { Firewall } from '../read/egress-firewalls.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';
import type { AttachmentTables } from './attachments.ts';
import type { GroupTables } from './namespace-groups.ts';
import type { NamespaceTables } from './namespaces.ts';
import type { PolicyTables } from './policies.ts';
import type { RenderedTables } from './rendered-networks.ts';
import type { ZoneBasis } from './zone-basis.ts';

export type FirewallKey = [namespace: string, name: string];

export interface FirewallPlacement {
  readonly namespace: string;
  readonly name: string;
  readonly networks: readonly NetworkName[];
  /** How many pods of the namespace are on this node at most, on any of the networks: a power of two, so that not each of them is a change. */
  readonly mostPods: number;
  /** Rules have names. */
  readonly hasNames: boolean;
}

/** What DNS says of a name. It comes from no object: a `FactSource` keeps it (src/node/dns/name-source.ts). */
export interface ResolvedName {
  /** In canonical form, sorted, at most `MOST_ADDRESSES`. A family that no answer was got for since the start is absent. */
  readonly addresses: { readonly [family in Family]?: readonly string[] };
  /** Why it is not known better, with what holds instead. */
  readonly problem?: string;
}

/** Of one name and family. */
export const MOST_ADDRESSES = 256;

const namesOf = ({ rules }: Firewall): readonly string[] => [
  ...new Set(rules.flatMap(({ destination }) => ('name' in destination ? destination.name : []))),
];

const powerOfTwo = (least: number): number =>
  least < 2 ? least : 2 ** Math.ceil(Math.log2(least));

export type FirewallTables = ReturnType<typeof firewallTables>;

export function firewallTables(
  known: ZoneBasis &
    NamespaceTables &
    AttachmentTables &
    RenderedTables &
    GroupTables &
    Pick<PolicyTables, 'namespaceNetworks'>,
) {
  const { graph, recorder, settings, rendered, namespaces } = known;
  const firewalls = new FactTable<
    FirewallKey,
    Firewall,
    { namespace: [string]; dnsName: [string]; named: [] }
  >('firewalls', recorder, {
    indexes: {
      namespace: ({ namespace }) => [namespace],
      dnsName: (firewall) => (settings.features.egressFirewall ? namesOf(firewall) : []),
      named: (firewall) => (namesOf(firewall).length > 0 ? [[]] : []),
    },
  });

  /** A namespace has a group there, which the rules are of. */
  const hasGroup = (network: NetworkName, namespace: string): boolean =>
    network === DEFAULT_NETWORK
      ? namespaces.part(namespace, 'name') !== undefined
      : known.groupedNamespaces.by('group', network, namespace).length > 0 ||
        known.gatewayGroups.get(network, namespace) !== undefined;

  function place(namespace: string, name: string): FirewallPlacement | undefined {
    const firewall = firewalls.get(namespace, name);
    if (!settings.features.egressFirewall || firewall === undefined) return undefined;
    const secondary = known.gatewayGroups.by('namespace', namespace).map((group) => group.network);
    const networks = [
      ...(known.namespaceNetworks.get(namespace)?.networks ?? []),
      ...secondary.sort(),
    ].filter(
      (network) => rendered.part(network, 'name') !== undefined && hasGroup(network, namespace),
    );
    const pods = networks.map(
      (network) => known.attachments.keysBy('group', network, namespace).length,
    );
    return {
      namespace,
      name,
      networks,
      mostPods: powerOfTwo(Math.max(0, ...pods)),
      hasNames: namesOf(firewall).length > 0,
    };
  }

  return {
    firewalls,
    /** Of the names in rules; nothing before they have been asked for. */
    resolvedNames: new FactTable<[name: string], ResolvedName>('resolvedNames', recorder),
    firewallPlacements: new DerivedFacts<
      FirewallKey,
      FirewallPlacement,
      { unit: [network: NetworkName, ...firewall: FirewallKey]; named: [] }
    >('firewallPlacements', graph, firewalls, place, {
      object: (namespace, name) => `EgressFirewall ${namespace}/${name}`,
      indexes: {
        unit: ({ namespace, name, networks }) =>
          networks.map((network) => [network, namespace, name]),
        named: ({ hasNames }) => (hasNames ? [[]] : []),
      },
    }),
  };
}

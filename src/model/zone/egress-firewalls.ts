/** Egress firewalls, and the networks that each has rows on: those that the default route of its pods leads into. */
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { FactTable } from '../../facts/fact-table.ts';
import type { NetworkName } from '../model.ts';
import type { Firewall } from '../read/egress-firewalls.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';
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
}

export type FirewallTables = ReturnType<typeof firewallTables>;

export function firewallTables(
  known: ZoneBasis &
    NamespaceTables &
    RenderedTables &
    GroupTables &
    Pick<PolicyTables, 'namespaceNetworks'>,
) {
  const { graph, recorder, settings, rendered, namespaces } = known;
  const firewalls = new FactTable<FirewallKey, Firewall, { namespace: [string] }>(
    'firewalls',
    recorder,
    { indexes: { namespace: ({ namespace }) => [namespace] } },
  );

  /** A namespace has a group there, which the rules are of. */
  const hasGroup = (network: NetworkName, namespace: string): boolean =>
    network === DEFAULT_NETWORK
      ? namespaces.part(namespace, 'name') !== undefined
      : known.groupedNamespaces.by('group', network, namespace).length > 0;

  function place(namespace: string, name: string): FirewallPlacement | undefined {
    if (!settings.features.egressFirewall || firewalls.get(namespace, name) === undefined)
      return undefined;
    const networks = known.namespaceNetworks.get(namespace)?.networks ?? [];
    return {
      namespace,
      name,
      networks: networks.filter(
        (network) => rendered.part(network, 'name') !== undefined && hasGroup(network, namespace),
      ),
    };
  }

  return {
    firewalls,
    firewallPlacements: new DerivedFacts<
      FirewallKey,
      FirewallPlacement,
      { unit: [network: NetworkName, ...firewall: FirewallKey] }
    >('firewallPlacements', graph, firewalls, place, {
      object: (namespace, name) => `EgressFirewall ${namespace}/${name}`,
      indexes: {
        unit: ({ namespace, name, networks }) =>
          networks.map((network) => [network, namespace, name]),
      },
    }),
  };
}

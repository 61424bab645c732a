/** Egress firewalls, and the networks that each has rows on: those that the default route of its pods leads into. */
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
}

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
    const networks = (known.namespaceNetworks.get(namespace)?.networks ?? []).filter(
      (network) => rendered.part(network, 'name') !== undefined && hasGroup(network, namespace),
    );
    const pods = networks.map(
      (network) => known.attachments.keysBy('group', network, namespace).length,
    );
    return { namespace, name, networks, mostPods: powerOfTwo(Math.max(0, ...pods)) };
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

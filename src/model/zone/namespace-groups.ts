/** Namespaces whose pods have a group of their own on a network. */
import { DerivedFacts } from '../../facts/derived-facts.ts';
import type { NetworkName } from '../model.ts';
import { DEFAULT_NAD_KEY, nadOfKey } from '../../api/nad/nad-key.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';
import type { AttachmentTables } from './attachments.ts';
import type { NamespaceTables } from './namespaces.ts';
import type { NetworkTables } from './networks.ts';
import type { RenderedTables } from './rendered-networks.ts';
import type { ZoneBasis } from './zone-basis.ts';

/** A namespace whose pods have a group of their own on a user-defined network. */
interface GroupedNamespace {
  readonly network: NetworkName;
  readonly namespace: string;
}

export type GroupTables = ReturnType<typeof groupTables>;

export function groupTables(
  known: ZoneBasis &
    NamespaceTables &
    Pick<NetworkTables, 'definitions'> &
    Pick<AttachmentTables, 'attachments'> &
    RenderedTables,
) {
  const { settings, namespaces, definitions, rendered } = known;
  const { egressFirewall, multicast } = settings.features;
  /** Rules per namespace exist for these features only. */
  const hasGroups = egressFirewall || multicast;

  /** Namespaces with a group on a rendered network. */
  const groupedNamespaces = new DerivedFacts<
    [nad: string],
    GroupedNamespace,
    { group: [network: string, namespace: string]; namespace: [string] }
  >('groupedNamespaces', known.graph, definitions, (nad) => groupOf(nad), {
    object: (nad) => `NetworkAttachmentDefinition ${nad}`,
    indexes: {
      group: ({ network, namespace }) => [[network, namespace]],
      namespace: ({ namespace }) => [namespace],
    },
  });

  /**
   * Namespaces with pods here on a secondary network that has a gateway, for their EgressFirewalls. By the pods: the NAD by which one is there may
   * be another namespace's.
   */
  const gatewayGroups = new DerivedFacts<
    [network: string, namespace: string],
    GroupedNamespace,
    { namespace: [string] }
  >(
    'gatewayGroups',
    known.graph,
    known.attachments.distinct('group'),
    (network, namespace) =>
      egressFirewall && rendered.part(network, 'isOptedIn') === true
        ? { network: network as NetworkName, namespace }
        : undefined,
    {
      object: (network, namespace) => `pods of namespace ${namespace} on network ${network}`,
      indexes: { namespace: ({ namespace }) => [namespace] },
    },
  );

  function groupOf(nad: string): GroupedNamespace | undefined {
    const network = definitions.part(nad, 'network');
    const namespace = definitions.part(nad, 'namespace');
    if (!hasGroups || network === undefined || namespace === undefined) return undefined;
    if (network === DEFAULT_NETWORK || rendered.part(network, 'role') !== 'primary')
      return undefined;
    return namespaces.part(namespace, 'isLabelled') === true
      ? { network: network as NetworkName, namespace }
      : undefined;
  }

  return {
    groupedNamespaces,
    gatewayGroups,

    /** True if the pods of a namespace have a group of their own where they are by this NAD: asked by its key, so that a port waits for the answer. */
    isGrouped(nad: string, namespace: string): boolean {
      if (!hasGroups) return false;
      if (nad === DEFAULT_NAD_KEY) return namespaces.part(namespace, 'name') !== undefined;
      if (groupedNamespaces.get(nad)?.namespace === namespace) return true;
      const network = definitions.part(nadOfKey(nad), 'network');
      return network !== undefined && gatewayGroups.get(network, namespace) !== undefined;
    },
  };
}

/** Who of the default network reaches services of which primary networks (decisions/default-network-access.md). */
import { familyOf, withoutPrefix, type Family } from '../../allocators/addresses.ts';
import {
  accessLabelProblem,
  DEFAULT_ACCESS_LABEL,
  letsDefaultIn,
} from '../../api/annotations/network-annotations.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { ONE } from '../../facts/keys.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';
import type { AttachmentTables } from './attachments.ts';
import type { NamespaceTables } from './namespaces.ts';
import type { NetworkTables } from './networks.ts';
import type { InterfaceKey } from './pods.ts';
import type { ModelProblem } from './problems.ts';
import type { ZoneBasis } from './zone-basis.ts';

/** A pod of this node, in a namespace that an administrator named, by its interface on the default network. */
interface AccessPod {
  /** Without prefix length. */
  readonly addresses: readonly string[];
}

export type DefaultAccessTables = ReturnType<typeof defaultAccessTables>;

export function defaultAccessTables(
  known: ZoneBasis & NamespaceTables & NetworkTables & AttachmentTables,
) {
  const { settings, graph, definitions, registrations, networks, attachments } = known;
  const namespaces = new Set(settings.defaultAccess);
  const isOn = namespaces.size > 0;

  /** Primary networks all of whose NADs let the default network in. */
  const accessNetworks = new DerivedFacts<[network: string], { readonly network: string }>(
    'accessNetworks',
    graph,
    networks,
    (network) => {
      const nads = isOn ? (registrations.part(network, 'nads') ?? []) : [];
      const isOpen = nads.every((nad) => letsDefaultIn(definitions.part(nad, 'labels')));
      return nads.length > 0 && isOpen && networks.part(network, 'role') === 'primary'
        ? { network }
        : undefined;
    },
    { object: (network) => `network ${network}` },
  );
  /** Pods of namespaces with a primary network of their own have no part in the default one but probes. */
  const accessPods = new DerivedFacts<
    InterfaceKey,
    AccessPod,
    { here: [] },
    { address: [family: Family] }
  >(
    'accessPods',
    graph,
    attachments,
    (...key) => {
      const [namespace] = key;
      if (!namespaces.has(namespace)) return undefined;
      const { network, role, addresses } = attachments.get(...key) ?? {};
      if (network !== DEFAULT_NETWORK || role !== 'primary' || addresses === undefined)
        return undefined;
      return { addresses: addresses.map(withoutPrefix) };
    },
    {
      object: (namespace, pod) => `Pod ${namespace}/${pod}`,
      indexes: { here: () => [[]] },
      sets: {
        address: ({ addresses }) => addresses.map((address) => [[familyOf(address)], address]),
      },
    },
  );
  /** There while such a pod is on this node: every network that lets it in is in use here then. */
  const accessFromHere = new DerivedFacts<[], { readonly isNeeded: true }>(
    'accessFromHere',
    graph,
    ONE,
    () => (accessPods.keysBy('here').length > 0 ? { isNeeded: true } : undefined),
    { object: () => 'access from the default network' },
  );
  const accessUses = new DerivedFacts<[network: string], { readonly network: string }>(
    'accessUses',
    graph,
    accessNetworks,
    (network) =>
      accessNetworks.get(network) !== undefined && accessFromHere.get() !== undefined
        ? { network }
        : undefined,
    { object: (network) => `network ${network}` },
  );

  /** What is wrong with how a NAD asks for it. */
  function problemOf(
    labels: Readonly<Record<string, string>>,
    network: string,
  ): string | undefined {
    const wrong = accessLabelProblem(labels, networks.peek(network)?.role ?? 'primary');
    if (wrong !== undefined || !letsDefaultIn(labels)) return wrong;
    const label = `label ${DEFAULT_ACCESS_LABEL}`;
    if (!isOn)
      return `${label}: no namespace is named to come from the default network (--default-network-access): none reaches the network's services; an administrator sets it, or remove the label`;
    const other = (registrations.peek(network)?.nads ?? []).find(
      (nad) => !letsDefaultIn(definitions.peek(nad)?.labels),
    );
    return other === undefined
      ? undefined
      : `${label}: NetworkAttachmentDefinition ${other} of the same network does not have it: the default network reaches no service of the network until all of them have`;
  }

  return {
    accessNetworks,
    accessPods,
    accessUses,

    *accessProblems(): Iterable<ModelProblem> {
      for (const nad of definitions.keysBy('open')) {
        const { labels = {}, network = '' } = definitions.peek(nad) ?? {};
        const message = problemOf(labels, network);
        if (message !== undefined) yield { object: `NetworkAttachmentDefinition ${nad}`, message };
      }
      for (const namespace of namespaces)
        if (known.namespaces.peek(namespace)?.isLabelled === true)
          yield {
            object: `Namespace ${namespace}`,
            message: `--default-network-access names it, and its pods have a primary network of their own: they reach no services of others by the default network; take it out of the setting`,
          };
    },
  };
}

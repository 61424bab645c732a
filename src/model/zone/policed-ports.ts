/** Policies that ports of this node are under. */
import { matchesSelector } from '../../api/selectors.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { Unreadable } from '../../facts/unreadable.ts';
import type { NetworkName } from '../model.ts';
import type { AdminPolicy } from '../read/admin-policies.ts';
import type { PolicyDirection } from '../read/policies.ts';
import type { AdminTables } from './admin-policies.ts';
import type { AttachmentTables } from './attachments.ts';
import type { FirewallTables } from './egress-firewalls.ts';
import type { ExternalRouteTables } from './external-routes.ts';
import type { NamespaceTables } from './namespaces.ts';
import type { InterfaceKey, PodTables } from './pods.ts';
import type { PolicyTables } from './policies.ts';
import type { RenderedTables } from './rendered-networks.ts';
import type { ZoneBasis } from './zone-basis.ts';

export interface PolicedPort {
  readonly admins: readonly Pick<AdminPolicy, 'kind' | 'name'>[];
  readonly policies: readonly { readonly namespace: string; readonly name: string }[];
  readonly directions: readonly PolicyDirection[];
}

export function policedPortTables(
  known: ZoneBasis &
    NamespaceTables &
    PodTables &
    AttachmentTables &
    RenderedTables &
    PolicyTables &
    FirewallTables &
    ExternalRouteTables &
    AdminTables,
) {
  /** A pod's interface on the default network beside a primary one is closed anyway. */
  function policiesOf(...key: InterfaceKey): PolicedPort | undefined {
    const attachment = known.attachments.get(...key);
    if (attachment === undefined || attachment.role === 'infrastructure-locked') return undefined;
    const { namespace, pod, network } = attachment;
    if (known.namespaces.part(namespace, 'ending') === 'unseen')
      throw new Unreadable(
        `namespace ${namespace} was being deleted when this daemon began: which policies its pods are under is not known, and what they have stays until they are gone`,
      );
    const labels = known.pods.part([namespace, pod], 'labels');
    // By their keys: while it is not known on which networks a policy is, no port of its pods is made.
    const found = known.policies
      .by('namespace', namespace)
      .filter(
        ({ podSelector, name, kind }) =>
          matchesSelector(podSelector, labels) &&
          known.placements.get(namespace, name, kind)?.networks.includes(network) === true,
      );
    // Likewise while it is not known on which networks their firewall is in force.
    for (const { name } of known.firewalls.by('namespace', namespace))
      known.firewallPlacements.get(namespace, name);
    // Or by which hops the pod leaves.
    known.routedPods.get(...key);
    const admins = attachment.role === 'primary' ? adminsOf(network, namespace, labels) : [];
    if (found.length === 0 && admins.length === 0) return undefined;
    return {
      admins,
      policies: found.map(({ name }) => ({ namespace, name })),
      directions: (['Ingress', 'Egress'] as const).filter((direction) =>
        found.some(({ directions }) => directions.includes(direction)),
      ),
    };
  }

  function adminsOf(
    network: NetworkName,
    namespace: string,
    labels: Readonly<Record<string, string>> | undefined,
  ): PolicedPort['admins'] {
    const spaceLabels = known.namespaces.part(namespace, 'labels');
    return known.admins
      .all()
      .filter(
        ({ subject, kind, name }) =>
          matchesSelector(subject.namespaceSelector, spaceLabels) &&
          matchesSelector(subject.podSelector, labels) &&
          isPlaced(kind, name, network),
      )
      .map(({ kind, name }) => ({ kind, name }));
  }

  /** A policy that selects a pod of a network is on that network: until it is, the pod is not told from those that it is not about. */
  function isPlaced(kind: string, name: string, network: NetworkName): boolean {
    if (known.adminPlacements.get(kind, name)?.networks.includes(network) === true) return true;
    if (known.rendered.part(network, 'name') === undefined) return false;
    throw new Unreadable(`${kind} ${name} is not yet on network ${network}`);
  }

  return {
    policedPorts: new DerivedFacts('policedPorts', known.graph, known.attachments, policiesOf, {
      object: (namespace, pod) => `Pod ${namespace}/${pod}`,
    }),
  };
}

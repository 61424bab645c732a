/** Every kind whose objects a zone follows. A kind comes with its declaration, and a line here. */
import type { KubeObject } from '../../api/objects.ts';
import { egressFirewallKind } from './egress-firewalls.ts';
import { egressIpKind } from './egress-ips.ts';
import { egressServiceKind } from './egress-services.ts';
import { egressTrafficClassKind } from './egress-traffic-classes.ts';
import { externalRouteKind } from './external-routes.ts';
import { egressQosKind, networkQosKind } from './qos.ts';
import { endpointSliceKind } from './endpoint-slices.ts';
import { podKind } from './attachments.ts';
import {
  adminNetworkPolicyKind,
  baselineAdminNetworkPolicyKind,
  clusterNetworkPolicyKind,
} from './closed-admin-policies.ts';
import { connectKind } from './connects.ts';
import { namespaceKind } from './namespaces.ts';
import { definitionKind } from './networks.ts';
import { nodeKind } from './nodes.ts';
import type { ObjectKind } from './object-kind.ts';
import { multiNetworkPolicyKind, networkPolicyKind } from './policies.ts';
import { serviceKind } from './services.ts';

const declarations = [
  namespaceKind,
  nodeKind,
  definitionKind,
  connectKind,
  serviceKind,
  networkPolicyKind,
  multiNetworkPolicyKind,
  egressFirewallKind,
  egressIpKind,
  egressTrafficClassKind,
  egressServiceKind,
  externalRouteKind,
  egressQosKind,
  networkQosKind,
  endpointSliceKind,
  adminNetworkPolicyKind,
  baselineAdminNetworkPolicyKind,
  clusterNetworkPolicyKind,
  podKind,
] as const;

type Declaration = (typeof declarations)[number];
type Part = Declaration | Extract<Declaration, { readonly also: object }>['also'][number];

/** What is read of objects, by the table that it is for. */
export type ObjectFacts = {
  [P in Part as P['table']]: FactOf<ReturnType<P['read']>>;
};
type FactOf<R> =
  Exclude<R, undefined> extends infer F
    ? F extends { readonly kind: 'value'; readonly value: infer V }
      ? V
      : F extends { readonly kind: 'problem' | 'pending' }
        ? never
        : F
    : never;

type ObjectTableName = keyof ObjectFacts;
type DeclaredKind = ObjectKind<KubeObject, unknown, ObjectTableName>;

export const objectKinds: readonly DeclaredKind[] = declarations;

const byName: ReadonlyMap<string, DeclaredKind> = new Map(
  objectKinds.map((declared) => [declared.kind.kind, declared]),
);

/** Undefined for a kind that no zone follows. */
export const objectKindOf = (kind: string): DeclaredKind | undefined => byName.get(kind);

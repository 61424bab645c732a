/** Next hops by which pods leave the cluster, as values: which namespaces, and where to (reference/topology.md §18.3). */
import { formatAddress, parseAddress, type Address } from '../../allocators/addresses.ts';
import { networkAddresses, type NetworkAddresses } from '../../api/annotations/network-status.ts';
import { externalRoutes } from '../../api/kinds.ts';
import { labelSelectorProblem } from '../../api/label-selector.ts';
import type { AdminPolicyBasedExternalRoute, LabelSelector, Pod } from '../../api/types.ts';
import { formatFieldError, type FieldError } from '../../api/validation/field-errors.ts';
import type { ObjectKind, ObjectPart } from './object-kind.ts';
import type { ObjectReading } from './reading.ts';

/** Whether a next hop is used only while BFD reaches it. */
interface Watched {
  readonly isWatched: boolean;
}

export interface NextHop extends Watched {
  /** In canonical form. */
  readonly address: string;
}

/** Pods that are next hops. */
export interface HopPods extends Watched {
  readonly podSelector: LabelSelector;
  readonly namespaceSelector: LabelSelector;
  /** Of their networks the one whose address it is; empty: they are on the network of their host. */
  readonly network: string;
}

/** A policy of administrators that says by which next hops pods leave. */
export interface ExternalRoute {
  readonly name: string;
  /** When the object was created; of two for one namespace the older one counts. */
  readonly created: string;
  readonly namespaceSelector: LabelSelector;
  readonly hops: readonly NextHop[];
  readonly pods: readonly HopPods[];
}

/** A pod of any node that may be a next hop: it is ready, and not about to go. */
export interface GatewayPod {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Of its host, for one that shares the host's network. */
  readonly hostAddresses: readonly string[];
  readonly networks: readonly NetworkAddresses[];
}

/** Next hops of one policy; each pod has a route by each of them. */
export const MOST_HOPS = 32;

const UNTIL_THEN =
  'until then what was read of it before stays in force, and where that is nothing its pods leave as without it';

/** Who nobody can send packets to by way of a link: nobody, the sender itself, many. */
export function isNoHop({ family, value }: Address): boolean {
  if (family === 'v6') return value <= 1n || value >> 120n === 0xffn;
  const first = value >> 24n;
  return first === 0n || first === 127n || first >= 224n;
}

type Spec = AdminPolicyBasedExternalRoute['spec'];

function specErrors({ from, nextHops }: Spec): readonly FieldError[] {
  const errors: FieldError[] = [];
  const checkSelector = (path: FieldError['path'], selector: LabelSelector): void => {
    const detail = labelSelectorProblem(selector);
    if (detail !== undefined) errors.push({ type: 'Invalid', path, value: selector, detail });
  };
  const { static: hops = [], dynamic = [] } = nextHops;
  checkSelector(['spec', 'from', 'namespaceSelector'], from.namespaceSelector);
  for (const [index, { ip }] of hops.entries()) {
    const path = ['spec', 'nextHops', 'static', index, 'ip'];
    const address = parseAddress(ip);
    if (address === undefined || isNoHop(address))
      errors.push({
        type: 'Invalid',
        path,
        value: ip,
        detail: 'must be the IPv4 or IPv6 address of one machine',
      });
  }
  if (hops.length > MOST_HOPS)
    errors.push({
      type: 'TooMany',
      path: ['spec', 'nextHops', 'static'],
      value: hops.length,
      detail: `must have at most ${MOST_HOPS} items`,
    });
  for (const [index, { podSelector, namespaceSelector }] of dynamic.entries()) {
    const path = ['spec', 'nextHops', 'dynamic', index];
    checkSelector([...path, 'podSelector'], podSelector);
    if (namespaceSelector === undefined)
      errors.push({
        type: 'Required',
        path: [...path, 'namespaceSelector'],
        detail: 'says in which namespaces the pods are: {} for all',
      });
    else checkSelector([...path, 'namespaceSelector'], namespaceSelector);
  }
  return errors;
}

export function readExternalRoute({
  metadata,
  spec,
}: AdminPolicyBasedExternalRoute): ObjectReading<ExternalRoute> {
  const [error, ...more] = specErrors(spec);
  if (error !== undefined) {
    const others = more.length === 0 ? '' : ` (and ${more.length} more)`;
    return {
      kind: 'problem',
      message: `${formatFieldError(error)}${others}; ${UNTIL_THEN}`,
    };
  }
  const { static: hops = [], dynamic = [] } = spec.nextHops;
  return {
    kind: 'value',
    value: {
      name: metadata.name,
      created: metadata.creationTimestamp ?? '',
      namespaceSelector: spec.from.namespaceSelector,
      hops: hops.flatMap(({ ip, bfdEnabled: isWatched = false }) => {
        const address = parseAddress(ip);
        return address === undefined ? [] : [{ address: formatAddress(address), isWatched }];
      }),
      pods: dynamic.map((hop) => ({
        podSelector: hop.podSelector,
        namespaceSelector: hop.namespaceSelector ?? {},
        network: hop.networkAttachmentName ?? '',
        isWatched: hop.bfdEnabled ?? false,
      })),
    },
  };
}

const isReady = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp === undefined &&
  status?.phase !== 'Succeeded' &&
  status?.phase !== 'Failed' &&
  // One without conditions has nobody who would tell them: it comes from a manifest.
  (status?.conditions ?? []).every(({ type, status: is }) => type !== 'Ready' || is === 'True');

function readGatewayPod(pod: Pod): GatewayPod | undefined {
  if (!isReady(pod)) return undefined;
  const { name, namespace = '', labels = {} } = pod.metadata;
  // One that can't be read is no hop; whose pods wait for it is told by their policy.
  const networks = networkAddresses(pod).value ?? [];
  const ips = pod.spec.hostNetwork === true ? (pod.status?.podIPs ?? []) : [];
  const hostAddresses = ips.flatMap(({ ip }) => {
    const address = parseAddress(ip);
    return address === undefined || isNoHop(address) ? [] : [formatAddress(address)];
  });
  if (hostAddresses.length === 0 && networks.length === 0) return undefined;
  return { namespace, name, labels, hostAddresses, networks };
}

/** What policies need to know of pods, of all nodes where one selects its hops by labels. */
export const gatewayPodPart = {
  table: 'gatewayPods',
  read: (pod, { settings }) => (settings.features.externalRoutes ? readGatewayPod(pod) : undefined),
} as const satisfies ObjectPart<Pod, GatewayPod>;

const OFF =
  'external routes are off (enable-multi-external-gateway): pods leave as without this object';

export const externalRouteKind = {
  kind: externalRoutes,
  table: 'externalRoutes',
  read(route, { settings }) {
    const reading = readExternalRoute(route);
    return settings.features.externalRoutes || reading.kind !== 'value'
      ? reading
      : { ...reading, warning: OFF };
  },
  onUnreadable: 'keep',
  needsOtherPods: ({ pods }) => pods.length > 0,
} as const satisfies ObjectKind<AdminPolicyBasedExternalRoute, ExternalRoute>;

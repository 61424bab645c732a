/** EndpointSlice objects → endpoints of services on networks. Pure. */
import { serviceOfSlice } from '../../api/annotations/endpoint-slice-annotations.ts';
import { isServedByOthers } from '../../api/annotations/proxy-labels.ts';
import { endpointSlices } from '../../api/kinds.ts';
import type { ServiceLimits } from '../model.ts';
import type { EndpointConditions, EndpointSlice, Protocol } from '../../api/types.ts';
import type { ObjectKind } from './object-kind.ts';
import { readSliceNames } from './endpoint-names.ts';
import { found } from './reading.ts';

export interface Endpoint {
  readonly addresses: readonly string[];
  /** Absent for an endpoint that is on no node. */
  readonly node?: string;
  /** `ready`: takes traffic; `ending`: takes it as long as nobody is ready; `unready`: takes none, unless the service wants it to. */
  readonly state: 'ready' | 'ending' | 'unready';
  /** Nodes whose clients it is for, and zones; absent without hints. */
  readonly forNodes?: readonly string[];
  readonly forZones?: readonly string[];
}

interface SlicePort {
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
}

/** Some of the endpoints that a service has on a network. */
export interface SliceFacts {
  readonly network: string;
  /** `<namespace>/<name>`. */
  readonly service: string;
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly Endpoint[];
  /** Texts in the order in which the slices were made. */
  readonly age: string;
}

/** What a slice holds; undefined for one of no service, of one that others serve, or of names instead of addresses. */
export function readSlice(slice: EndpointSlice): SliceFacts | undefined {
  const of = serviceOfSlice(slice);
  if (of === undefined || (slice.addressType !== 'IPv4' && slice.addressType !== 'IPv6'))
    return undefined;
  if (isServedByOthers(slice)) return undefined;
  return {
    ...of,
    age: `${slice.metadata.creationTimestamp ?? ''} ${slice.metadata.name}`,
    ports: (slice.ports ?? []).flatMap(({ name = '', protocol = 'TCP', port }) =>
      port === undefined ? [] : { name, protocol, port },
    ),
    endpoints: (slice.endpoints ?? []).map(({ addresses = [], nodeName, conditions, hints }) => {
      const forNodes = namesOf(hints?.forNodes);
      const forZones = namesOf(hints?.forZones);
      return {
        addresses,
        ...(nodeName === undefined ? {} : { node: nodeName }),
        state: stateOf(conditions),
        ...(forNodes.length === 0 ? {} : { forNodes }),
        ...(forZones.length === 0 ? {} : { forZones }),
      };
    }),
  };
}

const namesOf = (
  hints: readonly { readonly name?: string }[] | null | undefined,
): readonly string[] => (hints ?? []).flatMap(({ name }) => name ?? []);

/** Slices of a service that count, and how many are left out: the newest. What is read of them is bounded, too, whatever is in a slice. */
export function slicesWithin(
  slices: readonly SliceFacts[],
  { slices: most, targets }: Pick<ServiceLimits, 'slices' | 'targets'>,
): { readonly taken: readonly SliceFacts[]; readonly left: number } {
  // An endpoint of both families is in two slices.
  const mostEndpoints = 2 * targets;
  const endpoints = slices.reduce((sum, slice) => sum + slice.endpoints.length, 0);
  if (slices.length <= most && endpoints <= mostEndpoints) return { taken: slices, left: 0 };
  let sum = 0;
  const taken = slices
    .toSorted((a, b) => (a.age < b.age ? -1 : a.age > b.age ? 1 : 0))
    .filter((slice, index) => {
      sum += slice.endpoints.length;
      return index < most && sum <= mostEndpoints;
    });
  return { taken, left: slices.length - taken.length };
}

/** A condition that nobody states is as good as can be, as Kubernetes' API defines it. */
function stateOf({
  ready = true,
  serving = ready,
  terminating = false,
}: EndpointConditions = {}): Endpoint['state'] {
  if (ready) return 'ready';
  return serving && terminating ? 'ending' : 'unready';
}

export const endpointSliceKind = {
  kind: endpointSlices,
  table: 'endpointSlices',
  read: (slice) => found(readSlice(slice)),
  also: [{ table: 'sliceNames', read: (slice, { settings }) => readSliceNames(slice, settings) }],
  onUnreadable: 'keep',
} as const satisfies ObjectKind<EndpointSlice, SliceFacts>;

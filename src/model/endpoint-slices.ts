/** EndpointSlice objects → endpoints of services on networks. Pure. */
import { serviceOfSlice } from '../api/annotations/endpoint-slice-annotations.ts';
import { isServedByOthers } from '../api/annotations/proxy-labels.ts';
import type { EndpointConditions, EndpointSlice, Protocol } from '../api/types.ts';

export interface Endpoint {
  readonly addresses: readonly string[];
  /** Absent for an endpoint that is on no node. */
  readonly node?: string;
  /** `ready`: takes traffic; `ending`: takes it as long as nobody is ready; `unready`: takes none, unless the service wants it to. */
  readonly state: 'ready' | 'ending' | 'unready';
}

export interface SlicePort {
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
}

/** What a slice holds; undefined for one of no service, of one that others serve, or of names instead of addresses. */
export function readSlice(slice: EndpointSlice): SliceFacts | undefined {
  const of = serviceOfSlice(slice);
  if (of === undefined || (slice.addressType !== 'IPv4' && slice.addressType !== 'IPv6'))
    return undefined;
  if (isServedByOthers(slice)) return undefined;
  return {
    ...of,
    ports: (slice.ports ?? []).flatMap(({ name = '', protocol = 'TCP', port }) =>
      port === undefined ? [] : { name, protocol, port },
    ),
    endpoints: (slice.endpoints ?? []).map(({ addresses = [], nodeName, conditions }) => ({
      addresses,
      ...(nodeName === undefined ? {} : { node: nodeName }),
      state: stateOf(conditions),
    })),
  };
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

/** EndpointSlice objects → what endpoints of services are called in DNS (Kubernetes' specification of DNS, 1.1.0). Pure. */
import { serviceOfSlice } from '../../api/annotations/endpoint-slice-annotations.ts';
import type { EndpointSlice, Protocol } from '../../api/types.ts';
import { isDnsLabel } from '../../api/validation/metadata.ts';
import type { ClusterSettings } from '../model.ts';
import { DEFAULT_NETWORK } from './networks.ts';

interface NamedEndpoint {
  /** Its label before the service's name: the pod's host name, or its address with dashes. */
  readonly label: string;
  readonly address: string;
}

/** Some of the endpoints that names of a service on a network lead to. */
export interface SliceNames {
  readonly network: string;
  /** `<namespace>/<name>`. */
  readonly service: string;
  readonly ports: readonly {
    readonly name: string;
    readonly protocol: Protocol;
    readonly port: number;
  }[];
  /** Ready ones. None of the default network: there the cluster's DNS knows them. */
  readonly endpoints: readonly NamedEndpoint[];
  /** Pods are behind the service, by its selector: on a primary network they have other addresses than the slice says. */
  readonly isOfPods: boolean;
}

const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
const SOURCE_CONTROLLER = 'endpointslice-controller.k8s.io';

/** What names say of a slice; undefined where nodes answer no names, and for a slice of no service. */
export function readSliceNames(
  slice: EndpointSlice,
  { networkNames }: Pick<ClusterSettings, 'networkNames'>,
): SliceNames | undefined {
  const of = networkNames ? serviceOfSlice(slice) : undefined;
  if (of === undefined || (slice.addressType !== 'IPv4' && slice.addressType !== 'IPv6'))
    return undefined;
  const isMirror = of.network !== DEFAULT_NETWORK;
  if (!isMirror)
    return {
      ...of,
      ports: [],
      endpoints: [],
      isOfPods: slice.metadata.labels?.[MANAGED_BY] === SOURCE_CONTROLLER,
    };
  return {
    ...of,
    isOfPods: true,
    ports: (slice.ports ?? []).flatMap(({ name = '', protocol = 'TCP', port }) =>
      port === undefined ? [] : { name, protocol, port },
    ),
    endpoints: (slice.endpoints ?? []).flatMap(({ addresses = [], hostname = '', conditions }) =>
      conditions?.ready === false
        ? []
        : addresses.map((address) => ({ label: endpointLabel(hostname, address), address })),
    ),
  };
}

/** As CoreDNS has them: an IPv6 address that would end in a dash gets the 0 that it leaves out. */
function endpointLabel(hostname: string, address: string): string {
  const label = hostname.toLowerCase();
  if (isDnsLabel(label)) return label;
  const dashed = address.replaceAll(/[.:]/g, '-');
  return dashed.endsWith('-') ? `${dashed}0` : dashed;
}

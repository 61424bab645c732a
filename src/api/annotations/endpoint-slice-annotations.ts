/** Labels and annotations by which EndpointSlices say whose endpoints they hold (reference/api.md §9). */
import { DEFAULT_NETWORK } from '../nad/network-name.ts';
import { objectKey, type KubeObject } from '../objects.ts';

/** Service of a slice with addresses on the cluster default network. */
export const SERVICE_NAME = 'kubernetes.io/service-name';
/** Service of a slice with addresses on a primary network, which is named by `SLICE_NETWORK`. */
export const MIRRORED_SERVICE_NAME = 'k8s.ovn.org/service-name';
export const SLICE_NETWORK = 'k8s.ovn.org/endpointslice-network';

/** A service on a network. */
export interface ServiceOnNetwork {
  readonly network: string;
  /** `<namespace>/<name>`. */
  readonly service: string;
}

/** For which service on which network a slice has endpoints; undefined for a slice of none. */
export function serviceOfSlice({
  metadata,
}: Pick<KubeObject, 'metadata'>): ServiceOnNetwork | undefined {
  const { namespace, labels = {}, annotations = {} } = metadata;
  const text = (from: Readonly<Record<string, string>>, key: string): string =>
    Object.hasOwn(from, key) ? (from[key] ?? '') : '';
  const mirrored = text(labels, MIRRORED_SERVICE_NAME);
  const network = text(annotations, SLICE_NETWORK);
  if (mirrored !== '' && network !== '')
    return { network, service: objectKey({ namespace, name: mirrored }) };
  const name = text(labels, SERVICE_NAME);
  return name === ''
    ? undefined
    : { network: DEFAULT_NETWORK, service: objectKey({ namespace, name }) };
}

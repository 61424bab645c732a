/** The annotation in which a pod's networks are shown to people and programs (Kubernetes network plumbing working group). */
import type { Pod } from '../types.ts';
import {
  asAddress,
  asList,
  asObject,
  asText,
  parseJson,
  readAnnotation,
  type Reading,
} from './annotations.ts';

export const NETWORK_STATUS = 'k8s.v1.cni.cncf.io/network-status';

/** A pod's addresses on one of its networks. */
export interface NetworkAddresses {
  readonly network: string;
  /** In canonical form, without prefix length. */
  readonly addresses: readonly string[];
}

const REMEDY = 'Multus or the CNI plugin writes it: make the pod anew';

export const networkAddresses = (pod: Pod): Reading<readonly NetworkAddresses[]> =>
  readAnnotation(pod, NETWORK_STATUS, REMEDY, (text) =>
    asList(parseJson(text)).map((entry) => {
      const { name, ips } = asObject(entry);
      return {
        network: asText(name),
        addresses: (ips === undefined ? [] : asList(ips)).map(asAddress),
      };
    }),
  );

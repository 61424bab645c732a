/** What a CNI plugin answers about a pod's interfaces (node.md §6.3). */
import type { PodRoute } from '../api/annotations/pod-annotations.ts';

/** One interface of a pod and its other end, which is plugged into br-int of the pod's node. */
export interface CniInterface {
  /** `eth0`, `ovn-udn1`, `net1` … */
  readonly device: string;
  readonly hostDevice: string;
  readonly mac: string;
  readonly mtu: number;
  /** With prefix length. */
  readonly addresses: readonly string[];
  readonly gateways: readonly string[];
  readonly routes: readonly PodRoute[];
  /** Of the port on br-int, by which ovn-controller finds the logical switch port. */
  readonly externalIds: Readonly<Record<string, string>>;
  /** `default` or `<namespace>/<nad>`. */
  readonly nadKey: string;
}

/** A pod that can't be given its interfaces; the message names the pod and the field. */
export class CniError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CniError';
  }
}

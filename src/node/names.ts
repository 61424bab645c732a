/** Names of devices on the host (reference/node.md §1.3). */
import type { Network } from '../model/model.ts';

/** A device's name has at most 15 characters (linux/if.h, IFNAMSIZ). */
const LONGEST_NAME = 15;

/** The bridge of ovn-controller. */
export const INTEGRATION_BRIDGE = 'br-int';

/** The userspace datapath of Open vSwitch, as its commands call it: one for all bridges of that type (ovs-dpctl(8)). */
export const USERSPACE_DATAPATH = 'netdev@ovs-netdev';

/** The host's device on a network. Ids have at most four digits: it always fits. */
export const managementDevice = (networkId: number): string => `ovn-k8s-mp${networkId}`;

/** Those of all networks, in the syntax of nft(8). */
export const MANAGEMENT_DEVICES = 'ovn-k8s-mp*';

/** True for the name of such a device of any network. */
export const isManagementDevice = (name: string): boolean => /^ovn-k8s-mp\d+$/.test(name);

/** Patch port that ovn-controller makes on the external bridge for a localnet port (reference/node.md §1.3). */
export const patchPort = (localnetPort: string): string =>
  `patch-${localnetPort}-to-${INTEGRATION_BRIDGE}`;

const CLUSTER_NETWORK = /^ClusterUserDefinedNetwork (.+)$/;
/** Names of other devices, of the kernel's settings for all, and what ip(8) reads as the number of a device. */
const RESERVED = /^(default|all|lo|br-.*|ovn-.*|ovs-.*|genev_sys_.*|mp\d+-udn-vrf|if\d+)$/;
const PLAIN = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;

/**
 * VRF of a network: the name of a ClusterUserDefinedNetwork, which people know, else one made of its id. A name that something else could
 * have, `bridge` among them, is not used: it would be refused, or take what is somebody else's.
 */
export function vrfName(
  { object, id }: Pick<Network, 'object' | 'id'>,
  bridge: string | undefined,
): string {
  const name = CLUSTER_NETWORK.exec(object)?.[1];
  const isUsable =
    name !== undefined &&
    name.length <= LONGEST_NAME &&
    name !== bridge &&
    PLAIN.test(name) &&
    !RESERVED.test(name);
  return isUsable ? name : `mp${id}-udn-vrf`;
}

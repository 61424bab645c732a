/**
 * The VLAN of the gateway on the external bridge (reference/node.md §4.1, VLAN): frames have its tag at the uplink, and at patch ports, where OVN wants
 * it (`tag_request`); at the host's port they have none. What has another tag is no business of networks. Without a VLAN nothing is looked at.
 */
import { output, POP_VLAN, pushVlan } from './flow-actions.ts';
import { hostInVlan, LOCAL, portInFlow, UPLINK } from './flow-rows.ts';

export interface BridgeVlan {
  /** What matches frames from the uplink and from networks. */
  readonly outside: readonly string[];
  readonly fromUplink: readonly string[];
  readonly fromHost: readonly string[];
  /** As `fromHost`, for flows that switch as the bridge does: its own port has to be in the VLAN. */
  readonly fromHostToAny: readonly string[];
  /** Actions for a frame from the uplink or from a network. */
  readonly toHost: readonly string[];
  /** What comes before an output to the host. */
  readonly pop: readonly string[];
  /** What comes before an output of a frame without a tag. */
  readonly push: readonly string[];
}

const UNTAGGED_MATCH = 'vlan_tci=0x0000/0x1fff';

/** `vlan`: 0 for none. */
export function bridgeVlan(vlan: number): BridgeVlan {
  const isTagged = vlan !== 0;
  const outside = isTagged ? [`dl_vlan=${vlan}`] : [];
  const untagged = isTagged ? [UNTAGGED_MATCH] : [];
  const pop = isTagged ? [POP_VLAN] : [];
  const host = isTagged ? portInFlow(hostInVlan(vlan)) : LOCAL;
  return {
    outside,
    fromUplink: [`in_port=${UPLINK}`, ...outside],
    fromHost: [`in_port=${LOCAL}`, ...untagged],
    fromHostToAny: [`in_port=${host}`, ...untagged],
    toHost: [...pop, output(LOCAL)],
    pop,
    push: isTagged ? pushVlan(vlan) : [],
  };
}

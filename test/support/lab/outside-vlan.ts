/** The outside host of a lab behind a switch port of a VLAN: what reaches it has the tag on the wire. */
import { outputInside } from '../../../src/lab/exec.ts';
import { OUTSIDE } from '../../../src/lab/node-facts.ts';
import { nodeNames } from '../../../src/lab/paths.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';

const SWITCH = 'lan';
const TRUNK = 'trunk';
const PORT = 'p-ext';

/** The switch is a bridge of Open vSwitch beside the last node's own: a trunk to the cable of all nodes, and the host at a port of the VLAN. */
export async function outsideInVlan(lab: LabRecord, vlan: number): Promise<void> {
  const run = (line: string): Promise<string> => outputInside(lab, line.split(' '));
  const node = nodeNames(lab.nodes).at(-1) ?? '';
  await run('ip link delete u-ext');
  await run(`ip link add u-lan type veth peer name ${TRUNK} netns ${node}`);
  await run('ip link set u-lan master underlay up');
  await run(`ip link add eth0 netns ext type veth peer name ${PORT} netns ${node}`);
  await run('ip netns exec ext ethtool -K eth0 tx off');
  await run(`ip -n ext address add ${OUTSIDE.v4}/24 dev eth0`);
  await run(`ip -n ext address add ${OUTSIDE.v6}/64 dev eth0 nodad`);
  await run('ip -n ext link set eth0 up');
  // They are the switch's: the node's own stack is not to answer there.
  for (const port of [TRUNK, PORT]) await run(`ip -n ${node} link set ${port} arp off up`);
  await run(
    `on ${node} ovs-vsctl add-br ${SWITCH} -- set bridge ${SWITCH} datapath_type=${lab.datapath} fail-mode=standalone -- add-port ${SWITCH} ${TRUNK} -- add-port ${SWITCH} ${PORT} tag=${vlan}`,
  );
}

/** Moves the outside host to another VLAN. */
export const moveOutside = (lab: LabRecord, vlan: number): Promise<string> =>
  outputInside(lab, [
    'on',
    nodeNames(lab.nodes).at(-1) ?? '',
    'ovs-vsctl',
    'set',
    'Port',
    PORT,
    `tag=${vlan}`,
  ]);

/** Flows of the external bridge. */
import {
  addFlow,
  BLUE,
  BOTH,
  deleteFlow,
  GREEN,
  hex,
  portOf,
  type FaultNumbers,
  type PlantedFault,
} from './fault.ts';

const PATCH_BLUE = portOf('patch-breth0_blue_l3_n1-to-br-int');
const PATCH_GREEN = portOf('patch-breth0_green_l3_n1-to-br-int');

export const externalBridge = ({ blue, green }: FaultNumbers): readonly PlantedFault[] => [
  {
    name: "a flow that gives a network's connections another mark",
    plant: addFlow(
      'breth0',
      `priority=3000,ip,in_port=${PATCH_BLUE},nw_src=${blue.gateway},actions=ct(commit,table=8,zone=64000,nat(src=172.18.0.11),exec(set_field:${green.connectionMark}->ct_mark))`,
    ),
    undo: deleteFlow('breth0', `priority=3000,ip,in_port=${PATCH_BLUE},nw_src=${blue.gateway}`),
    check: 'external bridge',
    concerns: BOTH,
    where: /priority 3000/,
  },
  {
    name: 'a flow from one network to another one',
    plant: addFlow('breth0', `priority=3001,in_port=${PATCH_BLUE},actions=output:${PATCH_GREEN}`),
    undo: deleteFlow('breth0', `priority=3001,in_port=${PATCH_BLUE}`),
    check: 'external bridge',
    concerns: BOTH,
    where: /priority 3001/,
  },
  {
    name: 'answers to one network that are led to another one',
    plant: addFlow(
      'breth0',
      `table=1,priority=3002,ct_state=+est+trk,ct_mark=${blue.connectionMark},ip,actions=output:${PATCH_GREEN}`,
    ),
    undo: deleteFlow(
      'breth0',
      `table=1,priority=3002,ct_state=+est+trk,ct_mark=${blue.connectionMark},ip`,
    ),
    check: 'external bridge',
    concerns: BOTH,
    where: /priority 3002/,
  },
  {
    name: 'a port of the node that leads into a network without a service',
    plant: addFlow(
      'breth0',
      `table=1,priority=3003,tcp,in_port=1,nw_dst=172.18.0.11,tp_dst=2222,actions=output:${PATCH_GREEN}`,
    ),
    undo: deleteFlow(
      'breth0',
      'table=1,priority=3003,tcp,in_port=1,nw_dst=172.18.0.11,tp_dst=2222',
    ),
    check: 'external bridge',
    concerns: GREEN,
    where: /priority 3003/,
  },
  {
    name: "a service's port of the node that leads into another network",
    plant: addFlow(
      'breth0',
      `table=1,priority=3004,tcp,in_port=1,nw_dst=172.18.0.11,tp_dst=30080,actions=output:${PATCH_GREEN}`,
    ),
    undo: deleteFlow(
      'breth0',
      'table=1,priority=3004,tcp,in_port=1,nw_dst=172.18.0.11,tp_dst=30080',
    ),
    check: 'external bridge',
    concerns: [GREEN[1], 'shop_net'],
    where: /priority 3004/,
  },
  {
    name: 'a network that sends with any address',
    plant: addFlow('breth0', `priority=3005,ip,in_port=${PATCH_BLUE},actions=output:1`),
    undo: deleteFlow('breth0', `priority=3005,ip,in_port=${PATCH_BLUE}`),
    check: 'external bridge',
    concerns: BLUE,
    where: /priority 3005/,
  },
  {
    name: 'a network of which not everything else is dropped',
    plant: deleteFlow('breth0', `priority=60,in_port=${PATCH_BLUE}`),
    undo: addFlow(
      'breth0',
      `cookie=0x478f88ee0deff105,priority=60,in_port=${PATCH_BLUE},actions=drop`,
    ),
    check: 'external bridge',
    concerns: BLUE,
    where: /flows of breth0/,
  },
  {
    name: 'a bridge that switches everything before it asks whose it is',
    plant: addFlow('breth0', 'priority=3006,icmp,actions=NORMAL'),
    undo: deleteFlow('breth0', 'priority=3006,icmp'),
    check: 'external bridge',
    concerns: ['no object'],
    where: /priority 3006/,
  },
  {
    name: "what is marked for a network in another network's port",
    plant: addFlow(
      'breth0',
      `table=2,priority=3007,pkt_mark=${hex(blue.packetMark)},ip,actions=output:${PATCH_GREEN}`,
    ),
    undo: deleteFlow('breth0', `table=2,priority=3007,pkt_mark=${hex(blue.packetMark)},ip`),
    check: 'external bridge',
    concerns: BOTH,
    where: /priority 3007/,
  },
];

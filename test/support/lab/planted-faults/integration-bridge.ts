/** Flows of br-int, and interfaces on it. */
import {
  addFlow,
  BOTH,
  deleteFlow,
  POD,
  portOf,
  sb,
  type FaultNumbers,
  type PlantedFault,
} from './fault.ts';

const OTHER_POD = 'purple.l2_purple_a';
const keyOf = (name: string): string =>
  sb('tunnel_key', 'Datapath_Binding', `external_ids:name=${name}`);
const interfaceOf = (logical: string): string =>
  `$(ovs-vsctl --bare --columns=name find Interface external_ids:iface-id=${logical})`;

export const integrationBridge = ({ blue, green }: FaultNumbers): readonly PlantedFault[] => [
  {
    name: 'a flow that changes the datapath',
    plant: addFlow(
      'br-int',
      `table=10,priority=5000,metadata=${keyOf('blue_l3_n1')},actions=load:${keyOf('green_l3_n1')}->OXM_OF_METADATA[],resubmit(,11)`,
    ),
    undo: deleteFlow('br-int', `table=10,priority=5000,metadata=${keyOf('blue_l3_n1')}`),
    check: 'integration bridge',
    concerns: BOTH,
    where: /priority 5000/,
  },
  {
    name: "a flow that lets out by another network's port",
    plant: addFlow(
      'br-int',
      `table=10,priority=5001,metadata=${keyOf('blue_l3_n1')},actions=output:${portOf(interfaceOf('green.l3_green_a'))}`,
    ),
    undo: deleteFlow('br-int', `table=10,priority=5001,metadata=${keyOf('blue_l3_n1')}`),
    check: 'integration bridge',
    concerns: BOTH,
    where: /priority 5001/,
  },
  {
    name: "a flow that takes what a pod sends for another network's",
    plant: addFlow(
      'br-int',
      `table=0,priority=5002,in_port=${portOf(interfaceOf(POD))},actions=load:${keyOf('green_l3_n1')}->OXM_OF_METADATA[],load:1->NXM_NX_REG14[],resubmit(,8)`,
    ),
    undo: deleteFlow('br-int', `table=0,priority=5002,in_port=${portOf(interfaceOf(POD))}`),
    check: 'integration bridge',
    concerns: BOTH,
    where: /priority 5002/,
  },
  {
    name: 'a flow that sends into tunnels as another network',
    plant: addFlow(
      'br-int',
      `table=42,priority=5003,metadata=${blue.key},actions=load:${green.key}->NXM_NX_TUN_ID[],output:1`,
    ),
    undo: deleteFlow('br-int', `table=42,priority=5003,metadata=${blue.key}`),
    check: 'integration bridge',
    concerns: BOTH,
    where: /priority 5003/,
  },
  {
    name: 'a flow that switches without asking any datapath',
    plant: addFlow('br-int', 'table=0,priority=5004,arp,actions=NORMAL'),
    undo: deleteFlow('br-int', 'table=0,priority=5004,arp'),
    check: 'integration bridge',
    concerns: ['no object'],
    where: /priority 5004/,
  },
  {
    name: "an interface that is bound to another network's port",
    plant: `i=${interfaceOf(OTHER_POD)}; ovs-vsctl set Interface $i external_ids:iface-id=green.l3_green_a external_ids:planted=yes`,
    undo: `i=$(ovs-vsctl --bare --columns=name find Interface external_ids:planted=yes); ovs-vsctl set Interface $i external_ids:iface-id=${OTHER_POD} -- remove Interface $i external_ids planted`,
    check: 'identities',
    concerns: ['Pod green/a'],
  },
];

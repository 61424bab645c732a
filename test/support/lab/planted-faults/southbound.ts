/** Rows of Southbound, which ovn-northd would make anew. */
import { BLUE, BOTH, POD, sb, type FaultNumbers, type PlantedFault } from './fault.ts';

export const southbound = ({ blue }: FaultNumbers): readonly PlantedFault[] => [
  {
    name: 'a binding on the datapath of another network',
    plant: `ovn-sbctl set Port_Binding ${POD} tunnel_key=77 datapath=${sb('_uuid', 'Datapath_Binding', 'external_ids:name=green_l3_n1')}`,
    undo: `ovn-sbctl set Port_Binding ${POD} tunnel_key=78 datapath=${sb('_uuid', 'Datapath_Binding', 'external_ids:name=blue_l3_n1')}`,
    check: 'southbound',
    concerns: ['Pod blue/a', ...BOTH],
  },
  {
    name: 'the tunnel key of a shared switch changed in Southbound',
    plant: `ovn-sbctl set Datapath_Binding ${sb('_uuid', 'Datapath_Binding', 'external_ids:name=blue_l3_transit_switch')} tunnel_key=16711999`,
    undo: `ovn-sbctl set Datapath_Binding ${sb('_uuid', 'Datapath_Binding', 'external_ids:name=blue_l3_transit_switch')} tunnel_key=${blue.key}`,
    check: 'identities',
    concerns: BLUE,
    where: /transit_switch/,
  },
  {
    name: 'a binding to the wrong chassis',
    plant: `ovn-sbctl set Port_Binding blue_l3_tstor-n2 chassis=${sb('_uuid', 'Chassis', 'hostname=n1')}`,
    undo: `ovn-sbctl set Port_Binding blue_l3_tstor-n2 chassis=${sb('_uuid', 'Chassis', 'hostname=n2')}`,
    check: 'southbound',
    concerns: BLUE,
    where: /tstor-n2/,
  },
  {
    name: 'a peer of another network',
    plant: 'ovn-sbctl set Port_Binding rtos-blue_l3_n1 options:peer=stor-green_l3_n1',
    undo: 'ovn-sbctl set Port_Binding rtos-blue_l3_n1 options:peer=stor-blue_l3_n1',
    check: 'southbound',
    concerns: BOTH,
    where: /rtos-blue_l3_n1/,
  },
  {
    name: 'tunnels to a node that end at a stranger',
    plant: `ovn-sbctl set Encap ${sb('_uuid', 'Encap', 'ip="172.18.0.12"')} ip='"172.18.0.77"'`,
    undo: `ovn-sbctl set Encap ${sb('_uuid', 'Encap', 'ip="172.18.0.77"')} ip='"172.18.0.12"'`,
    check: 'southbound',
    concerns: ['Node n2'],
  },
  {
    name: 'a chassis of no node',
    plant: 'ovn-sbctl chassis-add stranger geneve 172.18.0.66',
    undo: 'ovn-sbctl chassis-del stranger',
    check: 'southbound',
    concerns: ['no object'],
    where: /stranger/,
  },
];

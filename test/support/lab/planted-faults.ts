/** Faults that somebody may plant on a node by hand, each with what takes it away again, and whom a proof has to name. */

export interface PlantedFault {
  readonly name: string;
  /** A line for a shell on the node. */
  readonly plant: string;
  readonly undo: string;
  /** A check that finds it. */
  readonly check: string;
  /** An object that a finding names, or a network that it concerns. */
  readonly concerns: readonly string[];
  /** What the finding is about, where another fault of the group has the same check and object. */
  readonly where?: RegExp;
  readonly what?: RegExp;
}

/** Numbers that follow from the id of a network (reference/node.md §1, reference/topology.md §2). */
interface NetworkNumbers {
  readonly packetMark: number;
  readonly connectionMark: number;
  /** Its own addresses at the gateway router and at the host's port. */
  readonly gateway: string;
  readonly host: string;
  readonly table: number;
  /** Of the switch that nodes share. */
  readonly key: number;
  readonly port: string;
}

export const numbersOf = (id: number): NetworkNumbers => ({
  packetMark: 4096 + id,
  connectionMark: 3 + id,
  gateway: `169.254.0.${9 + 2 * id}`,
  host: `169.254.0.${10 + 2 * id}`,
  table: 10_000 + id,
  key: 16_711_683 + id,
  port: `ovn-k8s-mp${id}`,
});

/** Of the networks that faults are about: networks that come at once get their ids in no order. */
export interface FaultNumbers {
  readonly blue: NetworkNumbers;
  readonly green: NetworkNumbers;
}

/** Faults that do not disturb each other, planted together; taken away in the opposite order. */
export interface FaultGroup {
  readonly name: string;
  readonly faultsOf: (numbers: FaultNumbers) => readonly PlantedFault[];
  /** What must not write meanwhile: ovn-northd makes Southbound of Northbound anew. */
  readonly halts?: 'northd';
}

const BLUE = ['UserDefinedNetwork blue/l3', 'blue_l3'] as const;
const GREEN = ['UserDefinedNetwork green/l3', 'green_l3'] as const;
const BOTH = [BLUE[1], GREEN[1]] as const;
const [LR, GR] = ['blue_l3_ovn_cluster_router', 'GR_blue_l3_n1'];
const POD = 'blue.l3_blue_a';
const OTHER_POD = 'purple.l2_purple_a';
const uuid = (table: string, condition: string): string =>
  `$(ovn-nbctl --bare --columns=_uuid find ${table} ${condition})`;
const sb = (column: string, table: string, condition: string): string =>
  `$(ovn-sbctl --bare --columns=${column} find ${table} ${condition})`;
const GROUP = uuid('Port_Group', 'external_ids:k8s.ovn.org/name=SecondaryPods');
const deny = (direction: string): string =>
  uuid(
    'ACL',
    `external_ids:k8s.ovn.org/id="default-network-controller\\:UDNIsolation\\:DenyPrimaryUDN\\:${direction}"`,
  );
const ofFirewall = (rule: number): string =>
  uuid(
    'ACL',
    `external_ids:k8s.ovn.org/id="default-network-controller\\:EgressFirewall\\:blue\\:${rule}"`,
  );
const FIREWALL = ['EgressFirewall blue/default', BLUE[1]] as const;
const LB = uuid('Load_Balancer', 'name="shop_net_Service_shop/web_TCP_cluster"');
const keyOf = (name: string): string =>
  sb('tunnel_key', 'Datapath_Binding', `external_ids:name=${name}`);
const portOf = (interfaceName: string): string =>
  `$(ovs-vsctl get Interface ${interfaceName} ofport)`;
const interfaceOf = (logical: string): string =>
  `$(ovs-vsctl --bare --columns=name find Interface external_ids:iface-id=${logical})`;
const PATCH_BLUE = portOf('patch-breth0_blue_l3_n1-to-br-int');
const PATCH_GREEN = portOf('patch-breth0_green_l3_n1-to-br-int');
const addFlow = (bridge: string, flow: string): string =>
  `ovs-ofctl -O OpenFlow13 add-flow ${bridge} "${flow}"`;
const deleteFlow = (bridge: string, flow: string): string =>
  `ovs-ofctl -O OpenFlow13 --strict del-flows ${bridge} "${flow}"`;
const TABLE = 'inet ovn-kubernetes';
const hex = (mark: number, digits = 0): string => `0x${mark.toString(16).padStart(digits, '0')}`;

const northbound = ({ blue, green }: FaultNumbers): readonly PlantedFault[] => [
  {
    name: 'a pair of ports between the routers of two networks',
    plant: `ovn-nbctl lrp-add ${LR} leak-a 0a:00:00:00:00:01 192.168.77.1/30 peer=leak-b -- lrp-add green_l3_ovn_cluster_router leak-b 0a:00:00:00:00:02 192.168.77.2/30 peer=leak-a`,
    undo: 'ovn-nbctl lrp-del leak-a -- lrp-del leak-b',
    check: 'cut',
    concerns: BOTH,
    where: /leak-[ab]/,
  },
  {
    name: "a port of another network's router on the switch of pods",
    plant: `ovn-nbctl lrp-add green_l3_ovn_cluster_router leak-c 0a:00:00:00:00:03 10.20.0.250/24 -- lsp-add blue_l3_n1 leak-d -- lsp-set-type leak-d router -- lsp-set-options leak-d router-port=leak-c -- lsp-set-addresses leak-d router`,
    undo: 'ovn-nbctl lsp-del leak-d -- lrp-del leak-c',
    check: 'cut',
    concerns: BOTH,
    where: /leak-[cd]/,
  },
  {
    name: 'a port of a network on the router of a connection that does not want it',
    plant: `ovn-nbctl lrp-add ${LR} leak-e 0a:00:00:00:00:05 192.168.78.1/30 peer=leak-f -- lrp-add connect_router_yellow-purple leak-f 0a:00:00:00:00:06 192.168.78.2/30 peer=leak-e`,
    undo: 'ovn-nbctl lrp-del leak-e -- lrp-del leak-f',
    check: 'cut',
    concerns: BLUE,
    where: /leak-[ef]/,
  },
  {
    name: 'a port to a physical network on the switch of pods',
    plant:
      'ovn-nbctl lsp-add blue_l3_n1 leak-l -- lsp-set-type leak-l localnet -- lsp-set-options leak-l network_name=elsewhere -- lsp-set-addresses leak-l unknown',
    undo: 'ovn-nbctl lsp-del leak-l',
    check: 'cut',
    concerns: BLUE,
    where: /leak-l/,
  },
  {
    name: 'a physical network with another VLAN',
    plant: 'ovn-nbctl set Logical_Switch_Port breth0_blue_l3_n1 tag_request=7',
    undo: 'ovn-nbctl clear Logical_Switch_Port breth0_blue_l3_n1 tag_request tag',
    check: 'cut',
    concerns: BLUE,
    where: /breth0_blue_l3_n1/,
  },
  {
    name: 'a switch that a router of a network leads to, and that nobody asks for',
    plant: `ovn-nbctl ls-add nobodys -- lrp-add ${LR} leak-g 0a:00:00:00:00:07 192.168.79.1/24 -- lsp-add nobodys leak-h -- lsp-set-type leak-h router -- lsp-set-options leak-h router-port=leak-g -- lsp-set-addresses leak-h router`,
    undo: 'ovn-nbctl ls-del nobodys -- lrp-del leak-g',
    check: 'cut',
    concerns: BLUE,
    where: /leak-[gh]/,
  },
  {
    name: 'a route to the subnet of another network',
    plant: `ovn-nbctl lr-route-add ${LR} 10.80.0.0/16 100.65.0.2`,
    undo: `ovn-nbctl lr-route-del ${LR} 10.80.0.0/16`,
    check: 'routes',
    concerns: [...BLUE, 'shop_net'],
    where: /Static_Route 10\.80/,
  },
  {
    name: 'a policy towards the subnet of another network',
    plant: `ovn-nbctl lr-policy-add ${LR} 3000 "ip4.dst == 10.80.0.0/16" reroute 100.65.0.2`,
    undo: `ovn-nbctl lr-policy-del ${LR} 3000`,
    check: 'routes',
    concerns: [...BLUE, 'shop_net'],
    where: /Policy 3000/,
  },
  {
    name: 'a policy of a connected network that leads more into the connection than its pods send',
    plant: `for one in $(ovn-nbctl --bare --columns=policies list Logical_Router yellow_l3_ovn_cluster_router); do if [ "$(ovn-nbctl get Logical_Router_Policy $one priority)" = 9001 ]; then echo $one > /tmp/planted; ovn-nbctl get Logical_Router_Policy $one match > /tmp/planted-match; fi; done; ovn-nbctl set Logical_Router_Policy $(cat /tmp/planted) match='"ip4.dst == 10.0.0.0/8"'`,
    undo: 'ovn-nbctl set Logical_Router_Policy $(cat /tmp/planted) match="$(cat /tmp/planted-match)"',
    check: 'routes',
    concerns: ['UserDefinedNetwork yellow/l3', 'yellow_l3'],
  },
  {
    name: 'a policy that sets the mark of another network',
    plant: `ovn-nbctl lr-policy-add ${LR} 2500 "ip4.src == 10.20.0.0/16" allow pkt_mark=${green.packetMark}`,
    undo: `ovn-nbctl lr-policy-del ${LR} 2500`,
    check: 'routes',
    concerns: BOTH,
    where: /Policy 2500/,
  },
  {
    name: 'a route of a connection to a network that it does not connect',
    plant:
      'ovn-nbctl lr-route-add connect_router_yellow-purple 10.20.0.0/16 $(ovn-nbctl --bare --columns=nexthop list Logical_Router_Static_Route $(ovn-nbctl --bare --columns=static_routes list Logical_Router connect_router_yellow-purple | tr " " "\\n" | head -1))',
    undo: 'ovn-nbctl lr-route-del connect_router_yellow-purple 10.20.0.0/16',
    check: 'routes',
    concerns: ['ClusterNetworkConnect yellow-purple'],
  },
  {
    name: "translation to another network's address",
    plant: `ovn-nbctl set NAT ${uuid('NAT', `external_ip="${blue.gateway}" logical_ip="10.20.0.0/16"`)} external_ip='"${green.gateway}"'`,
    undo: `ovn-nbctl set NAT ${uuid('NAT', `external_ip="${green.gateway}" logical_ip="10.20.0.0/16" external_ids:k8s.ovn.org/network=blue_l3`)} external_ip='"${blue.gateway}"'`,
    check: 'translation',
    concerns: BOTH,
    where: new RegExp(`as ${green.gateway}`),
  },
  {
    name: 'translation from outside to a pod',
    plant: `ovn-nbctl lr-nat-add ${GR} dnat_and_snat 172.18.0.77 10.20.0.3`,
    undo: `ovn-nbctl lr-nat-del ${GR} dnat_and_snat 172.18.0.77`,
    check: 'translation',
    concerns: BLUE,
    where: /dnat_and_snat/,
  },
  {
    name: 'the masquerade address of another network on a gateway router',
    plant: `ovn-nbctl add Logical_Router_Port rtoe-${GR} networks ${green.gateway}/32`,
    undo: `ovn-nbctl remove Logical_Router_Port rtoe-${GR} networks ${green.gateway}/32`,
    check: 'identities',
    concerns: BOTH,
  },
  {
    name: "the tunnel key of another network's switch",
    plant: `ovn-nbctl set Logical_Switch blue_l3_transit_switch other_config:requested-tnl-key=$(ovn-nbctl get Logical_Switch green_l3_transit_switch other_config:requested-tnl-key)`,
    undo: `ovn-nbctl set Logical_Switch blue_l3_transit_switch other_config:requested-tnl-key=${blue.key}`,
    check: 'identities',
    concerns: BOTH,
  },
  {
    name: 'a port to another node on the wrong chassis',
    plant: 'ovn-nbctl set Logical_Switch_Port blue_l3_tstor-n2 options:requested-chassis=elsewhere',
    undo: 'ovn-nbctl set Logical_Switch_Port blue_l3_tstor-n2 options:requested-chassis=1ab00000-0000-4000-8000-000000000002',
    check: 'ports',
    concerns: BLUE,
    where: /tstor-n2/,
  },
  {
    name: "an address that is not the pod's",
    plant: `ovn-nbctl lsp-set-addresses ${POD} "0a:58:0a:14:00:63 10.20.0.99"`,
    undo: `ovn-nbctl lsp-set-addresses ${POD} "$(ovn-nbctl --bare --columns=port_security list Logical_Switch_Port ${POD})"`,
    check: 'ports',
    concerns: ['Pod blue/a'],
    where: /blue\.l3_blue_a/,
  },
  {
    name: 'a pod that may send with any address',
    plant: 'ovn-nbctl clear Logical_Switch_Port green.l3_green_a port_security',
    undo: 'ovn-nbctl lsp-set-port-security green.l3_green_a "$(ovn-nbctl --bare --columns=addresses list Logical_Switch_Port green.l3_green_a)"',
    check: 'ports',
    concerns: ['Pod green/a'],
  },
  {
    name: "a pod's port on the switch of another network",
    plant: `id=${uuid('Logical_Switch_Port', 'name=yellow.l3_yellow_a')}; ovn-nbctl remove Logical_Switch yellow_l3_n1 ports $id -- add Logical_Switch green_l3_n1 ports $id`,
    undo: `id=${uuid('Logical_Switch_Port', 'name=yellow.l3_yellow_a')}; ovn-nbctl remove Logical_Switch green_l3_n1 ports $id -- add Logical_Switch yellow_l3_n1 ports $id`,
    check: 'ports',
    concerns: ['Pod yellow/a', 'yellow_l3', GREEN[1]],
  },
  {
    name: 'a port of nobody on the switch of pods',
    plant: 'ovn-nbctl lsp-add blue_l3_n1 stranger -- lsp-set-addresses stranger unknown',
    undo: 'ovn-nbctl lsp-del stranger',
    check: 'ports',
    concerns: BLUE,
    where: /stranger/,
  },
  {
    name: 'an ACL of isolation that lets pass (to pods)',
    plant: `ovn-nbctl set ACL ${deny('Ingress')} action=allow`,
    undo: `ovn-nbctl set ACL ${deny('Ingress')} action=drop`,
    check: 'default network',
    concerns: ['default', ...BOTH],
  },
  {
    name: 'an ACL of isolation that is gone (from pods)',
    plant: `ovn-nbctl set ACL ${deny('Egress')} match='"inport == \\"nobody\\""'`,
    undo: `ovn-nbctl set ACL ${deny('Egress')} match="\\"inport == @$(ovn-nbctl --bare --columns=name list Port_Group ${GROUP})\\""`,
    check: 'default network',
    concerns: ['default', ...BOTH],
    where: /SecondaryPods/,
  },
  {
    name: 'an ACL that lets everything pass before isolation',
    plant: 'ovn-nbctl acl-add n1 to-lport 2000 ip4 allow-related',
    undo: 'ovn-nbctl acl-del n1 to-lport 2000 ip4',
    check: 'default network',
    concerns: ['default'],
    where: /priority 2000/,
  },
  {
    name: 'a port that the pod does not open',
    plant: `ovn-nbctl acl-add n1 to-lport 1500 'outport == "blue_a" && tcp.dst == 22' allow`,
    undo: `ovn-nbctl acl-del n1 to-lport 1500 'outport == "blue_a" && tcp.dst == 22'`,
    check: 'default network',
    concerns: ['default', BLUE[1]],
    where: /priority 1500/,
  },
  {
    name: 'a pod with a primary network that is not kept from the default one',
    plant: `ovn-nbctl remove Port_Group ${GROUP} ports ${uuid('Logical_Switch_Port', 'name=blue_a')}`,
    undo: `ovn-nbctl add Port_Group ${GROUP} ports ${uuid('Logical_Switch_Port', 'name=blue_a')}`,
    check: 'default network',
    concerns: ['Pod blue/a'],
  },
  {
    name: 'a load balancer with a port that its service has not',
    plant: `ovn-nbctl set Load_Balancer ${LB} vips:"\\"172.16.1.80:22\\""="\\"10.80.0.3:8080\\""`,
    undo: `ovn-nbctl remove Load_Balancer ${LB} vips '"172.16.1.80:22"'`,
    check: 'load balancers',
    concerns: ['Service shop/web', 'shop_net'],
    what: /172\.16\.1\.80:22 \(tcp 22\)/,
  },
  {
    name: 'a load balancer that leads to a pod of another network',
    plant: `ovn-nbctl set Load_Balancer ${LB} vips:"\\"172.16.1.80:80\\""="\\"10.60.0.3:8080\\""`,
    undo: `ovn-nbctl set Load_Balancer ${LB} vips:"\\"172.16.1.80:80\\""="\\"$(ovn-nbctl --bare --columns=addresses list Logical_Switch_Port shop.net_shop_web | cut -d" " -f2):8080\\""`,
    check: 'load balancers',
    concerns: ['Service shop/web', 'yellow_l3'],
  },
  {
    name: 'a load balancer on the switch of another network',
    plant: `ovn-nbctl ls-lb-add green_l3_n1 ${LB}`,
    undo: `ovn-nbctl ls-lb-del green_l3_n1 ${LB}`,
    check: 'load balancers',
    concerns: ['Service shop/web', GREEN[1]],
    where: /shop\/web/,
  },
  {
    name: 'a rule of a firewall that allows, and drops',
    plant: `ovn-nbctl set ACL ${ofFirewall(0)} action=drop`,
    undo: `ovn-nbctl set ACL ${ofFirewall(0)} action=allow`,
    check: 'firewalls',
    concerns: FIREWALL,
    what: /^drops what Pod blue\/a sends .* > 198\.51\.100\.0 tcp 443, though EgressFirewall/,
  },
  {
    name: 'a rule of a firewall that denies, and lets pass',
    plant: `ovn-nbctl set ACL ${ofFirewall(2)} action=allow`,
    undo: `ovn-nbctl set ACL ${ofFirewall(2)} action=drop`,
    check: 'firewalls',
    concerns: FIREWALL,
    what: /^lets pass what Pod blue\/a sends .* > 203\.0\.113\.0 tcp 1: no EgressFirewall allows that/,
  },
  {
    name: 'a load balancer that no service wants',
    plant:
      'ovn-nbctl lb-add leak-lb 172.16.1.99:80 10.80.0.3:8080 -- ls-lb-add green_l3_n1 leak-lb',
    undo: 'ovn-nbctl lb-del leak-lb',
    check: 'load balancers',
    concerns: [...GREEN, 'shop_net'],
    where: /leak-lb/,
  },
];

const southbound = ({ blue }: FaultNumbers): readonly PlantedFault[] => [
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

const integrationBridge = ({ blue, green }: FaultNumbers): readonly PlantedFault[] => [
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

const externalBridge = ({ blue, green }: FaultNumbers): readonly PlantedFault[] => [
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

const host = ({ blue, green }: FaultNumbers): readonly PlantedFault[] => [
  {
    name: 'a rule that leads the mark of a network to a table of the host',
    plant: `ip rule add fwmark ${hex(blue.packetMark)} lookup 254 priority 1999`,
    undo: `ip rule del fwmark ${hex(blue.packetMark)} lookup 254 priority 1999`,
    check: 'host routing',
    concerns: BLUE,
    where: /1999/,
  },
  {
    name: 'a rule that leads the mark of a network to the table of another one',
    plant: `ip rule add fwmark ${hex(blue.packetMark)} lookup ${green.table} priority 1998`,
    undo: `ip rule del fwmark ${hex(blue.packetMark)} lookup ${green.table} priority 1998`,
    check: 'host routing',
    concerns: BOTH,
    where: /1998/,
  },
  {
    name: 'a rule that leads a stranger into the table of a network',
    plant: `ip rule add from 172.18.0.77 lookup ${blue.table} priority 1997`,
    undo: `ip rule del from 172.18.0.77 lookup ${blue.table} priority 1997`,
    check: 'host routing',
    concerns: BLUE,
    where: /1997/,
  },
  {
    name: 'a port of a network outside of its VRF',
    plant: `ip link add ${blue.port} type veth peer name planted1`,
    undo: `ip link del ${blue.port}`,
    check: 'host routing',
    concerns: BLUE,
    where: new RegExp(`link ${blue.port}`),
  },
  {
    name: 'a route of the host into a network',
    plant: `ip link add ${green.port} type veth peer name planted2; ip link set ${green.port} up; ip link set planted2 up; ip route add 10.20.9.0/24 dev ${green.port}`,
    undo: `ip link del ${green.port}`,
    check: 'host routing',
    concerns: GREEN,
    where: /route 10\.20\.9/,
  },
  {
    name: 'a service that the default network reaches, and nobody lets it',
    plant: `nft add element ${TABLE} default-access-services-v4 '{ 172.16.1.77 . tcp . 80 }'`,
    undo: `nft delete element ${TABLE} default-access-services-v4 '{ 172.16.1.77 . tcp . 80 }'`,
    check: 'nftables',
    concerns: ['default'],
    where: /172\.16\.1\.77/,
  },
  {
    name: 'a rule of nftables that lets the host reach everybody',
    plant: `nft insert rule ${TABLE} udn-isolation accept`,
    undo: `nft delete rule ${TABLE} udn-isolation handle $(nft -a list chain ${TABLE} udn-isolation | sed -n 's/^[[:space:]]*accept # handle //p')`,
    check: 'nftables',
    concerns: ['default'],
    where: /udn-isolation/,
  },
  {
    name: 'a pod that the host reaches',
    plant: `nft delete element ${TABLE} udn-pod-default-ips-v4 "{ $(ovn-nbctl --bare --columns=addresses list Logical_Switch_Port blue_a | cut -d' ' -f2) }"`,
    undo: `nft add element ${TABLE} udn-pod-default-ips-v4 "{ $(ovn-nbctl --bare --columns=addresses list Logical_Switch_Port blue_a | cut -d' ' -f2) }"`,
    check: 'nftables',
    concerns: ['Pod blue/a'],
    where: /udn-pod-default-ips/,
  },
  {
    name: 'a mark of a network set in a table of others',
    plant: `nft add table inet planted; nft add chain inet planted out "{ type filter hook output priority -160; }"; nft add rule inet planted out tcp dport 80 meta mark set ${hex(blue.packetMark)}`,
    undo: 'nft delete table inet planted',
    check: 'nftables',
    concerns: BLUE,
    where: /planted/,
  },
  {
    name: 'the chain of a network that sets the mark of another one',
    plant: `nft add rule ${TABLE} udn-mark-${hex(blue.packetMark)} meta mark set ${hex(green.packetMark)}`,
    undo: `nft delete rule ${TABLE} udn-mark-${hex(blue.packetMark)} handle $(nft -a list chain ${TABLE} udn-mark-${hex(blue.packetMark)} | sed -n 's/.*${hex(green.packetMark, 8)}.*# handle //p')`,
    check: 'nftables',
    concerns: BOTH,
    where: new RegExp(`udn-mark-${hex(blue.packetMark)}`),
  },
  {
    name: 'a port of the node that is marked for another network',
    plant: `nft delete element ${TABLE} udn-mark-nodeports "{ tcp . 30080 : jump $(nft list map ${TABLE} udn-mark-nodeports | grep -o 'udn-mark-0x[0-9a-f]*') }"; nft add element ${TABLE} udn-mark-nodeports "{ tcp . 30080 : jump udn-mark-${hex(blue.packetMark)} }"`,
    undo: `nft delete element ${TABLE} udn-mark-nodeports "{ tcp . 30080 : jump udn-mark-${hex(blue.packetMark)} }"; nft add element ${TABLE} udn-mark-nodeports "{ tcp . 30080 : jump $(nft list map ${TABLE} udn-mark-cluster-ips-v4 | grep -o 'udn-mark-0x[0-9a-f]*') }"`,
    check: 'nftables',
    concerns: ['Service shop/web', BLUE[1]],
  },
  {
    name: 'a port that the host forwards from with the address of another network',
    plant: `nft add element ${TABLE} udn-forwarded-v4 '{ "${blue.port}" . ${green.host} }'`,
    undo: `nft delete element ${TABLE} udn-forwarded-v4 '{ "${blue.port}" . ${green.host} }'`,
    check: 'nftables',
    concerns: BOTH,
    where: /udn-forwarded/,
  },
  {
    name: 'an open port that no pod asks for',
    plant: `nft add element ${TABLE} udn-open-ports-v4 "{ $(ovn-nbctl --bare --columns=addresses list Logical_Switch_Port blue_a | cut -d' ' -f2) . tcp . 22 }"`,
    undo: `nft delete element ${TABLE} udn-open-ports-v4 "{ $(ovn-nbctl --bare --columns=addresses list Logical_Switch_Port blue_a | cut -d' ' -f2) . tcp . 22 }"`,
    check: 'nftables',
    concerns: ['Pod blue/a'],
    where: /udn-open-ports/,
  },
  {
    name: 'forwarding between ports of networks',
    plant: `nft insert rule ${TABLE} mgmtport-forward iifname "${blue.port}" accept`,
    undo: `nft delete rule ${TABLE} mgmtport-forward handle $(nft -a list chain ${TABLE} mgmtport-forward | sed -n 's/^[[:space:]]*iifname "${blue.port}" accept # handle //p')`,
    check: 'nftables',
    concerns: ['default'],
    where: /nft rule .*mgmtport-forward/,
  },
];

export const FAULT_GROUPS: readonly FaultGroup[] = [
  { name: 'Northbound', faultsOf: northbound },
  { name: 'Southbound', faultsOf: southbound, halts: 'northd' },
  { name: 'flows and interfaces of br-int', faultsOf: integrationBridge },
  { name: 'flows of the external bridge', faultsOf: externalBridge },
  { name: 'the host', faultsOf: host },
];

/** Rows of Northbound. */
import { BLUE, BOTH, GREEN, POD, type FaultNumbers, type PlantedFault } from './fault.ts';

const [LR, GR] = ['blue_l3_ovn_cluster_router', 'GR_blue_l3_n1'];
const uuid = (table: string, condition: string): string =>
  `$(ovn-nbctl --bare --columns=_uuid find ${table} ${condition})`;
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

export const northbound = ({ blue, green }: FaultNumbers): readonly PlantedFault[] => [
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

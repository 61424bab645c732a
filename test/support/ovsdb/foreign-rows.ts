/** Rows of other programs, as each of them writes its own: nothing of them may change. */
import type { JsonValue, Operation } from 'ovsdb-client-ts';

const ids = (of: Readonly<Record<string, string>>): JsonValue => ['map', Object.entries(of)];

const insert = (
  table: string,
  row: Readonly<Record<string, JsonValue>>,
  uuid?: string,
): Operation => ({
  op: 'insert',
  table,
  row,
  ...(uuid === undefined ? {} : { uuid }),
});

/** A number as a UUID. */
const uuid = (number: number): string =>
  `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const ref = (number: number): JsonValue => ['uuid', uuid(number)];

const LAYER2 = 'k8s.ovn.org/network';

/** Each a transaction. */
export const foreignRows: readonly (readonly Operation[])[] = [
  // OpenStack.
  [
    insert(
      'Logical_Switch_Port',
      {
        name: 'b7d1',
        external_ids: ids({ 'neutron:cidrs': '10.0.0.4/24', 'neutron:revision_number': '4' }),
      },
      uuid(1),
    ),
    insert(
      'ACL',
      {
        direction: 'to-lport',
        priority: 1002,
        match: 'outport == @pg_1',
        action: 'allow-related',
        external_ids: ids({ 'neutron:security_group_rule_id': 'r' }),
      },
      uuid(2),
    ),
    insert(
      'Logical_Switch',
      { name: 'neutron-1', ports: ref(1), external_ids: ids({ 'neutron:network_name': 'blue' }) },
      uuid(3),
    ),
    insert(
      'Port_Group',
      {
        name: 'pg_1',
        ports: ref(1),
        acls: ref(2),
        external_ids: ids({ 'neutron:security_group_id': 's' }),
      },
      uuid(4),
    ),
    insert('Logical_Router_Static_Route', { ip_prefix: '0.0.0.0/0', nexthop: '10.0.0.1' }, uuid(5)),
    insert('NAT', { type: 'snat', logical_ip: '10.0.0.0/24', external_ip: '1.1.1.1' }, uuid(6)),
    insert(
      'Logical_Router',
      {
        name: 'neutron-r',
        static_routes: ref(5),
        nat: ref(6),
        external_ids: ids({ 'neutron:router_name': 'r' }),
      },
      uuid(7),
    ),
  ],
  // A Layer2 network of ovn-kubernetes.
  [
    insert(
      'Logical_Switch_Port',
      {
        name: 'l2.l2_l2_web',
        external_ids: ids({
          [LAYER2]: 'l2_l2',
          'k8s.ovn.org/topology': 'layer2',
          pod: 'true',
          namespace: 'l2',
        }),
      },
      uuid(11),
    ),
    insert(
      'ACL',
      {
        direction: 'to-lport',
        priority: 1001,
        match: 'ip4.src==10.9.0.2',
        action: 'allow-related',
        external_ids: ids({
          'k8s.ovn.org/id': 'l2_l2-network-controller:NetpolNode:l2_l2_ovn_layer2_switch:10.9.0.2',
          'k8s.ovn.org/owner-controller': 'l2_l2-network-controller',
          'k8s.ovn.org/owner-type': 'NetpolNode',
        }),
      },
      uuid(12),
    ),
    insert(
      'QoS',
      {
        direction: 'from-lport',
        priority: 103,
        match: '1',
        action: ['map', [['mark', 42]]],
        external_ids: ids({
          'k8s.ovn.org/id':
            'default-network-controller:EgressIP:103:EgressIP-Mark-Reply-Traffic:ip4:l2_l2',
          'k8s.ovn.org/owner-type': 'EgressIP',
        }),
      },
      uuid(13),
    ),
    insert(
      'Logical_Switch',
      {
        name: 'l2_l2_ovn_layer2_switch',
        ports: ref(11),
        acls: ref(12),
        qos_rules: ref(13),
        external_ids: ids({
          [LAYER2]: 'l2_l2',
          'k8s.ovn.org/topology': 'layer2',
          'k8s.ovn.org/role': 'primary',
        }),
      },
      uuid(14),
    ),
    insert(
      'Port_Group',
      {
        name: 'a111',
        ports: ref(11),
        external_ids: ids({
          'k8s.ovn.org/id': 'l2_l2-network-controller:Cluster:clusterPortGroup',
          'k8s.ovn.org/owner-controller': 'l2_l2-network-controller',
          'k8s.ovn.org/owner-type': 'Cluster',
        }),
      },
      uuid(15),
    ),
    insert(
      'Logical_Router_Policy',
      {
        priority: 102,
        match: 'pkt.mark == 42',
        action: 'allow',
        external_ids: ids({
          'k8s.ovn.org/id':
            'default-network-controller:EgressIP:102:EIP-No-Reroute-reply-traffic:ip:l2_l2',
        }),
      },
      uuid(16),
    ),
    insert(
      'Logical_Router',
      {
        name: 'l2_l2_transit_router',
        policies: ref(16),
        external_ids: ids({ [LAYER2]: 'l2_l2', 'k8s.ovn.org/topology': 'layer2' }),
      },
      uuid(17),
    ),
    insert('Load_Balancer_Group', { name: 'l2_l2_clusterLBGroup' }, uuid(18)),
    insert(
      'Static_MAC_Binding',
      { logical_port: 'rtoe-GR_l2_l2_w1', ip: '169.254.0.4', mac: '0a:58:a9:fe:00:04' },
      uuid(19),
    ),
  ],
  // An EgressIP controller's sets, of a network that we don't render and of nobody.
  [
    insert(
      'Address_Set',
      {
        name: 'a222',
        addresses: ['set', ['10.9.0.7', '10.9.0.8']],
        external_ids: ids({
          'k8s.ovn.org/id': 'default-network-controller:EgressIP:egressip-served-pods:v4:l2_l2',
          'k8s.ovn.org/owner-type': 'EgressIP',
        }),
      },
      uuid(21),
    ),
    insert(
      'Port_Group',
      {
        name: 'a333',
        external_ids: ids({
          'k8s.ovn.org/id': 'other-controller:Cluster:clusterPortGroup',
          'k8s.ovn.org/owner-controller': 'other-controller',
          'k8s.ovn.org/owner-type': 'Cluster',
        }),
      },
      uuid(22),
    ),
    insert('Load_Balancer_Group', { name: 'other_clusterSwitchLBGroup' }, uuid(23)),
    insert('Meter_Band', { action: 'drop', rate: 25 }, uuid(24)),
    insert('Meter', { name: 'their-meter', unit: 'pktps', bands: ref(24) }, uuid(25)),
    insert('Copp', { name: 'theirs' }, uuid(26)),
  ],
];

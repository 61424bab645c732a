// What works on which kind of network, and the test that shows it. docs/support.md is written from it (generate-support-page.ts), and
// test/unit/docs/support.test.ts looks for every test that it names.

export const KINDS = [
  'the default network',
  'primary Layer3',
  'primary Layer2',
  'secondary Layer3',
  'secondary Layer2',
  'localnet',
] as const;
export type Kind = (typeof KINDS)[number];

const [DEFAULT, LAYER3, LAYER2, SECONDARY3, SECONDARY2, LOCALNET] = KINDS;
const PRIMARY: readonly Kind[] = [LAYER3, LAYER2];
const GATEWAY: readonly Kind[] = [DEFAULT, ...PRIMARY];
const SECONDARY: readonly Kind[] = [SECONDARY3, SECONDARY2, LOCALNET];

/** Packets: they were sent. Rows: what is in the databases is right by OVN's own programs, and no packet was sent. */
export type Proof = 'packets' | 'rows';

export interface Support {
  readonly on: readonly Kind[];
  readonly proof: Proof;
  /** File below `test`, without `.ts`, and how its test's name begins. */
  readonly by: readonly (readonly [file: string, test: string])[];
}
export interface Feature {
  readonly name: string;
  readonly page: string;
  readonly works: readonly Support[];
  /** Each kind that is in no `works`. */
  readonly not: readonly { readonly on: readonly Kind[]; readonly why: string }[];
}

const MATRIX = 'support/lab/matrix';
const NO_SERVICES = 'services are on networks that have a gateway';
const BY_PRIMARY = 'it is about what leaves by the primary interface';
const NOT_FLAT = 'an address belongs to its node: elsewhere it is another one';
const UNDERLAY = 'pods leave by the physical network itself';
const atUnderlay = [{ on: [LOCALNET], why: UNDERLAY }];
const GATEWAYS = 'e2e/secondary-gateways.test';
const SECONDARY_SERVICES = 'support/lab/secondary-services';
/** By a gateway that the network has been given. */
const byGivenGateway = (proof: Proof, ...by: Support['by']): Support => ({
  on: [SECONDARY3, SECONDARY2],
  proof,
  by,
});
const inMatrix = (test: string): Support => ({
  on: GATEWAY,
  proof: 'packets',
  by: [[MATRIX, test]],
});
/** `onSecondary`: tests of networks that have been given a gateway. */
const service = (
  name: string,
  page: string,
  onSecondary: readonly string[],
  ...by: Support['by']
): Feature => ({
  name,
  page,
  works: [
    { on: GATEWAY, proof: 'packets', by },
    byGivenGateway('packets', ...onSecondary.map((test) => [SECONDARY_SERVICES, test] as const)),
  ],
  not: [{ on: [LOCALNET], why: NO_SERVICES }],
});
const egress = (
  name: string,
  page: string,
  by: Support['by'],
  secondary?: Support,
): Feature => ({
  name,
  page,
  works: [{ on: GATEWAY, proof: 'packets', by }, ...(secondary === undefined ? [] : [secondary])],
  not: [
    ...atUnderlay,
    ...(secondary === undefined ? [{ on: [SECONDARY3, SECONDARY2], why: BY_PRIMARY }] : []),
  ],
});

export const FEATURES: readonly Feature[] = [
  {
    name: 'pods reach the pods of their network on every node, and none of another one',
    page: 'topology.md',
    works: [
      inMatrix('pods of a network reach each other on one node and on two'),
      {
        on: SECONDARY,
        proof: 'packets',
        by: [
          ['e2e/secondary-networks.test', 'on a network of Layer3 each node has a subnet of its own'],
          ['e2e/secondary-networks.test', 'pods reach each other over three nodes, and nobody'],
          ['e2e/secondary-networks.test', 'a network with external connectivity is on the underlay'],
        ],
      },
    ],
    not: [],
  },
  {
    name: 'one subnet for two networks',
    page: 'api.md#what-overlaps',
    works: [
      {
        on: PRIMARY,
        proof: 'packets',
        by: [
          ['e2e/tenants.test', 'two pods with one address reach it'],
          ['e2e/topologies.test', 'pods of a Layer2 network reach each other over three nodes'],
        ],
      },
      {
        on: [SECONDARY2],
        proof: 'packets',
        by: [['e2e/secondary-networks.test', 'pods reach each other over three nodes, and nobody']],
      },
      {
        on: [SECONDARY3, LOCALNET],
        proof: 'rows',
        by: [['unit/topology/connect/sibling-networks.test', 'that overlap are kept apart, and so are secondary']],
      },
    ],
    not: [{ on: [DEFAULT], why: 'there is one' }],
  },
  {
    name: 'a network without a subnet: pods bring their addresses',
    page: 'api.md#ovnsecondarynetwork',
    works: [
      {
        on: [SECONDARY2],
        proof: 'packets',
        by: [['e2e/secondary-networks.test', 'a network without a subnet carries']],
      },
      { on: [LOCALNET], proof: 'rows', by: [['integration/topology/flat-networks.test', 'northd has nothing to say against them']] },
    ],
    not: [
      { on: GATEWAY, why: 'routers need to know where pods are' },
      { on: [SECONDARY3], why: 'routers need to know where pods are' },
    ],
  },
  {
    name: 'the outside, with the address of the node; on secondary networks by a gateway that they are given',
    page: 'topology.md#a-gateway-of-a-secondary-network',
    works: [
      inMatrix('a host outside is reached from every node, and sees the node'),
      byGivenGateway(
        'packets',
        [GATEWAYS, 'a secondary network with a gateway leads out'],
        [GATEWAYS, 'a flat one leads out of each node'],
      ),
      {
        on: [LOCALNET],
        proof: 'packets',
        by: [['e2e/topologies.test', 'pods of a localnet network reach a host outside on their VLAN']],
      },
    ],
    not: [],
  },
  service(
    'cluster IPs; on secondary networks from sockets bound to an address there',
    'topology.md#services-of-secondary-networks',
    ['is reached at its cluster IPs by pods that send with their address'],
    [MATRIX, 'a cluster IP is answered by the pod'],
  ),
  service(
    'node ports, load balancer and external addresses, traffic policies',
    'topology.md#services',
    [
      'is reached from outside by ports of nodes and by its external addresses',
      'with externalTrafficPolicy Local sees who asks',
    ],
    [MATRIX, 'a node port is answered from outside at every node'],
    [MATRIX, 'the address of a load balancer is answered'],
    [MATRIX, 'with a local external policy only where the pod is'],
    ['e2e/service-cases.test', 'an external address of no node is answered'],
  ),
  {
    name: 'cluster IPs, from namespaces of the default network that an administrator named',
    page: 'api.md#access-from-the-default-network',
    works: [
      {
        on: PRIMARY,
        proof: 'packets',
        by: [[MATRIX, 'pods of a named namespace of the default network reach services']],
      },
    ],
    not: [
      { on: [DEFAULT], why: 'every namespace without a network of its own is on it' },
      { on: SECONDARY, why: 'access is to primary networks' },
    ],
  },
  {
    name: 'load balancer addresses inside of the network, from a pool of its own',
    page: 'topology.md#addresses-of-a-networks-pool',
    works: [
      {
        on: [LAYER3],
        proof: 'packets',
        by: [['e2e/service-cases.test', 'an address of the pool of a network is answered by its pods']],
      },
      {
        on: [LAYER2],
        proof: 'packets',
        by: [
          [
            'e2e/service-pools.test',
            'are answered for by the router on the node of whoever asks, and lead to a pod',
          ],
        ],
      },
      byGivenGateway('packets', [SECONDARY_SERVICES, 'has an address of the pool of its network']),
    ],
    not: [
      { on: [DEFAULT], why: 'it has no object that a pool could stand in' },
      { on: [LOCALNET], why: NO_SERVICES },
    ],
  },
  service(
    'session affinity',
    'topology.md#services',
    ['with affinity keeps a pod with one of its endpoints'],
    [MATRIX, 'connections to a cluster IP are spread over its pods'],
  ),
  {
    name: 'services without a selector, to addresses outside of the cluster',
    page: 'reference/api.md#9-mirrored-endpointslices',
    works: [
      {
        on: [DEFAULT, LAYER3],
        proof: 'packets',
        by: [['e2e/service-cases.test', 'without a selector, with a slice that somebody made']],
      },
      {
        on: [LAYER2],
        proof: 'rows',
        by: [['unit/cluster/endpoint-mirror.test', 'a slice that somebody made is mirrored']],
      },
      byGivenGateway(
        'rows',
        ['unit/cluster/service-networks.test', 'hold the addresses of its pods there'],
        ['unit/cluster/service-networks.test', 'are there in namespaces without'],
      ),
    ],
    not: [{ on: [LOCALNET], why: NO_SERVICES }],
  },
  {
    name: 'ports of the node that pods have (`hostPort`)',
    page: 'host.md#ports-of-the-node-that-pods-have-hostport',
    works: [
      {
        on: [DEFAULT, LAYER3],
        proof: 'packets',
        by: [['e2e/service-cases.test', 'a port of the node leads to the pod that has it']],
      },
      {
        on: [LAYER2],
        proof: 'packets',
        by: [['e2e/local-gateway.test', 'a port of the node leads to the pod that has it']],
      },
    ],
    not: [{ on: SECONDARY, why: 'a port of the node leads to the primary interface' }],
  },
  {
    name: 'NetworkPolicy; on secondary networks MultiNetworkPolicy',
    page: 'api.md#networkpolicy',
    works: [
      inMatrix('a network policy lets in whom it names'),
      {
        on: [SECONDARY2],
        proof: 'packets',
        by: [['e2e/secondary-networks.test', 'a MultiNetworkPolicy closes the interfaces']],
      },
      {
        on: [SECONDARY3, LOCALNET],
        proof: 'rows',
        by: [['unit/topology/policy/multi-policy.test', 'a policy for a secondary network has the rows']],
      },
    ],
    not: [],
  },
  {
    name: 'AdminNetworkPolicy, ClusterNetworkPolicy',
    page: 'api.md#clusternetworkpolicy',
    works: [
      {
        on: [DEFAULT, LAYER3],
        proof: 'packets',
        by: [['support/lab/policy-cases', 'an AdminNetworkPolicy comes before NetworkPolicies']],
      },
      {
        on: [LAYER2],
        proof: 'rows',
        by: [['integration/topology/policies.test', 'policies of administrators come before']],
      },
    ],
    not: [{ on: SECONDARY, why: 'they are for the primary interface of pods' }],
  },
  egress(
    'EgressFirewall',
    'api.md#egressfirewall',
    [
      ['e2e/egress-firewall.test', 'the first rule that is about a packet decides'],
      ['e2e/egress-firewall.test', 'what denies everything leaves'],
    ],
    byGivenGateway('packets', [GATEWAYS, 'an EgressFirewall of the namespace is in force']),
  ),
  {
    name: 'names in EgressFirewalls: exact ones; wildcards',
    page: 'decisions/firewall-names.md',
    works: [
      {
        on: [DEFAULT],
        proof: 'packets',
        by: [['e2e/egress-firewall.test', 'is in force before they are told, for exact names']],
      },
      {
        on: PRIMARY,
        proof: 'packets',
        by: [['e2e/host.test', 'names in EgressFirewalls are in force before pods of all are told']],
      },
      byGivenGateway('rows', [
        'unit/topology/egress/firewall.test',
        'on a secondary network with a gateway too',
      ]),
    ],
    not: atUnderlay,
  },
  egress(
    'EgressIP, also by another network card',
    'api.md#egressip',
    [
      [
        'support/lab/egress-ips',
        'pods of the node that has it, and of others, leave with it, on every network',
      ],
    ],
    byGivenGateway('packets', [GATEWAYS, 'pods of two nodes leave it with an EgressIP']),
  ),
  egress(
    'EgressIP for some destinations',
    'api.md#for-some-destinations-alone',
    [['e2e/egress-classes.test', 'what is for the class leaves with its address']],
    byGivenGateway('packets', [GATEWAYS, 'with an EgressIP for some destinations']),
  ),
  egress('EgressService', 'api.md#egressservice', [
    ['e2e/egress-service.test', 'pods of the chosen node, and of others, leave with the address'],
  ]),
  egress(
    'AdminPolicyBasedExternalRoute',
    'api.md#adminpolicybasedexternalroute',
    [['e2e/external-routes.test', 'with two they leave by both']],
    byGivenGateway('packets', [GATEWAYS, 'an AdminPolicyBasedExternalRoute leads what leaves by it']),
  ),
  {
    name: 'EgressQoS; NetworkQoS',
    page: 'api.md#egressqos-and-networkqos',
    works: [
      {
        on: GATEWAY,
        proof: 'packets',
        by: [
          ['e2e/qos.test', 'the first rule of an EgressQoS that means a packet marks it'],
          ['e2e/qos.test', 'a NetworkQoS comes first'],
        ],
      },
      {
        on: [LOCALNET],
        proof: 'packets',
        by: [['e2e/qos.test', 'on a network that it selects, and on no other']],
      },
      { on: [SECONDARY3, SECONDARY2], proof: 'rows', by: [['unit/topology/egress/qos.test', 'has a row per rule and one set of the pods']] },
    ],
    not: [],
  },
  {
    name: 'ClusterNetworkConnect: pods, services, or both',
    page: 'api.md#clusternetworkconnect',
    works: [
      {
        on: PRIMARY,
        proof: 'packets',
        by: [
          ['e2e/connect-kinds.test', 'pods and services: every pair meets in both families'],
          ['e2e/connect-kinds.test', 'services alone: pods stay in their networks'],
        ],
      },
    ],
    not: [
      { on: [DEFAULT], why: 'every namespace without a network of its own is on it' },
      { on: SECONDARY, why: 'the API connects primary networks' },
    ],
  },
  {
    name: 'ClusterNetworkConnect: services of networks with one subnet',
    page: 'decisions/overlapping-services.md',
    works: [
      {
        on: PRIMARY,
        proof: 'packets',
        by: [
          ['e2e/connect-kinds.test', 'networks that overlap share services, also between pods of one address'],
          ['e2e/connect-kinds.test', 'so they do in local gateway mode'],
        ],
      },
    ],
    not: [
      { on: [DEFAULT], why: 'every namespace without a network of its own is on it' },
      { on: SECONDARY, why: 'the API connects primary networks' },
    ],
  },
  {
    name: 'NetworkConnect: tenants connect networks themselves',
    page: 'api.md#networkconnect',
    works: [
      {
        on: PRIMARY,
        proof: 'packets',
        by: [
          ['e2e/tenant-connects.test', 'nothing is connected while one side alone has asked'],
          ['e2e/tenant-connects.test', 'pods and services are reached once both have'],
          ['e2e/tenant-connects.test', 'it ends when one side withdraws'],
        ],
      },
    ],
    not: [
      { on: [DEFAULT], why: 'every namespace without a network of its own is on it' },
      { on: SECONDARY, why: 'the API connects primary networks' },
    ],
  },
  {
    name: 'several networks of one kind for a namespace',
    page: 'api.md#several-primary-networks-of-a-namespace',
    works: [
      {
        on: PRIMARY,
        proof: 'packets',
        by: [['e2e/connects.test', 'its pods reach each other, whichever they are on']],
      },
      {
        on: SECONDARY,
        proof: 'packets',
        by: [['e2e/secondary-networks.test', 'a pod has an interface for each network that it names']],
      },
    ],
    not: [{ on: [DEFAULT], why: 'there is one' }],
  },
  {
    name: 'virtual machines: DHCP',
    page: 'topology.md',
    works: [
      {
        on: [LAYER2],
        proof: 'packets',
        by: [['e2e/virtual-machines.test', 'is told by DHCP what its pod has']],
      },
      {
        on: [SECONDARY2],
        proof: 'packets',
        by: [['e2e/secondary-networks.test', 'OVN answers a DHCP client with the address']],
      },
      {
        on: [LOCALNET],
        proof: 'rows',
        by: [['integration/topology/flat-networks.test', 'a pod that asks by DHCP is offered its own']],
      },
    ],
    not: [{ on: [DEFAULT, LAYER3, SECONDARY3], why: NOT_FLAT }],
  },
  {
    name: 'virtual machines: a move to another node',
    page: 'topology.md',
    works: [
      {
        on: [LAYER2],
        proof: 'packets',
        by: [
          ['e2e/virtual-machines.test', 'moves to another node with its connections'],
          ['e2e/machine-node-loss.test', 'has arrived when the node that it leaves is lost'],
        ],
      },
      {
        on: [LOCALNET],
        proof: 'packets',
        by: [
          ['e2e/machine-localnet.test', 'that moves keeps its connections with a host outside'],
          ['e2e/machine-localnet.test', 'that says nothing is found at its new place'],
        ],
      },
      {
        on: [SECONDARY2],
        proof: 'packets',
        by: [['e2e/machine-secondary.test', 'that moves keeps its connections with pods of the node']],
      },
    ],
    not: [{ on: [DEFAULT, LAYER3, SECONDARY3], why: NOT_FLAT }],
  },
  {
    name: 'addresses that stay (IPAMClaim)',
    page: 'api.md#what-pods-may-ask-for',
    works: [
      {
        on: [LAYER2],
        proof: 'packets',
        by: [['e2e/machine-addresses.test', 'are kept by the claim while the machine is stopped']],
      },
      {
        on: [SECONDARY2, LOCALNET],
        proof: 'rows',
        by: [['unit/addresses/persistent-addresses.test', 'keeps its addresses while pods come and go']],
      },
    ],
    not: [{ on: [DEFAULT, LAYER3, SECONDARY3], why: NOT_FLAT }],
  },
  {
    name: 'multicast between the pods of a namespace',
    page: 'topology.md',
    works: [
      {
        on: GATEWAY,
        proof: 'packets',
        by: [['e2e/multicast.test', 'pods of a namespace that asks for it hear each other']],
      },
    ],
    not: [{ on: SECONDARY, why: 'multicast of secondary networks goes to all, as on a wire' }],
  },
  {
    name: 'names in DNS with the network’s addresses',
    page: 'api.md#names-of-a-network',
    works: [
      {
        on: [LAYER3],
        proof: 'packets',
        by: [['e2e/host.test', 'names in EgressFirewalls are in force before pods of all are told']],
      },
      {
        on: [LAYER2],
        proof: 'rows',
        by: [['unit/node/dns/network-answers.test', 'what the node knows it answers without asking']],
      },
    ],
    not: [
      { on: [DEFAULT], why: 'the cluster’s DNS has its addresses' },
      { on: SECONDARY, why: 'names are those of primary networks' },
    ],
  },
  {
    name: 'kubelet’s probes',
    page: 'host.md',
    works: [
      {
        on: GATEWAY,
        proof: 'packets',
        by: [['e2e/host.test', 'kubelet reaches the pods of all at their addresses on the default']],
      },
    ],
    not: [{ on: SECONDARY, why: 'kubelet asks at the default network, which every pod is on' }],
  },
];

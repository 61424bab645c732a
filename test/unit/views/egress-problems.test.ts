/** Why egress addresses have no node, as people are told beside the events of the cluster manager. */
import { expect, test } from 'vitest';
import type { EgressIP, EgressService, Node, Service } from '../../../src/api/types.ts';
import { nodeLeaseName, type Lease } from '../../../src/api/node-lease.ts';
import { DEFAULT_SETTINGS } from '../../../src/model/settings.ts';
import { egressPlacementProblems } from '../../../src/views/egress-problems.ts';
import { node } from '../../support/cluster/cluster.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const LONG_AGO = '2026-01-01T00:00:00Z';

const egressNode = (name: string, address: string, labels: Record<string, string> = {}): Node => {
  const made = node(name, {
    'k8s.ovn.org/node-primary-ifaddr': JSON.stringify({ ipv4: `${address}/16` }),
    'k8s.ovn.org/l3-gateway-config': JSON.stringify({
      default: {
        mode: 'shared',
        'bridge-id': 'breth0',
        'interface-id': `breth0_${name}`,
        'mac-address': '0a:58:0a:00:00:01',
        'ip-addresses': [`${address}/16`],
        'next-hops': ['172.18.0.1'],
        'node-port-enable': 'true',
      },
    }),
  });
  return { ...made, metadata: { ...made.metadata, labels } };
};
const ASSIGNABLE = { 'k8s.ovn.org/egress-assignable': '' };

const egressIp = (
  address: string,
  items: readonly { node: string; egressIP: string }[] = [],
  created = LONG_AGO,
): EgressIP => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressIP',
  metadata: { name: 'out', creationTimestamp: created },
  spec: { egressIPs: [address], namespaceSelector: {} },
  status: { items },
});

const problems = (objects: {
  readonly egressIps?: readonly EgressIP[];
  readonly egressServices?: readonly EgressService[];
  readonly services?: readonly Service[];
  readonly nodes?: readonly Node[];
  readonly leases?: readonly Lease[];
}): readonly string[] =>
  egressPlacementProblems(
    { egressIps: [], egressServices: [], services: [], nodes: [], leases: [], ...objects },
    DEFAULT_SETTINGS,
    NOW,
  ).map(({ object, message }) => `${object}: ${message}`);

const n1 = egressNode('n1', '172.18.0.11', ASSIGNABLE);

test('an address that its node has is in order, as is one of an object that has just been made', () => {
  const assigned = egressIp('172.18.0.200', [{ node: 'n1', egressIP: '172.18.0.200' }]);
  expect(problems({ egressIps: [assigned], nodes: [n1] })).toEqual([]);
  const fresh = egressIp('172.18.0.200', [], '2026-01-01T11:59:58Z');
  expect(problems({ egressIps: [fresh], nodes: [] })).toEqual([]);
});

test('without a node that may have it, it says which label is missing', () => {
  expect(
    problems({ egressIps: [egressIp('172.18.0.200')], nodes: [egressNode('n1', '172.18.0.11')] }),
  ).toEqual([
    'EgressIP out: no assignable nodes for EgressIP: out, please tag at least one node with label: k8s.ovn.org/egress-assignable',
  ]);
});

test('an address of a node, or in a network of none, says so', () => {
  expect(problems({ egressIps: [egressIp('172.18.0.11')], nodes: [n1] })).toEqual([
    'EgressIP out: Egress IP out with IP 172.18.0.11 is conflicting with a host (n1) IP address and will not be assigned',
  ]);
  expect(problems({ egressIps: [egressIp('10.40.0.9')], nodes: [n1] })).toEqual([
    'EgressIP out: No matching nodes found, which can host any of the egress IPs: [10.40.0.9] for object EgressIP: out',
  ]);
});

test('one at a node by whose network nothing leaves says why, if no other node can have it', () => {
  const egressIps = [egressIp('172.18.0.200', [{ node: 'n1', egressIP: '172.18.0.200' }])];
  const down = JSON.stringify({
    daemon: 'd1',
    networks: { '172.18.0.0/16': 'uplink eth1 of br-ex has no carrier' },
  });
  const { annotations } = n1.metadata;
  const metadata = {
    ...n1.metadata,
    annotations: { ...annotations, 'k8s.ovn.org/egress-networks-down': down },
  };
  const nodes = [{ ...n1, metadata }];
  const lease = (holderIdentity: string): Lease => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace: 'heddle', name: nodeLeaseName('n1') },
    spec: { holderIdentity },
  });
  expect(problems({ egressIps, nodes, leases: [lease('d1')] })).toEqual([
    'EgressIP out: EgressIP out: node n1 holds 172.18.0.200, and nothing leaves with it: uplink eth1 of br-ex has no carrier; no other node can have it: mend that, or let the EgressIP select another node in its network',
  ]);
  expect(problems({ egressIps, nodes, leases: [lease('d2')] })).toEqual([]);
  const others = [...nodes, egressNode('n2', '172.18.0.12', ASSIGNABLE)];
  expect(problems({ egressIps, nodes: others, leases: [lease('d1')] })).toEqual([]);
});

const service = (type: string, ...ingress: readonly string[]): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'shop', name: 'web' },
  spec: { type, clusterIPs: ['172.16.1.80'], ports: [{ port: 80 }] },
  status: { loadBalancer: { ingress: ingress.map((ip) => ({ ip })) } },
});

test('an address of a service is told, unless the object has had it before', () => {
  const services = [service('LoadBalancer', '172.18.0.240')];
  expect(problems({ egressIps: [egressIp('172.18.0.240')], nodes: [n1], services })).toEqual([
    'EgressIP out: Egress IP out with IP 172.18.0.240 is conflicting with an external address of Service shop/web and will not be assigned',
  ]);
  const before = egressIp('172.18.0.240', [{ node: 'n1', egressIP: '172.18.0.240' }]);
  expect(problems({ egressIps: [before], nodes: [n1], services })).toEqual([]);
});

test('one that a node could have, and has not, asks for the cluster manager', () => {
  expect(problems({ egressIps: [egressIp('172.18.0.200')], nodes: [n1] })).toEqual([
    'EgressIP out: 172.18.0.200 has no node yet, which n1 could be: see whether the cluster manager runs, and in its log whether the node answers it',
  ]);
});

test('an EgressService says what keeps it from having a node', () => {
  const egressService = (host: string): EgressService => ({
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'EgressService',
    metadata: { namespace: 'shop', name: 'web', creationTimestamp: LONG_AGO },
    spec: { sourceIPBy: 'LoadBalancerIP' },
    status: { host },
  });
  const of = (host: string, ...services: readonly Service[]): readonly string[] =>
    problems({ egressServices: [egressService(host)], services });
  expect(of('')).toEqual([
    'EgressService shop/web: there is no Service shop/web: an EgressService is for the service of its name',
  ]);
  expect(of('', service('ClusterIP'))).toEqual([
    'EgressService shop/web: Service shop/web has no load balancer (spec.type is not LoadBalancer): its pods send nothing out',
  ]);
  expect(of('', service('LoadBalancer'))).toEqual([
    'EgressService shop/web: the load balancer of Service shop/web has no address yet: until it has one its pods send nothing out',
  ]);
  expect(of('', service('LoadBalancer', '172.18.0.240'))).toEqual([
    'EgressService shop/web: no suitable node for selector: all nodes: its pods send nothing out',
  ]);
  expect(of('n1', service('LoadBalancer', '172.18.0.240'))).toEqual([]);
});

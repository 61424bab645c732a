import { describe, expect, test } from 'vitest';
import type { PortBackends, Targets } from '../../../../src/model/rules/backends.ts';
import type { ServiceFacts } from '../../../../src/model/read/services.ts';
import { readService } from '../../../../src/model/read/services.ts';
import {
  addressVariables,
  clusterVips,
  hasPlainNodePorts,
  localClusterVips,
  nodeVips,
  targetVariables,
  templateVips,
  type BackedPort,
  type ServiceNode,
} from '../../../../src/topology/services/service-vips.ts';
import { service } from '../../../support/zone/services.ts';

const facts = (spec: Readonly<Record<string, unknown>>, status = {}): ServiceFacts => {
  const found = readService(service('blue/web', { clusterIPs: ['10.96.1.1'], ...spec }, status));
  if (found === undefined) throw new Error('no service');
  return found;
};
const to = (v4: string, v6 = ''): Targets => ({ v4, v6 });
/** Targets: of all networks, of the network itself, and those of either on this node. */
const backends: PortBackends = {
  all: to('a:1,o:1,l:1'),
  anywhere: to('a:1,o:1,l:1'),
  own: to('o:1,l:1'),
  local: to('l:1'),
  ownLocal: to('l:1'),
  hasHostEndpoints: false,
  surplus: 0,
};
const ports = (of: ServiceFacts, more: Partial<PortBackends> = {}): BackedPort[] =>
  of.ports.map((port) => ({ ...port, backends: { ...backends, ...more } }));
const node: ServiceNode = {
  hostAddresses: ['172.18.0.3'],
  gatewayAddresses: ['172.18.0.3'],
  hasNodePorts: true,
  hostMasquerade: { v4: '169.254.0.2' },
  localMasquerade: { v4: '169.254.0.3' },
};
const DEFAULT = { nodePorts: true, isPrimary: false };
const balancer = { type: 'LoadBalancer', ports: [{ port: 80, nodePort: 30080 }] };
const ingress = { loadBalancer: { ingress: [{ ip: '172.19.0.9' }] } };

describe('addresses that lead to the same targets everywhere (reference/topology.md §15.2)', () => {
  test('are the cluster IPs, and those from outside', () => {
    const of = facts(balancer, ingress);
    expect(clusterVips(of, ports(of), 'all')).toEqual({
      '10.96.1.1:80': 'a:1,o:1,l:1',
      '172.19.0.9:80': 'a:1,o:1,l:1',
    });
    expect(clusterVips(of, ports(of), 'own')['10.96.1.1:80']).toBe('o:1,l:1');
  });

  test('not those from outside where traffic stays on the node that it came to', () => {
    const of = facts({ ...balancer, externalTrafficPolicy: 'Local' }, ingress);
    expect(Object.keys(clusterVips(of, ports(of), 'all'))).toEqual(['10.96.1.1:80']);
  });

  test('none where endpoints are hosts, or traffic inside stays on the node', () => {
    const of = facts({});
    expect(clusterVips(of, ports(of, { hasHostEndpoints: true }), 'all')).toEqual({});
    const local = facts({ internalTrafficPolicy: 'Local' });
    expect(clusterVips(local, ports(local), 'all')).toEqual({});
    expect(localClusterVips(local, ports(local))).toEqual({ '10.96.1.1:80': 'l:1' });
    expect(localClusterVips(of, ports(of))).toEqual({});
  });
});

describe("addresses that lead to targets of the node's own", () => {
  test('node ports: at the switch all endpoints, at the gateway router those of the network', () => {
    const of = facts(balancer);
    expect(nodeVips(of, ports(of), node, DEFAULT)).toEqual({
      onSwitch: { '172.18.0.3:30080': 'a:1,o:1,l:1' },
      onRouter: { '172.18.0.3:30080': 'o:1,l:1' },
      onRouterLocally: {},
    });
    expect(nodeVips(of, ports(of), node, { ...DEFAULT, nodePorts: false }).onSwitch).toEqual({});
  });

  test('a local external policy: at the gateway router endpoints of the node with the source kept, and the host has an address for them', () => {
    const of = facts({ ...balancer, externalTrafficPolicy: 'Local' }, ingress);
    const { onSwitch, onRouter, onRouterLocally } = nodeVips(of, ports(of), node, DEFAULT);
    expect(onSwitch).toEqual({
      '169.254.0.3:30080': 'l:1',
      '172.18.0.3:30080': 'a:1,o:1,l:1',
      '172.19.0.9:80': 'a:1,o:1,l:1',
    });
    expect(onRouter).toEqual({});
    expect(onRouterLocally).toEqual({ '172.18.0.3:30080': 'l:1', '172.19.0.9:80': 'l:1' });
  });

  test('and without endpoints on the node the gateway router rejects', () => {
    const of = facts({ ...balancer, externalTrafficPolicy: 'Local' });
    const { onRouter, onRouterLocally } = nodeVips(
      of,
      ports(of, { ownLocal: to('') }),
      node,
      DEFAULT,
    );
    expect(onRouter).toEqual({ '172.18.0.3:30080': '' });
    expect(onRouterLocally).toEqual({});
  });

  test('a local internal policy: on a primary network also at the gateway router, by which processes of the host come, where nobody comes from outside', () => {
    const atRouter = (spec: object, isPrimary: boolean): unknown => {
      const of = facts({ internalTrafficPolicy: 'Local', ...spec });
      return nodeVips(of, ports(of), node, { nodePorts: true, isPrimary }).onRouter['10.96.1.1:80'];
    };
    expect(atRouter({}, true)).toBe('l:1');
    expect(atRouter({}, false)).toBe('o:1,l:1');
    expect(atRouter(balancer, true)).toBe('o:1,l:1');
    expect(atRouter({ externalIPs: ['203.0.113.1'] }, true)).toBe('o:1,l:1');
  });

  test("endpoints on the host: the gateway router, which has the host's address itself, reaches them by another", () => {
    const of = facts({});
    const own = to('172.18.0.3:6443,172.18.0.4:6443');
    const { onSwitch, onRouter } = nodeVips(
      of,
      ports(of, { hasHostEndpoints: true, all: own, own }),
      node,
      DEFAULT,
    );
    expect(onSwitch).toEqual({ '10.96.1.1:80': own.v4 });
    expect(onRouter).toEqual({ '10.96.1.1:80': '169.254.0.2:6443,172.18.0.4:6443' });
  });
});

describe('node ports that chassis fill in', () => {
  test('are those whose targets are the same on every node', () => {
    expect(hasPlainNodePorts(facts(balancer))).toBe(true);
    expect(hasPlainNodePorts(facts({ ...balancer, externalTrafficPolicy: 'Local' }))).toBe(false);
    expect(hasPlainNodePorts(facts({ ...balancer, sessionAffinity: 'ClientIP' }))).toBe(false);
  });

  test('are at variables that stand for addresses of the host, one per family and number', () => {
    const of = facts(balancer);
    expect(templateVips(of, ports(of), node, ['v4'])).toEqual([
      {
        family: 'v4',
        onSwitch: { '^NODEIP_IPv4_0:30080': 'a:1,o:1,l:1' },
        onRouter: { '^NODEIP_IPv4_0:30080': 'a:1,o:1,l:1' },
      },
    ]);
    expect(addressVariables(['172.18.0.3', '10.0.0.1', 'fc00::3'], ['v4', 'v6'])).toEqual({
      NODEIP_IPv4_0: '172.18.0.3',
      NODEIP_IPv4_1: '10.0.0.1',
      NODEIP_IPv6_0: 'fc00::3',
    });
  });

  test('lead at the gateway router to a variable where an endpoint is on a host', () => {
    const of = facts(balancer);
    const onHost = ports(of, { hasHostEndpoints: true, all: to('172.18.0.3:6443') });
    const variable = 'Service__blue_web__TCP__30080__node__router__template__IPv4';
    expect(templateVips(of, onHost, node, ['v4'])[0]?.onRouter).toEqual({
      '^NODEIP_IPv4_0:30080': `^${variable}`,
    });
    expect(targetVariables(of, onHost, node)).toEqual({ [variable]: '169.254.0.2:6443' });
  });
});

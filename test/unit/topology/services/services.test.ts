import { describe, expect, test } from 'vitest';
import type { EndpointSlice, Service } from '../../../../src/api/types.ts';
import type { DesiredRow } from '../../../../src/desired/rows.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import { rowTexts } from '../../../support/zone/row-text.ts';
import { service, slice, withServices, type SliceOptions } from '../../../support/zone/services.ts';
import {
  blue,
  connectedZone,
  dualZone,
  exampleZone,
  factsOf,
  networkName,
  yellow,
  type Zone,
} from '../../../support/zone/zones.ts';
import { rowsOf, short } from '../unit-texts.ts';

const SERVICES = /^services\/(load-balancers|template-variables)/;

/** All that services come to, with `OPTIONS` for those that every load balancer has. */
const textsOf = (zone: Zone): string[] =>
  rowTexts(rowsOf(zone, SERVICES)).map((text) =>
    short(text)
      .replace(/ external_ids=\{k\/kind=Service k\/owner=[^ ]*\}/, '')
      .replace(
        / external_ids=\{k\/kind=Service k\/network=blue_blue k\/owner=[^ ]* k\/role=primary\}/,
        ' BLUE',
      )
      .replace(
        / options=\{event=false hairpin_snat_ip=169.254.0.5( fd69::5)? neighbor_responder=none reject=true skip_snat=false\}/,
        '',
      )
      .replaceAll(/< [A-Za-z_]+\/([^ ]*)\.load_balancer/g, '< $1'),
  );

const onBlue: SliceOptions = { network: 'blue_blue', ports: [{ port: 8080 }] };
const BACKENDS = ['103.103.0.3 on ovn-worker', '103.103.1.5 on ovn-worker2'];
const both = (key: string): EndpointSlice => slice(key, BACKENDS, onBlue);
const BOTH = '103.103.0.3:8080,103.103.1.5:8080';

const zoneWith = (...objects: readonly (Service | EndpointSlice)[]): Zone =>
  withServices(exampleZone, ...objects);

const vipsOf = (rows: readonly DesiredRow[]): Record<string, unknown> =>
  Object.fromEntries(rows.map(({ key, columns }) => [key, columns['vips']]));

/** Addresses and targets of the load balancers of a zone, by name. */
const vips = (zone: Zone): Record<string, unknown> =>
  vipsOf(rowsOf(zone, SERVICES).filter(({ table }) => table === 'Load_Balancer'));

describe('the worked example: network blue_blue on ovn-worker (reference/topology.md §15.3)', () => {
  const VARIABLES = 'Chassis_Template_Var C1 chassis=C1 variables={NODEIP_IPv4_0=172.18.0.3}';

  test('nothing but the addresses of the host without services', () => {
    expect(textsOf(exampleZone)).toEqual([VARIABLES]);
  });

  test('a row complete', () => {
    const zone = zoneWith(
      service('blue/svc-cip', { clusterIPs: ['10.96.1.1'] }),
      both('blue/svc-cip'),
    );
    const rows = rowTexts(rowsOf(zone, /^services\/load-balancers/));
    expect(rows).toEqual([
      'Load_Balancer blue_blue_Service_blue/svc-cip_TCP_cluster' +
        ' external_ids={k8s.ovn.org/kind=Service k8s.ovn.org/network=blue_blue k8s.ovn.org/owner=blue/svc-cip k8s.ovn.org/role=primary}' +
        ' options={event=false hairpin_snat_ip=169.254.0.5 neighbor_responder=none reject=true skip_snat=false}' +
        ` protocol=tcp vips={10.96.1.1:80=${BOTH}} < Load_Balancer_Group/blue_blue_clusterLBGroup.load_balancer`,
    ]);
  });

  test('a cluster IP', () => {
    const cip = service('blue/svc-cip', { clusterIPs: ['10.96.1.1'] });
    expect(textsOf(zoneWith(cip, both('blue/svc-cip')))).toEqual([
      VARIABLES,
      `Load_Balancer blue_blue_Service_blue/svc-cip_TCP_cluster BLUE protocol=tcp vips={10.96.1.1:80=${BOTH}} < blue_blue_clusterLBGroup`,
    ]);
  });

  test('a node port', () => {
    const nodePort = service('blue/svc-np', {
      type: 'NodePort',
      clusterIPs: ['10.96.1.2'],
      ports: [{ port: 80, nodePort: 30080 }],
    });
    expect(textsOf(zoneWith(nodePort, both('blue/svc-np')))).toEqual([
      VARIABLES,
      `Load_Balancer blue_blue_Service_blue/svc-np_TCP_cluster BLUE protocol=tcp vips={10.96.1.2:80=${BOTH}} < blue_blue_clusterLBGroup`,
      `Load_Balancer blue_blue_Service_blue/svc-np_TCP_node_router+switch_ovn-worker BLUE protocol=tcp vips={172.18.0.3:30080=${BOTH}} < GR_blue_blue_ovn-worker < blue_blue_ovn-worker`,
    ]);
  });

  const localBalancer = service(
    'blue/svc-etpl',
    {
      type: 'LoadBalancer',
      clusterIPs: ['10.96.1.3'],
      ports: [{ port: 80, nodePort: 30081 }],
      externalTrafficPolicy: 'Local',
    },
    { loadBalancer: { ingress: [{ ip: '172.19.0.9' }] } },
  );

  test('a load balancer whose traffic from outside stays on the node', () => {
    expect(textsOf(zoneWith(localBalancer, both('blue/svc-etpl')))).toEqual([
      VARIABLES,
      `Load_Balancer blue_blue_Service_blue/svc-etpl_TCP_cluster BLUE protocol=tcp vips={10.96.1.3:80=${BOTH}} < blue_blue_clusterLBGroup`,
      'Load_Balancer blue_blue_Service_blue/svc-etpl_TCP_node_local_router_ovn-worker BLUE' +
        ' options={event=false hairpin_snat_ip=169.254.0.5 neighbor_responder=none reject=true skip_snat=true} protocol=tcp' +
        ' vips={172.18.0.3:30081=103.103.0.3:8080 172.19.0.9:80=103.103.0.3:8080} < GR_blue_blue_ovn-worker',
      'Load_Balancer blue_blue_Service_blue/svc-etpl_TCP_node_switch_ovn-worker BLUE protocol=tcp' +
        ` vips={169.254.0.3:30081=103.103.0.3:8080 172.18.0.3:30081=${BOTH} 172.19.0.9:80=${BOTH}} < blue_blue_ovn-worker`,
    ]);
  });

  test('the same on a node without endpoints: the gateway router rejects', () => {
    const remote = slice('blue/svc-etpl', ['103.103.1.5 on ovn-worker2'], onBlue);
    expect(vips(zoneWith(localBalancer, remote))).toEqual({
      'blue_blue_Service_blue/svc-etpl_TCP_cluster': { '10.96.1.3:80': '103.103.1.5:8080' },
      'blue_blue_Service_blue/svc-etpl_TCP_node_router_ovn-worker': {
        '172.18.0.3:30081': '',
        '172.19.0.9:80': '',
      },
      'blue_blue_Service_blue/svc-etpl_TCP_node_switch_ovn-worker': {
        '169.254.0.3:30081': '',
        '172.18.0.3:30081': '103.103.1.5:8080',
        '172.19.0.9:80': '103.103.1.5:8080',
      },
    });
  });

  test('a cluster IP whose traffic stays on the node', () => {
    const local = service('blue/svc-itpl', {
      clusterIPs: ['10.96.1.4'],
      internalTrafficPolicy: 'Local',
    });
    expect(textsOf(zoneWith(local, both('blue/svc-itpl')))).toEqual([
      VARIABLES,
      'Load_Balancer blue_blue_Service_blue/svc-itpl_TCP_node_router+switch_ovn-worker BLUE protocol=tcp vips={10.96.1.4:80=103.103.0.3:8080} < GR_blue_blue_ovn-worker < blue_blue_ovn-worker',
    ]);
  });

  test('default/kubernetes: its endpoints are hosts, and the gateway router reaches its own by another address', () => {
    const kubernetes = service('default/kubernetes', {
      clusterIPs: ['10.96.0.1'],
      ports: [{ name: 'https', port: 443, targetPort: 6443 }],
    });
    const servers = slice('default/kubernetes', ['172.18.0.3', '172.18.0.4'], {
      ports: [{ name: 'https', port: 6443 }],
    });
    expect(textsOf(zoneWith(kubernetes, servers))).toEqual([
      VARIABLES,
      'Load_Balancer Service_default/kubernetes_TCP_node_router_ovn-worker protocol=tcp vips={10.96.0.1:443=169.254.0.2:6443,172.18.0.4:6443} < GR_ovn-worker',
      'Load_Balancer Service_default/kubernetes_TCP_node_switch_ovn-worker protocol=tcp vips={10.96.0.1:443=172.18.0.3:6443,172.18.0.4:6443} < ovn-worker',
    ]);
  });
});

describe('node ports of the default network (reference/topology.md §15.2)', () => {
  const spec = {
    type: 'NodePort',
    clusterIPs: ['10.96.2.1'],
    ports: [{ port: 80, nodePort: 30080 }],
  };
  const pods = slice('default/web', ['10.244.0.7 on ovn-worker', '10.244.1.7 on ovn-worker2']);
  const PODS = '10.244.0.7:8080,10.244.1.7:8080';

  test('are filled in by the chassis: one row for switches and routers', () => {
    expect(textsOf(zoneWith(service('default/web', spec), pods))).toEqual([
      'Chassis_Template_Var C1 chassis=C1 variables={NODEIP_IPv4_0=172.18.0.3}',
      `Load_Balancer Service_default/web_TCP_cluster protocol=tcp vips={10.96.2.1:80=${PODS}} < clusterLBGroup`,
      'Load_Balancer Service_default/web_TCP_node_switch_template_IPv4_merged' +
        ' options={address-family=ipv4 event=false hairpin_snat_ip=169.254.0.5 neighbor_responder=none reject=true skip_snat=false template=true}' +
        ` protocol=tcp vips={^NODEIP_IPv4_0:30080=${PODS}} < clusterSwitchLBGroup < clusterRouterLBGroup`,
    ]);
  });

  test('with an endpoint on this host: the gateway router has targets that the chassis fills in, too', () => {
    const hosts = slice('kube-system/node-agent', [
      '172.18.0.3 on ovn-worker',
      '172.18.0.4 on ovn-worker2',
    ]);
    const zone = zoneWith(service('kube-system/node-agent', spec), hosts);
    expect(
      rowsOf(zone, SERVICES).find(({ table }) => table === 'Chassis_Template_Var')?.columns[
        'variables'
      ],
    ).toEqual({
      NODEIP_IPv4_0: '172.18.0.3',
      Service__kube_system_node_agent__TCP__30080__node__router__template__IPv4:
        '169.254.0.2:8080,172.18.0.4:8080',
    });
    expect(vips(zone)).toMatchObject({
      'Service_kube-system/node-agent_TCP_node_switch_template_IPv4': {
        '^NODEIP_IPv4_0:30080': '172.18.0.3:8080,172.18.0.4:8080',
      },
      'Service_kube-system/node-agent_TCP_node_router_template_IPv4': {
        '^NODEIP_IPv4_0:30080':
          '^Service__kube_system_node_agent__TCP__30080__node__router__template__IPv4',
      },
    });
  });

  test.each([
    ['affinity', { sessionAffinity: 'ClientIP' }],
    ['traffic from outside that stays on the node', { externalTrafficPolicy: 'Local' }],
  ])('with %s are rows of the node', (_what, more) => {
    const zone = zoneWith(service('default/web', { ...spec, ...more }), pods);
    const names = Object.keys(vips(zone));
    expect(names.filter((name) => name.includes('template'))).toEqual([]);
    expect(names.filter((name) => name.endsWith('_ovn-worker'))).not.toEqual([]);
  });

  test('there are none where node ports are off', () => {
    const gateway = { ...exampleZone.node.gateway!, nodePortEnable: false };
    const zone: Zone = {
      ...zoneWith(service('default/web', spec), pods, service('blue/np', spec), both('blue/np')),
      node: { ...exampleZone.node, gateway },
    };
    expect(vips(zone)).toEqual({
      'Service_default/web_TCP_cluster': { '10.96.2.1:80': PODS },
      'blue_blue_Service_blue/np_TCP_cluster': { '10.96.2.1:80': BOTH },
    });
    expect(textsOf(zone).filter((text) => text.startsWith('Chassis'))).toEqual([]);
  });
});

describe('what a service says', () => {
  const spec = { clusterIPs: ['10.96.1.1'] };
  const web = (more: object, status: Readonly<Record<string, unknown>> = {}): Service =>
    service('blue/web', { ...spec, ...more }, status);
  const columnsOf = (...objects: readonly (Service | EndpointSlice)[]): DesiredRow['columns'][] =>
    rowsOf(zoneWith(...objects, both('blue/web')), /^services\/load-balancers/).map(
      ({ columns }) => columns,
    );

  test.each([
    ['headless', { clusterIP: 'None', clusterIPs: ['None'] }],
    ['an external name', { type: 'ExternalName', externalName: 'a.example', clusterIPs: [] }],
    ['not allocated yet', { clusterIPs: [] }],
  ])('%s: it has no load balancer', (_what, more) => {
    expect(columnsOf(web(more))).toEqual([]);
  });

  test('external IPs and addresses of its load balancer are reached as its cluster IP is', () => {
    const status = {
      loadBalancer: {
        ingress: [
          { ip: '172.19.0.9' },
          { hostname: 'a.example' },
          { ip: '172.19.0.10', ipMode: 'Proxy' },
        ],
      },
    };
    const [columns] = columnsOf(
      web({ type: 'LoadBalancer', externalIPs: ['192.0.2.1', '10.96.1.1'] }, status),
    );
    expect(columns?.['vips']).toEqual({
      '10.96.1.1:80': BOTH,
      '192.0.2.1:80': BOTH,
      '172.19.0.9:80': BOTH,
    });
  });

  test('a load balancer without node ports has its addresses alone', () => {
    const zone = zoneWith(
      service(
        'blue/web',
        {
          ...spec,
          type: 'LoadBalancer',
          allocateLoadBalancerNodePorts: false,
          externalTrafficPolicy: 'Local',
        },
        { loadBalancer: { ingress: [{ ip: '172.19.0.9' }] } },
      ),
      both('blue/web'),
    );
    expect(vips(zone)).toEqual({
      'blue_blue_Service_blue/web_TCP_cluster': { '10.96.1.1:80': BOTH },
      'blue_blue_Service_blue/web_TCP_node_local_router_ovn-worker': {
        '172.19.0.9:80': '103.103.0.3:8080',
      },
      'blue_blue_Service_blue/web_TCP_node_switch_ovn-worker': { '172.19.0.9:80': BOTH },
    });
  });

  test.each([
    ['the default', {}, { affinity_timeout: '10800' }, undefined],
    [
      'a time',
      { sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } } },
      { affinity_timeout: '60' },
      undefined,
    ],
    [
      'a day, for which a hash does',
      { sessionAffinityConfig: { clientIP: { timeoutSeconds: 86_400 } } },
      {},
      ['ip_dst', 'ip_src'],
    ],
  ])('clients stay with an endpoint: %s', (_what, more, options, fields) => {
    const [columns] = columnsOf(web({ sessionAffinity: 'ClientIP', ...more }));
    const found = Object.entries((columns?.['options'] ?? {}) as Record<string, string>);
    expect(Object.fromEntries(found.filter(([key]) => key === 'affinity_timeout'))).toEqual(
      options,
    );
    expect(columns?.['selection_fields']).toEqual(fields);
  });

  test('one load balancer per protocol, with all ports of it', () => {
    const zone = zoneWith(
      web({
        ports: [
          { name: 'http', port: 80 },
          { name: 'https', port: 443 },
          { name: 'dns', port: 53, protocol: 'UDP' },
          { name: 'signal', port: 3868, protocol: 'SCTP' },
        ],
      }),
      slice('blue/web', BACKENDS, {
        network: 'blue_blue',
        ports: [
          { name: 'http', port: 8080, protocol: 'TCP' },
          { name: 'dns', port: 5353, protocol: 'UDP' },
          { name: 'signal', port: 3868, protocol: 'SCTP' },
          { name: 'http', port: 9, protocol: 'UDP' },
          { name: 'all' },
        ],
      }),
    );
    expect(vips(zone)).toEqual({
      'blue_blue_Service_blue/web_TCP_cluster': { '10.96.1.1:80': BOTH, '10.96.1.1:443': '' },
      'blue_blue_Service_blue/web_UDP_cluster': {
        '10.96.1.1:53': '103.103.0.3:5353,103.103.1.5:5353',
      },
      'blue_blue_Service_blue/web_SCTP_cluster': {
        '10.96.1.1:3868': '103.103.0.3:3868,103.103.1.5:3868',
      },
    });
    const protocols = rowsOf(zone, /^services\/load-balancers/).map(
      ({ columns }) => columns['protocol'],
    );
    expect(protocols).toEqual(['tcp', 'udp', 'sctp']);
  });

  test('a named target port may be another number on each pod', () => {
    const ports = (port: number) => ({
      network: 'blue_blue',
      name: `of-${port}`,
      ports: [{ name: 'http', port }],
    });
    const zone = zoneWith(
      web({ ports: [{ name: 'http', port: 80, targetPort: 'web' }] }),
      slice('blue/web', ['103.103.1.5'], ports(8080)),
      slice('blue/web', ['103.103.0.3', '103.103.1.5'], ports(9090)),
    );
    expect(vips(zone)).toEqual({
      'blue_blue_Service_blue/web_TCP_cluster': {
        '10.96.1.1:80': '103.103.0.3:9090,103.103.1.5:8080,103.103.1.5:9090',
      },
    });
  });

  test('addresses of both families lead to endpoints of their own', () => {
    const dual = service('blue/web', {
      type: 'NodePort',
      clusterIPs: ['10.96.1.1', 'fd00:10:96::1:1'],
      ports: [{ port: 80, nodePort: 30080 }],
    });
    const zone = withServices(
      dualZone,
      dual,
      both('blue/web'),
      slice('blue/web', ['fd20:103:0:1::3 on ovn-worker'], { ...onBlue, name: 'v6' }),
    );
    expect(vips(zone)).toEqual({
      'blue_blue_Service_blue/web_TCP_cluster': {
        '10.96.1.1:80': BOTH,
        '[fd00:10:96::1:1]:80': '[fd20:103:0:1::3]:8080',
      },
      'blue_blue_Service_blue/web_TCP_node_router+switch_ovn-worker': {
        '172.18.0.3:30080': BOTH,
        '[fc00:f853::3]:30080': '[fd20:103:0:1::3]:8080',
      },
    });
    expect(rowsOf(zone, /^services\/load/)[0]?.columns['options']).toMatchObject({
      hairpin_snat_ip: '169.254.0.5 fd69::5',
    });
  });
});

describe('which endpoints take traffic', () => {
  const at = (address: string, conditions: object): object => ({
    addresses: [address],
    conditions,
  });
  const READY = at('103.103.0.1', { ready: true });
  const UNREADY = at('103.103.0.2', { ready: false });
  const ENDING = at('103.103.0.3', { ready: false, serving: true, terminating: true });
  const GONE = at('103.103.0.4', { ready: false, serving: false, terminating: true });
  const UNKNOWN = { addresses: ['103.103.0.5'] };

  const targets = (endpoints: readonly object[], more: object = {}): unknown => {
    const web = service('blue/web', { clusterIPs: ['10.96.1.1'], ...more });
    const zone = zoneWith(web, slice('blue/web', endpoints as never, onBlue));
    return Object.values(Object.values(vips(zone))[0] as object)[0];
  };

  test.each([
    [
      'ready ones, and those of which nothing is said',
      [READY, UNREADY, ENDING, GONE, UNKNOWN],
      '103.103.0.1:8080,103.103.0.5:8080',
    ],
    [
      'none ready: those that are ending and still serve',
      [UNREADY, ENDING, GONE],
      '103.103.0.3:8080',
    ],
    ['none at all', [UNREADY, GONE], ''],
  ])('%s', (_what, endpoints, expected) => {
    expect(targets(endpoints)).toBe(expected);
  });

  test('all of them, if the service wants that', () => {
    expect(targets([READY, UNREADY, ENDING, GONE], { publishNotReadyAddresses: true })).toBe(
      '103.103.0.1:8080,103.103.0.2:8080,103.103.0.3:8080,103.103.0.4:8080',
    );
  });

  test('the rule holds for those of this node by themselves', () => {
    const here = (address: string, conditions: object): object => ({
      ...at(address, conditions),
      nodeName: 'ovn-worker',
    });
    const zone = zoneWith(
      service('blue/web', { clusterIPs: ['10.96.1.1'], internalTrafficPolicy: 'Local' }),
      slice(
        'blue/web',
        [
          here('103.103.0.3', { ready: false, serving: true, terminating: true }),
          at('103.103.1.5', { ready: true }),
        ] as never,
        onBlue,
      ),
    );
    expect(vips(zone)).toEqual({
      'blue_blue_Service_blue/web_TCP_node_router+switch_ovn-worker': {
        '10.96.1.1:80': '103.103.0.3:8080',
      },
    });
  });

  test('in the order of their addresses as texts, each once', () => {
    const again = slice('blue/web', ['103.103.0.10', '103.103.0.9'], { ...onBlue, name: 'b' });
    const first = slice('blue/web', ['103.103.0.9', '103.103.0.1'], onBlue);
    const zone = zoneWith(service('blue/web', { clusterIPs: ['10.96.1.1'] }), first, again);
    expect(vips(zone)).toEqual({
      'blue_blue_Service_blue/web_TCP_cluster': {
        '10.96.1.1:80': '103.103.0.1:8080,103.103.0.10:8080,103.103.0.9:8080',
      },
    });
  });

  test("Kubernetes' own slices are those of the default network alone, and slices of another network nobody's", () => {
    const web = service('blue/web', { clusterIPs: ['10.96.1.1'] });
    const other = slice('blue/web', ['103.103.0.3'], { network: 'red_red', name: 'b' });
    expect(vips(zoneWith(web, slice('blue/web', ['10.244.0.3']), other))).toEqual({
      'blue_blue_Service_blue/web_TCP_cluster': { '10.96.1.1:80': '' },
    });
  });
});

describe('on which networks a service is', () => {
  const web = service('blue/web', { clusterIPs: ['10.96.1.1'] });
  const names = (zone: Zone): string[] => Object.keys(vips(zone)).sort();

  test('on the primary one of its namespace', () => {
    expect(names(zoneWith(web))).toEqual(['blue_blue_Service_blue/web_TCP_cluster']);
  });

  test('on the default one, in a namespace that asks for none', () => {
    const zone = {
      ...zoneWith(web),
      networks: [exampleZone.networks[0]!, { ...blue, namespaces: [] }],
    };
    expect(names(zone)).toEqual(['Service_blue/web_TCP_cluster']);
  });

  test('nowhere, while its namespace asks for one and has none yet, or is not known', () => {
    const red = service('red/web', { clusterIPs: ['10.96.1.9'] });
    const asking = {
      ...exampleZone,
      namespaces: ['red', 'default'],
      networks: [exampleZone.networks[0]!, { ...blue, namespaces: ['red'] }],
    };
    expect(names(withServices(asking, red))).toEqual([]);
    expect(names(zoneWith(red))).toEqual([]);
  });

  test('on each of several primary networks', () => {
    const second = {
      ...blue,
      name: networkName('blue_more'),
      id: 2,
      nads: ['blue/more'],
      subnets: [{ cidr: '103.104.0.0/16', hostLength: 24 }],
    };
    const zone = { ...zoneWith(web), networks: [...exampleZone.networks, second] };
    expect(names(zone)).toEqual([
      'blue_blue_Service_blue/web_TCP_cluster',
      'blue_more_Service_blue/web_TCP_cluster',
    ]);
  });

  test('not on a secondary one', () => {
    const secondary = {
      ...blue,
      name: networkName('blue_sec'),
      id: 2,
      role: 'secondary' as const,
      nads: ['blue/sec'],
    };
    const zone = { ...zoneWith(web), networks: [...exampleZone.networks, secondary] };
    expect(names(zone)).toEqual(['blue_blue_Service_blue/web_TCP_cluster']);
  });

  test('a service is marked as what its rows are for', () => {
    const [row] = rowsOf(zoneWith(web), /^services\/load-balancers/);
    expect(row?.object).toBe('Service blue/web');
  });

  test('an endpoint outside of the network has the cluster IP balanced by node, as hosts are there', () => {
    const zone = zoneWith(web, slice('blue/web', ['103.103.0.3', '172.18.0.3'], onBlue));
    expect(vips(zone)).toEqual({
      'blue_blue_Service_blue/web_TCP_node_router_ovn-worker': {
        '10.96.1.1:80': '103.103.0.3:8080,169.254.0.2:8080',
      },
      'blue_blue_Service_blue/web_TCP_node_switch_ovn-worker': {
        '10.96.1.1:80': '103.103.0.3:8080,172.18.0.3:8080',
      },
    });
  });
});

test('on a Layer2 network, rows of the node are on the switch that all nodes share and on the gateway router', () => {
  const zone = {
    ...withServices(
      exampleZone,
      service('yellow/web', { clusterIPs: ['10.96.1.8'], internalTrafficPolicy: 'Local' }),
      slice('yellow/web', ['105.105.0.5 on ovn-worker'], { network: 'cluster_udn_yellow-net' }),
    ),
    namespaces: [...exampleZone.namespaces, 'yellow'],
    networks: [...exampleZone.networks, yellow],
  };
  const places = rowsOf(zone, /^services\/load-balancers/).map(({ containers }) =>
    containers.map(({ key }) => key),
  );
  expect(places).toEqual([
    ['cluster_udn_yellow.net_ovn_layer2_switch', 'GR_cluster_udn_yellow.net_ovn-worker'].reverse(),
  ]);
});

describe('where the network is not as it should be', () => {
  const local = service('blue/web', { clusterIPs: ['10.96.1.1'], internalTrafficPolicy: 'Local' });

  test('without a subnet on this node, rows of the node wait', () => {
    const networks = [exampleZone.networks[0]!, { ...blue, nodeSubnets: new Map() }];
    const built = builtUnits(factsOf({ ...zoneWith(local, both('blue/web')), networks }));
    const unit = built.find(({ unit }) => unit === 'services/load-balancers blue_blue blue/web');
    expect(unit).toMatchObject({
      rows: [],
      waitsFor: ['a subnet of network blue_blue on node ovn-worker'],
    });
  });

  test('without a gateway router, they are on the switch alone', () => {
    const { gateway: _gateway, ...node } = exampleZone.node;
    expect(vips({ ...zoneWith(local, both('blue/web')), node })).toEqual({
      'blue_blue_Service_blue/web_TCP_node_switch_ovn-worker': {
        '10.96.1.1:80': '103.103.0.3:8080',
      },
    });
  });

  test.each(['service.kubernetes.io/service-proxy-name', 'service.kubernetes.io/headless'])(
    'a service, or a slice, labelled %s is not served, and served again without the label',
    (label) => {
      const labelled = <T extends Service | EndpointSlice>(object: T): T => ({
        ...object,
        metadata: { ...object.metadata, labels: { ...object.metadata.labels, [label]: '' } },
      });
      const web = service('blue/web', { clusterIPs: ['10.96.1.1'] });
      const name = 'blue_blue_Service_blue/web_TCP_cluster';
      expect(vips(zoneWith(web, both('blue/web')))).toEqual({ [name]: { '10.96.1.1:80': BOTH } });
      expect(vips(zoneWith(labelled(web), both('blue/web')))).toEqual({});
      expect(vips(zoneWith(web, labelled(both('blue/web'))))).toEqual({
        [name]: { '10.96.1.1:80': '' },
      });
    },
  );

  test('a name that is none of Kubernetes gets no rows', () => {
    const facts = factsOf(zoneWith(service('blue/we"b', { clusterIPs: ['10.96.1.1'] })));
    const unit = builtUnits(facts).find(({ unit }) => unit.startsWith('services/load-balancers'));
    expect(unit?.rows).toEqual([]);
    expect(unit?.problems[0]).toContain('may only hold letters');
  });
});

test('of two services with one cluster IP on connected networks one is shared, and the other says why it is not', () => {
  const zone: Zone = {
    ...withServices(
      connectedZone,
      service('blue/web', { clusterIPs: ['10.96.1.1'] }),
      both('blue/web'),
      service('green/web', { clusterIPs: ['10.96.1.1'] }),
      slice('green/web', ['104.104.0.5 on ovn-worker'], { network: 'cluster_udn_green-net' }),
      service('green/other', { clusterIPs: ['10.96.1.1'], ports: [{ port: 81 }] }),
      slice('green/other', ['104.104.0.5 on ovn-worker'], { network: 'cluster_udn_green-net' }),
    ),
    namespaces: [...connectedZone.namespaces, 'green'],
    connects: (connectedZone.connects ?? []).map((one) => ({ ...one, hasServices: true })),
  };
  const shared = rowsOf(zone, /^services\/load-balancers/)
    .filter(({ containers }) => containers.some(({ key }) => key === 'cnc_svc_colored-net'))
    .map(({ key }) => key);
  expect(shared).toEqual([
    'blue_blue_Service_blue/web_TCP_cluster',
    'cluster_udn_green.net_Service_green/other_TCP_cluster',
  ]);
  expect(builtUnits(factsOf(zone)).flatMap(({ problems }) => problems)).toEqual([
    'Service green/web: ClusterNetworkConnect colored-net does not share it: service blue/web of another network of the connection has its cluster IP and port too (10.96.1.1); give one of the two another cluster IP',
  ]);
});

test('a service with a local internal policy is reached from connected networks at its endpoints of the node', () => {
  const zone: Zone = {
    ...withServices(
      connectedZone,
      service('blue/web', {
        clusterIPs: ['10.96.1.1'],
        internalTrafficPolicy: 'Local',
        ports: [{ port: 80, nodePort: 30080 }],
      }),
      both('blue/web'),
    ),
    connects: (connectedZone.connects ?? []).map((one) => ({
      ...one,
      hasPods: false,
      hasServices: true,
    })),
  };
  const onGreen = rowsOf(zone, /^services\/load-balancers/)
    .filter(({ containers }) =>
      containers.some(({ key }) => key === 'cluster_udn_green.net_ovn-worker'),
    )
    .map(({ key, columns }) => [key, columns['vips']]);
  expect(onGreen).toEqual([
    [
      'blue_blue_Service_blue/web_TCP_node_connected_ovn-worker',
      { '10.96.1.1:80': '103.103.0.3:8080' },
    ],
  ]);
});

import { describe, expect, test } from 'vitest';
import type { HostPortRequests } from '../../../../src/model/read/host-ports.ts';
import { hostPortBalancers } from '../../../../src/topology/services/host-ports.ts';
import { bluePod, exampleZone, type Zone } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

const zone = (ports: HostPortRequests['ports']): Zone => ({
  ...exampleZone,
  attachments: [bluePod],
  hostPortRequests: [{ namespace: 'blue', name: 'pod1', created: '', ports }],
});
const rows = (of: Zone): readonly string[] => featureTexts([hostPortBalancers], of);
const balanced = (of: Zone): readonly string[] =>
  rows(of).map((text) =>
    text
      .replace(/^Load_Balancer blue_blue_Pod_blue\/pod1_/, '')
      .replace(/ (external_ids|options)=\{[^}]*\}/g, '')
      .replace(/ protocol=\w+/, ''),
  );

describe('ports of the node that a pod has (reference/topology.md §15.2)', () => {
  test('are balanced at the switch, at the gateway router with the address of the client, and there for the host', () => {
    const of = zone([{ protocol: 'TCP', hostPort: 8080, containerPort: 80 }]);
    expect(balanced(of)).toEqual([
      'TCP_node_local_router_ovn-worker vips={172.18.0.3:8080=103.103.0.3:80} < Logical_Router/GR_blue_blue_ovn-worker.load_balancer',
      'TCP_node_router_ovn-worker vips={10.96.0.0:8080=103.103.0.3:80} < Logical_Router/GR_blue_blue_ovn-worker.load_balancer',
      'TCP_node_switch_ovn-worker vips={169.254.0.3:8080=103.103.0.3:80 172.18.0.3:8080=103.103.0.3:80} < Logical_Switch/blue_blue_ovn-worker.load_balancer',
    ]);
    const [local, router] = rows(of);
    expect(local).toContain('skip_snat=true');
    expect(router).toContain('skip_snat=false');
    expect(local).toContain('k/kind=Pod');
    expect(local).toContain('k/owner=blue/pod1');
  });

  test('at the loopback address are for the host alone; each protocol has rows of its own', () => {
    const of = zone([
      { protocol: 'UDP', hostPort: 53, containerPort: 5353, hostIp: '127.0.0.1' },
      { protocol: 'SCTP', hostPort: 99, containerPort: 100, hostIp: '172.18.0.3' },
    ]);
    expect(balanced(of).map((text) => text.split(' <')[0])).toEqual([
      'SCTP_node_local_router_ovn-worker vips={172.18.0.3:99=103.103.0.3:100}',
      'SCTP_node_router_ovn-worker vips={10.96.0.0:99=103.103.0.3:100}',
      'SCTP_node_switch_ovn-worker vips={169.254.0.3:99=103.103.0.3:100 172.18.0.3:99=103.103.0.3:100}',
      'UDP_node_router_ovn-worker vips={10.96.0.0:53=103.103.0.3:5353}',
    ]);
  });

  test('at two addresses lead processes of the host to the container of each', () => {
    const of = zone([
      { protocol: 'TCP', hostPort: 8080, containerPort: 80, hostIp: '127.0.0.1' },
      { protocol: 'TCP', hostPort: 8080, containerPort: 81, hostIp: '172.18.0.3' },
    ]);
    const fromHost = balanced(of).find((text) => text.startsWith('TCP_node_router'));
    expect(fromHost).toContain('10.96.0.0:8080=103.103.0.3:80');
    expect(fromHost).toMatch(/10\.96\.0\.0:\d+=103\.103\.0\.3:81/);
  });

  test('of the other family than the pod has lead nowhere', () => {
    expect(
      rows(zone([{ protocol: 'TCP', hostPort: 80, containerPort: 80, hostIp: '::1' }])),
    ).toEqual([]);
  });
});

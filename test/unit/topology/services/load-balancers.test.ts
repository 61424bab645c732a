import { describe, expect, test } from 'vitest';
import { loadBalancers } from '../../../../src/topology/services/load-balancers.ts';
import { service, slice, withServices } from '../../../support/zone/services.ts';
import { secondaryLayer3, secondaryPod, withGateway } from '../../../support/zone/zone-variants.ts';
import { exampleZone, type Zone } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

/** Name, addresses with their targets, and where it hangs. */
const balanced = (zone: Zone): readonly string[] =>
  featureTexts([loadBalancers], zone).map((text) =>
    text
      .replace(/^Load_Balancer /, '')
      .replace(/ (external_ids|options)=\{[^}]*\}/g, '')
      .replace(/ protocol=\w+/, ''),
  );
const endpoints = slice('blue/web', ['103.103.0.3 on ovn-worker'], { network: 'blue_blue' });

describe('a service of namespace blue (reference/topology.md §15.2)', () => {
  test('is balanced on the network of the namespace, at its switches and its gateway router', () => {
    const web = service('blue/web', { clusterIPs: ['10.96.1.1'] });
    expect(balanced(withServices(exampleZone, web, endpoints))).toEqual([
      'blue_blue_Service_blue/web_TCP_cluster vips={10.96.1.1:80=103.103.0.3:8080} < Load_Balancer_Group/blue_blue_clusterLBGroup.load_balancer',
    ]);
  });

  test('has its node ports in rows of the node, at the addresses of the host', () => {
    const web = service('blue/web', {
      type: 'NodePort',
      clusterIPs: ['10.96.1.1'],
      ports: [{ port: 80, nodePort: 30080 }],
    });
    expect(balanced(withServices(exampleZone, web, endpoints))).toEqual([
      'blue_blue_Service_blue/web_TCP_cluster vips={10.96.1.1:80=103.103.0.3:8080} < Load_Balancer_Group/blue_blue_clusterLBGroup.load_balancer',
      'blue_blue_Service_blue/web_TCP_node_router+switch_ovn-worker vips={172.18.0.3:30080=103.103.0.3:8080} < Logical_Router/GR_blue_blue_ovn-worker.load_balancer < Logical_Switch/blue_blue_ovn-worker.load_balancer',
    ]);
    expect(
      balanced(withServices(withGateway({ nodePortEnable: false }), web, endpoints)),
    ).toHaveLength(1);
  });

  test('that names a secondary network with a gateway is there as it would be on a primary one, and nowhere else', () => {
    const web = service('blue/web', {
      type: 'NodePort',
      clusterIPs: ['10.96.1.1'],
      ports: [{ port: 80, nodePort: 30080 }],
    });
    const there = slice('blue/web', ['10.80.0.5 on ovn-worker'], {
      network: 'blue_sec',
      name: 'b',
    });
    const on = (secondaryGateway: string): readonly string[] =>
      balanced({
        ...withServices(
          {
            ...exampleZone,
            networks: [...exampleZone.networks, { ...secondaryLayer3, secondaryGateway }],
            attachments: [...exampleZone.attachments, secondaryPod],
          },
          web,
          endpoints,
          there,
        ),
        askedNetworks: { 'blue/web': 'sec' },
      });
    expect(on('{}')).toEqual([
      'blue_sec_Service_blue/web_TCP_cluster vips={10.96.1.1:80=10.80.0.5:8080} < Load_Balancer_Group/blue_sec_clusterLBGroup.load_balancer',
      'blue_sec_Service_blue/web_TCP_node_router+switch_ovn-worker vips={172.18.0.3:30080=10.80.0.5:8080} < Logical_Router/GR_blue_sec_ovn-worker.load_balancer < Logical_Switch/blue_sec_ovn-worker.load_balancer',
    ]);
    expect(on('unreadable')).toEqual([]);
  });

  test('without endpoints is there, and rejects', () => {
    const web = service('blue/web', { clusterIPs: ['10.96.1.1'] });
    const empty = slice('blue/web', [], { network: 'blue_blue' });
    expect(balanced(withServices(exampleZone, web, empty))).toEqual([
      'blue_blue_Service_blue/web_TCP_cluster vips={10.96.1.1:80=} < Load_Balancer_Group/blue_blue_clusterLBGroup.load_balancer',
    ]);
  });
});

test("node ports of the default network are the same on every node: chassis fill in the host's addresses", () => {
  const agent = service('default/agent', {
    type: 'NodePort',
    clusterIPs: ['10.96.0.7'],
    ports: [{ port: 80, nodePort: 30090 }],
  });
  const targets = slice('default/agent', ['10.244.1.7 on ovn-worker2']);
  expect(balanced(withServices(exampleZone, agent, targets))).toEqual([
    'Service_default/agent_TCP_cluster vips={10.96.0.7:80=10.244.1.7:8080} < Load_Balancer_Group/clusterLBGroup.load_balancer',
    'Service_default/agent_TCP_node_switch_template_IPv4_merged vips={^NODEIP_IPv4_0:30090=10.244.1.7:8080} < Load_Balancer_Group/clusterSwitchLBGroup.load_balancer < Load_Balancer_Group/clusterRouterLBGroup.load_balancer',
  ]);
});

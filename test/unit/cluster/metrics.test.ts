import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import {
  apply,
  clusterLayer3,
  connect,
  inNamespaces,
  layer2,
  layer3,
  namespace,
  node,
  remove,
  startManager,
} from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

test('metrics count networks, their conditions and node subnets', async () => {
  const store = new MemoryStore();
  const metrics = new Registry();
  const running = startManager(store, {}, {}, { metrics });
  await apply(store, node('node1'), node('node2'), namespace('a'), namespace('b'), namespace('c'));
  await apply(store, layer3('a/net', '10.1.0.0/16/24'), layer2('b/net', '10.2.0.0/16'));
  await apply(store, clusterLayer3('shared', inNamespaces('c'), '10.3.0.0/16/20'));
  await running.settled();
  const lines = (await metrics.metrics())
    .split('\n')
    .filter((line) => line.startsWith('ovnkube_') && !line.includes('_duration_seconds_'))
    .toSorted();
  await running.stop();
  expect(lines).toEqual([
    'ovnkube_clustermanager_allocated_v4_host_subnets{network_name="a_net"} 2',
    'ovnkube_clustermanager_allocated_v4_host_subnets{network_name="cluster_udn_shared"} 2',
    'ovnkube_clustermanager_allocated_v4_host_subnets{network_name="default"} 2',
    ...['NetworkAllocationSucceeded', 'NetworkCreated'].flatMap((condition) =>
      ['False', 'True', 'Unknown'].map(
        (status) =>
          `ovnkube_clustermanager_cluster_user_defined_network_condition{name="shared",condition="${condition}",status="${status}"} ${status === 'True' ? 1 : 0}`,
      ),
    ),
    'ovnkube_clustermanager_cluster_user_defined_networks{role="Primary",topology="Layer3",transport="Default"} 1',
    'ovnkube_clustermanager_egress_ips_node_unreachable_total 0',
    'ovnkube_clustermanager_egress_ips_rebalance_total 0',
    'ovnkube_clustermanager_num_egress_ips 0',
    'ovnkube_clustermanager_num_v4_host_subnets{network_name="a_net"} 256',
    'ovnkube_clustermanager_num_v4_host_subnets{network_name="cluster_udn_shared"} 16',
    'ovnkube_clustermanager_num_v4_host_subnets{network_name="default"} 256',
    'ovnkube_clustermanager_user_defined_networks{role="Primary",topology="Layer2"} 1',
    'ovnkube_clustermanager_user_defined_networks{role="Primary",topology="Layer3"} 1',
  ]);
});

test('connections are gauges of ours: how many networks each joins, and why one is not accepted', async () => {
  const store = new MemoryStore();
  const metrics = new Registry();
  const running = startManager(store, {}, {}, { metrics });
  await apply(store, node('node1'), namespace('a'), namespace('b'));
  await apply(store, layer3('a/net', '10.1.0.0/16/24'), layer2('b/net', '10.2.0.0/16'));
  await apply(store, connect('both', ['a', 'b'], '192.168.0.0/16/24'));
  await apply(store, connect('one', ['a'], '192.169.0.0/16/24'));
  await running.settled();
  const lines = (await metrics.metrics())
    .split('\n')
    .filter((line) => line.startsWith('heddle_cluster_connect'));
  await running.stop();
  expect(lines.toSorted()).toEqual([
    'heddle_cluster_connect_accepted{name="both",reason="ValidationSucceeded"} 1',
    'heddle_cluster_connect_accepted{name="one",reason="InsufficientNetworks"} 0',
    'heddle_cluster_connect_networks{name="both"} 2',
    'heddle_cluster_connect_networks{name="one"} 0',
  ]);
});

test('how full the annotations of each node are is a gauge of ours, until the node is gone', async () => {
  const store = new MemoryStore();
  const metrics = new Registry();
  const running = startManager(store, {}, {}, { metrics });
  await apply(
    store,
    node('node1'),
    node('node2'),
    namespace('a'),
    layer3('a/net', '10.1.0.0/16/24'),
  );
  await running.settled();
  const shares = async (): Promise<readonly (readonly [unknown, boolean])[]> => {
    const metric = metrics.getSingleMetric('heddle_cluster_node_annotations_usage_ratio');
    const { values } = (await metric?.get()) ?? { values: [] };
    return values.map(({ labels, value }) => [labels['node'], value > 0 && value < 0.01]);
  };
  expect(await shares()).toEqual([
    ['node1', true],
    ['node2', true],
  ]);
  await remove.node(store, 'node2');
  await running.settled();
  expect(await shares()).toEqual([['node1', true]]);
  await running.stop();
});

test('how long NADs and node annotations took is kept by network, until the network is gone', async () => {
  const store = new MemoryStore();
  const metrics = new Registry();
  const running = startManager(store, {}, {}, { metrics });
  await apply(store, node('node1'), node('node2'), namespace('a'), namespace('b'));
  await running.settled();
  await apply(store, layer3('a/net', '10.1.0.0/16/24'), layer2('b/net', '10.2.0.0/16'));
  await running.settled();
  const counts = async (): Promise<Readonly<Record<string, number>>> =>
    Object.fromEntries(
      (await metrics.metrics()).split('\n').flatMap((line) => {
        const found = /^ovnkube_clustermanager_(udn_[a-z_]+)_count\{name="(.+)"\} (.+)$/.exec(line);
        return found === null ? [] : [[`${found[1]} ${found[2]}`, Number(found[3])]];
      }),
    );
  const before = await counts();
  expect(Object.keys(before).toSorted()).toEqual([
    'udn_nad_sync_duration_seconds a_net',
    'udn_nad_sync_duration_seconds b_net',
    'udn_update_node_annotation_duration_seconds a_net',
  ]);
  expect(before['udn_update_node_annotation_duration_seconds a_net']).toBe(2);
  expect(before['udn_nad_sync_duration_seconds a_net']).toBeGreaterThan(0);
  await remove.udn(store, 'a/net');
  await running.settled();
  expect(Object.keys(await counts())).toEqual(['udn_nad_sync_duration_seconds b_net']);
  await running.stop();
});

import { expect, test } from 'vitest';
import { clusterNetworkConnects, resourceKinds } from '../../../src/api/kinds.ts';
import { linkFailure } from '../../../src/model/read/connects.ts';
import type { ZoneConnectStatus } from '../../../src/api/zone-status.ts';
import { zoneFacts } from '../../../src/model/zone/zone.ts';
import { ZoneInformers } from '../../../src/zone/zone-informers.ts';
import { Informers } from '../../../src/store/informers.ts';
import { ZoneStatusWriter } from '../../../src/zone/zone-status-writer.ts';
import {
  apply,
  connect,
  describeConditions,
  layer3,
  namespace,
  node,
  remove,
  silent,
  startManager,
  testSettings,
} from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const FACTS = {
  'k8s.ovn.org/node-chassis-id': 'c1',
  'k8s.ovn.org/node-encap-ips': '["172.18.0.2"]',
  'k8s.ovn.org/node-primary-ifaddr': '{"ipv4":"172.18.0.2/16"}',
};

test('what a node says of a ClusterNetworkConnect becomes its condition, until the connection is refused', async () => {
  const store = new MemoryStore();
  const stop = new AbortController();
  const { signal } = stop;
  await using running = startManager(store);
  await apply(store, node('n1', { ...FACTS, 'k8s.ovn.org/node-id': '40' }));
  await apply(store, namespace('a'), namespace('b'));
  await apply(store, layer3('a/net', '10.1.0.0/16'), layer3('b/net', '10.2.0.0/16'));
  await apply(store, connect('roomy', ['a', 'b'], '192.168.0.0/16/24'));
  await apply(store, connect('tight', ['a', 'b'], '172.31.0.0/16/28'));
  await running.settled();

  const informers = new Informers({ store, log: silent });
  const facts = zoneFacts('n1', testSettings.cluster);
  const zone = new ZoneInformers({
    informers,
    facts,
    hasOwnPodsOnly: false,
    onChange: () => undefined,
  });
  const following = informers.run(signal);
  await zone.synced(10_000);
  const writer = new ZoneStatusWriter(store, 'n1');
  const reported = async (name: string): Promise<unknown> => {
    await running.settled();
    await informers.refresh(resourceKinds, signal);
    facts.refresh(0);
    const self = facts.self.peek('n1');
    if (self === undefined) throw new Error('the node is not known');
    const connects = [...facts.connects.entries()]
      .filter(([, { isAccepted }]) => isAccepted)
      .map(([connect, one]): ZoneConnectStatus => {
        const failure = linkFailure(one, self, (id) => facts.networkOfId(id)?.name);
        return failure === undefined
          ? { name: connect, state: 'Programmed' }
          : { name: connect, state: 'Failed', message: failure };
      });
    await writer.write({ networks: [], connects, problems: [] }, signal);
    await running.settled();
    const found = await store.get(clusterNetworkConnects, name);
    return [found?.status?.status, ...describeConditions(found?.status?.conditions ?? [])];
  };
  const accepted = 'Accepted=True ValidationSucceeded: All validation checks passed successfully';
  expect(await reported('roomy')).toEqual([
    'Success',
    accepted,
    'Ready-In-Zone-n1=True OVNSetupSucceeded: Connect router and all ports created successfully',
  ]);
  expect(await reported('tight')).toEqual([
    'Failure',
    accepted,
    'Ready-In-Zone-n1=False OVNSetupFailed: network a_net, node n1: node id 40 does not fit into connect subnet 172.31.0.0/28: its largest node id is 7; connectSubnets with networkPrefix 25 would be enough (they can’t change: make the ClusterNetworkConnect again)',
  ]);
  await remove.udn(store, 'b/net');
  expect(await reported('roomy')).toEqual([
    'Failure',
    'Accepted=False InsufficientNetworks: Only 1 network selected, minimum 2 networks required for connection',
  ]);
  stop.abort();
  await following;
});

/** Mirrors of services that name a secondary network by their annotation. */
import { expect, test } from 'vitest';
import {
  endpointSlices,
  namespaces,
  networkAttachmentDefinitions,
  services,
  userDefinedNetworks,
} from '../../../src/api/kinds.ts';
import type { KubeObject, ResourceKind } from '../../../src/api/objects.ts';
import type { Service } from '../../../src/api/types.ts';
import { poolProblem } from '../../../src/cluster/networks/network-pools.ts';
import { DEFAULT_SETTINGS } from '../../../src/model/settings.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  apply,
  layer2,
  layer3,
  namespace,
  node,
  pod,
  rawNad,
} from '../../support/cluster/cluster.ts';
import { startProcess } from '../../support/cluster/cluster-process.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';
import { service as storedService, slice } from '../../support/zone/services.ts';

interface Slice extends KubeObject {
  readonly endpoints: readonly { readonly addresses: readonly string[] }[];
}
const SLICES = endpointSlices as unknown as ResourceKind<Slice>;
const NAMED = 'k8s.v1.cni.cncf.io/service-network';
const GATEWAY = 'k8s.ovn.org/secondary-gateway';
const USER = { fieldManager: 'user' };

const on = (network: string): Record<string, string> => ({
  'k8s.v1.cni.cncf.io/networks': network,
});
const withGateway = <T extends KubeObject>(object: T): T => ({
  ...object,
  metadata: { ...object.metadata, annotations: { [GATEWAY]: '{}' } },
});
const named = (network: string): Service => {
  const made = storedService('blue/web', { clusterIPs: ['10.96.1.1'] });
  return { ...made, metadata: { ...made.metadata, annotations: { [NAMED]: network } } };
};
const ask = (store: Store, network: string | null): Promise<unknown> =>
  store.patch(services, 'blue/web', { metadata: { annotations: { [NAMED]: network } } }, USER);
/** Of pods of the namespace, as Kubernetes writes it; and one address that is no pod's. */
const source = (pods: readonly string[], ...others: readonly string[]) =>
  slice('blue/web', [
    ...pods.map((name) => ({
      addresses: ['10.244.0.99'],
      targetRef: { kind: 'Pod', namespace: 'blue', name },
    })),
    ...others,
  ]);
/** `blue_out: 10.20.0.3 10.20.0.4`. */
const mirrors = async (store: Store): Promise<readonly string[]> =>
  (await store.list(SLICES)).flatMap(({ metadata, endpoints }) => {
    const network = metadata.annotations?.['k8s.ovn.org/endpointslice-network'];
    const addresses = endpoints.flatMap((endpoint) => endpoint.addresses).join(' ');
    return network === undefined ? [] : `${network}: ${addresses}`;
  });

test('hold the addresses of its pods there, and none of its namespace’s primary network', async () => {
  const store = new MemoryStore();
  await using running = startProcess(store, ['node1']);
  await apply(store, node('node1'), namespace('blue'), layer3('blue/net', '10.30.0.0/16/24'));
  await apply(store, withGateway(layer3('blue/out', '10.20.0.0/16/24', 'Secondary')));
  await apply(store, pod('blue/a', 'node1', on('out')), pod('blue/b', 'node1'));
  await apply(store, named('out'), source(['a', 'b'], '10.20.0.77', '192.0.2.7', '10.244.0.7'));
  await running.settled();
  expect(await mirrors(store)).toEqual(['blue_out: 10.20.0.3 10.20.0.77 192.0.2.7']);
  const told = running.problems().join('\n');
  expect(told).toContain(
    `blue/b: it has no IPv4 address on network blue_out, which its service names (${NAMED}): other endpoints are mirrored; name blue/out in its annotation k8s.v1.cni.cncf.io/networks`,
  );
  expect(told).toContain('10.244.0.7 is within the cluster subnet');
  await ask(store, null);
  await running.settled();
  expect(await mirrors(store)).toEqual([expect.stringMatching(/^blue_net: .*10\.30\.0\.3/)]);
});

test('are there in namespaces without a primary network, on Layer2 as well, as long as the annotation can be used', async () => {
  const store = new MemoryStore();
  await using running = startProcess(store, ['node1']);
  await apply(store, node('node1'), namespace('blue', {}), namespace('red', {}));
  await apply(store, withGateway(layer2('blue/flat', '10.40.0.0/24', 'Secondary')));
  await apply(store, layer3('blue/plain', '10.50.0.0/16/24', 'Secondary'));
  await apply(store, withGateway(layer3('red/out', '10.60.0.0/16/24', 'Secondary')));
  await apply(store, pod('blue/a', 'node1', on('flat, plain')));
  await apply(store, named('blue/flat'), source(['a'], '192.0.2.7'));
  await running.settled();
  const there = ['blue_flat: 10.40.0.3 192.0.2.7'];
  expect(await mirrors(store)).toEqual(there);
  for (const hostile of ['plain', 'red/out', 'gone', '', '[{"name": "flat"}]', '../flat']) {
    await ask(store, hostile);
    await running.settled();
    expect(await mirrors(store)).toEqual([]);
    await ask(store, 'flat');
    await running.settled();
    expect(await mirrors(store)).toEqual(there);
  }
  await ask(store, null);
  await running.settled();
  expect(await mirrors(store)).toEqual([]);
});

test('go with the gateway of the network, and with the network', async () => {
  const store = new MemoryStore();
  await using running = startProcess(store, ['node1']);
  await apply(store, node('node1'), namespace('blue', {}));
  await apply(store, withGateway(layer3('blue/out', '10.20.0.0/16/24', 'Secondary')));
  await apply(store, pod('blue/a', 'node1', on('out')), named('out'), source(['a']));
  await running.settled();
  const there = ['blue_out: 10.20.0.3'];
  expect(await mirrors(store)).toEqual(there);
  const gateway = (text: string | null): Promise<unknown> =>
    store.patch(
      userDefinedNetworks,
      'blue/out',
      { metadata: { annotations: { [GATEWAY]: text } } },
      USER,
    );
  await gateway(null);
  await running.settled();
  expect(await mirrors(store)).toEqual([]);
  await gateway('{}');
  await running.settled();
  expect(await mirrors(store)).toEqual(there);
  await store.delete(services, 'blue/web');
  await store.delete(SLICES, 'blue/web-a');
  await running.settled();
  expect(await mirrors(store)).toEqual([]);
});

test('of a network of several namespaces wait for the gateway of all of its NADs', async () => {
  const store = new MemoryStore();
  await using running = startProcess(store, ['node1']);
  const nad = (key: string, gateway: boolean) => {
    const made = rawNad(key, {
      cniVersion: '1.1.0',
      type: 'ovn-k8s-cni-overlay',
      name: 'shared',
      netAttachDefName: key,
      topology: 'layer3',
      role: 'secondary',
      subnets: '10.20.0.0/16/24',
    });
    return gateway ? withGateway(made) : made;
  };
  await apply(store, node('node1'), namespace('blue', {}), namespace('red', {}));
  await apply(store, nad('blue/out', true), nad('red/out', false));
  await running.settled();
  await apply(store, pod('blue/a', 'node1', on('out')), named('out'), source(['a']));
  await running.settled();
  expect(await mirrors(store)).toEqual([]);
  await store.patch(
    networkAttachmentDefinitions,
    'red/out',
    { metadata: { annotations: { [GATEWAY]: '{}' } } },
    USER,
  );
  await running.settled();
  expect(await mirrors(store)).toEqual(['shared: 10.20.0.3']);
  expect(await store.get(namespaces, 'red')).toBeDefined();
});

test('one of the class for addresses of a pool that names what it can not be on is told so', async () => {
  const store = new MemoryStore();
  await using running = startProcess(store, ['node1']);
  const pooled = storedService('blue/pooled', {
    type: 'LoadBalancer',
    loadBalancerClass: 'k8s.ovn.org/udn-loadbalancer',
    clusterIPs: ['10.96.1.2'],
  });
  const of = (network: string): Service => ({
    ...pooled,
    metadata: { ...pooled.metadata, annotations: { [NAMED]: network } },
  });
  const out = withGateway(layer3('blue/out', '10.20.0.0/16/24', 'Secondary'));
  const annotations = { ...out.metadata.annotations, 'k8s.ovn.org/service-pool': '198.18.5.0/28' };
  await apply(store, node('node1'), namespace('blue', {}));
  await apply(store, { ...out, metadata: { ...out.metadata, annotations } }, of('gone'));
  await running.settled();
  expect(running.problems().join()).toContain(`${NAMED}] names no network that has services`);
  await store.patch(
    services,
    'blue/pooled',
    { metadata: { annotations: { [NAMED]: 'out' } } },
    USER,
  );
  await running.settled();
  expect((await store.get(services, 'blue/pooled'))?.status?.loadBalancer?.ingress).toMatchObject([
    { ip: '198.18.5.0' },
  ]);
  expect(running.problems()).toEqual([]);
});

test('a pool is of a secondary network with a gateway: of one without it is refused', () => {
  const out = layer3('blue/out', '10.20.0.0/16/24', 'Secondary');
  const pooled = (annotations: Readonly<Record<string, string>>) => ({
    ...out,
    metadata: {
      ...out.metadata,
      annotations: { ...annotations, 'k8s.ovn.org/service-pool': '198.18.5.0/28' },
    },
  });
  const settings = { ...DEFAULT_SETTINGS, secondaryGateways: true };
  expect(poolProblem(pooled({ [GATEWAY]: '{}' }), settings)).toBeUndefined();
  expect(poolProblem(pooled({}), settings)).toBe(
    'metadata.annotations[k8s.ovn.org/service-pool]: "198.18.5.0/28" is a pool of a secondary network without a gateway, and so without services; give it annotation k8s.ovn.org/secondary-gateway, or remove this one',
  );
});

/**
 * What a tenant may write, and what becomes of it: from the objects through address management to the attachments that have ports.
 * Nothing of it brings a pod of his onto a network that is not his, or takes something away from somebody else's pod.
 */
import { describe, expect, test } from 'vitest';
import { networkAttachmentDefinitions, pods, resourceKinds } from '../../../src/api/kinds.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import { objectKey } from '../../../src/api/objects.ts';
import type { Pod } from '../../../src/api/types.ts';
import { zoneFacts } from '../../../src/model/zone/zone.ts';
import { ObjectIntake } from '../../../src/model/zone/intake.ts';
import { NodePodAddresses } from '../../../src/addresses/node-pod-addresses.ts';
import { Informers } from '../../../src/store/informers.ts';
import {
  apply,
  clusterLayer3,
  inNamespaces,
  layer3,
  namespace,
  node,
  pod,
  rawNad,
  silent,
  startManager,
  testSettings,
} from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';
import { feed } from '../../support/zone/zone-objects.ts';
import { nadsOf } from '../../support/cluster/nads-of.ts';

const POD_NETWORKS = 'k8s.ovn.org/pod-networks';
const NETWORKS = 'k8s.v1.cni.cncf.io/networks';

/** One node with the cluster manager, and what it renders: `pod network role MAC addresses` of each attachment. */
class Cluster implements AsyncDisposable {
  readonly store = new MemoryStore();
  readonly facts = zoneFacts('node1', testSettings.cluster);
  readonly #intake = new ObjectIntake(this.facts);
  readonly #manager = startManager(this.store);
  readonly #stopping = new AbortController();
  readonly #informers = new Informers({ store: this.store, log: silent });
  readonly #node = new NodePodAddresses({
    informers: this.#informers,
    node: 'node1',
    registry: nadsOf(this.#informers),
    settings: testSettings.cluster,
    log: silent,
    signal: this.#stopping.signal,
  });
  readonly #running = [this.#informers.run(this.#stopping.signal), this.#node.run()];
  readonly #seen = new Map<string, KubeObject>();

  /** Creates objects, and waits until everybody has done what follows. */
  async create(...objects: readonly KubeObject[]): Promise<this> {
    await apply(this.store, ...objects);
    return this.settle();
  }

  async annotate(key: string, annotations: Readonly<Record<string, string>>): Promise<this> {
    await this.store.patchStatus(
      pods,
      key,
      { metadata: { annotations } },
      { fieldManager: 'kubectl' },
    );
    return this.settle();
  }

  async settle(): Promise<this> {
    for (let round = 0; round < 3; round += 1) {
      await this.#manager.settled();
      await this.#informers.refresh(resourceKinds, this.#stopping.signal);
      await this.#node.caughtUp();
    }
    const kept = new Set<string>();
    for (const kind of resourceKinds.filter((one) => FED.includes(one.kind)))
      for (const object of await this.store.list(kind)) {
        const id = `${object.kind} ${objectKey(object.metadata)}`;
        kept.add(id);
        this.#seen.set(id, object);
        feed(this.#intake, object);
      }
    for (const [id, object] of this.#seen)
      if (!kept.has(id)) {
        this.#seen.delete(id);
        feed(this.#intake, object, true);
      }
    this.facts.refresh(0);
    return this;
  }

  attachments(ofNamespace: string): string[] {
    return this.facts.attachments
      .all()
      .filter((one) => one.namespace === ofNamespace)
      .map(
        ({ pod: name, network, role, macAddress, addresses }) =>
          `${name} ${network} ${role} ${macAddress} ${addresses.join(' ')}`,
      )
      .sort();
  }

  /** What the node says of a pod. */
  problems(key: string): string[] {
    return [...this.facts.modelProblems()]
      .filter(({ object }) => object === `Pod ${key}`)
      .map(({ message }) => message);
  }

  events(key: string): string[] {
    return this.store.events
      .filter(({ regarding }) => objectKey(regarding.metadata) === key)
      .map(({ message }) => message);
  }

  async carried(key: string): Promise<Record<string, object>> {
    const text = (await this.store.get(pods, key))?.metadata.annotations?.[POD_NETWORKS];
    return JSON.parse(text ?? '{}') as Record<string, object>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort(new Error('stopped'));
    await Promise.all(this.#running);
    await this.#manager.stop();
  }
}

const FED = ['Namespace', 'Node', 'NetworkAttachmentDefinition', 'Pod'];

const nadConfig = (nad: string, name: string, more: object = {}): object => ({
  cniVersion: '1.1.0',
  type: 'ovn-k8s-cni-overlay',
  name,
  netAttachDefName: nad,
  topology: 'layer3',
  role: 'secondary',
  subnets: '10.30.0.0/16/24',
  ...more,
});

const entry = (address: string, mac: string, role = 'primary'): object => ({
  ip_addresses: [address],
  mac_address: mac,
  role,
});
const carrying = (networks: Readonly<Record<string, object>>): Record<string, string> => ({
  [POD_NETWORKS]: JSON.stringify(networks),
});

/** The victim has a primary, a secondary and a raw network; mallory has a network like the victim's, and a plain namespace. */
async function tenants(): Promise<Cluster> {
  const cluster = new Cluster();
  await cluster.create(
    node('node1'),
    namespace('victim'),
    namespace('mallory'),
    namespace('plain', {}),
    layer3('victim/net', '10.20.0.0/16/24'),
    layer3('victim/store', '10.30.0.0/16/24', 'Secondary'),
    rawNad('victim/raw', nadConfig('victim/raw', 'rawnet', { subnets: '10.31.0.0/16/24' })),
    layer3('mallory/net', '10.20.0.0/16/24'),
    clusterLayer3('shared', inNamespaces('victim'), '10.21.0.0/16/24'),
  );
  await cluster.create(
    pod('victim/web', 'node1', {
      [NETWORKS]: 'store,raw',
      'k8s.ovn.org/requested-primary-udn': 'net',
    }),
  );
  await cluster.create(pod('mallory/old', 'node1'));
  return cluster;
}

const VICTIM = [
  'web default infrastructure-locked 0a:58:0a:f4:00:03 10.244.0.3/24',
  'web rawnet secondary 0a:58:0a:1f:00:03 10.31.0.3/24',
  'web victim_net primary 0a:58:0a:14:00:03 10.20.0.3/24',
  'web victim_store secondary 0a:58:0a:1e:00:03 10.30.0.3/24',
];
const FREE = '0a:58:0a:14:00:63';

const attacker = (annotations: Readonly<Record<string, string>>, at = 'mallory/new'): Pod =>
  pod(at, 'node1', annotations);
const both = (
  a: Readonly<Record<string, string>>,
  b: Readonly<Record<string, string>>,
): Record<string, string> => ({ ...a, ...b });

const ATTACKS: readonly (readonly [string, readonly KubeObject[]])[] = [
  [
    'a pod of the default network that carries another tenant’s network',
    [attacker(carrying({ 'victim/net': entry('10.20.0.99/24', FREE) }), 'plain/new')],
  ],
  [
    '… with the address of a pod there',
    [attacker(carrying({ 'victim/net': entry('10.20.0.3/24', '0a:58:0a:14:00:03') }), 'plain/new')],
  ],
  [
    'a pod that carries it beside its own',
    [attacker(carrying({ 'victim/net': entry('10.20.0.99/24', FREE) }))],
  ],
  [
    'a pod that carries a secondary network of another tenant',
    [attacker(carrying({ 'victim/store': entry('10.30.0.99/24', FREE, 'secondary') }))],
  ],
  [
    '… a raw one',
    [attacker(carrying({ 'victim/raw': entry('10.31.0.99/24', FREE, 'secondary') }))],
  ],
  [
    '… as a repeated attachment',
    [
      attacker(
        carrying({
          'victim/net/1': entry('10.20.0.99/24', FREE),
          'victim/store/2': entry('10.30.0.99/24', FREE, 'secondary'),
        }),
      ),
    ],
  ],
  [
    'a pod that asks for another tenant’s primary network',
    [attacker({ [NETWORKS]: 'victim/net' })],
  ],
  ['… for a secondary one', [attacker({ [NETWORKS]: 'victim/store' })]],
  ['… for a raw one', [attacker({ [NETWORKS]: 'victim/raw' })]],
  [
    '… and carries it, too',
    [
      attacker(
        both(
          { [NETWORKS]: 'victim/store,victim/raw,victim/net' },
          carrying({
            'victim/store': entry('10.30.0.99/24', FREE, 'secondary'),
            'victim/raw': entry('10.31.0.98/24', FREE, 'secondary'),
            'victim/net': entry('10.20.0.97/24', FREE, 'secondary'),
          }),
        ),
      ),
    ],
  ],
  [
    'a pod that asks for the other tenant’s network as its primary one',
    [attacker({ 'k8s.ovn.org/requested-primary-udn': 'victim/net' })],
  ],
  [
    '… that says it did so when it was created',
    [attacker({ 'k8s.ovn.org/requested-primary-udn-at-creation': '"victim/net"' })],
  ],
  [
    '… that says the manager chose it',
    [
      attacker(
        both(
          { 'k8s.ovn.org/selected-primary-udn': 'victim/net' },
          carrying({ 'victim/net': entry('10.20.0.99/24', FREE) }),
        ),
      ),
    ],
  ],
  [
    '… that names it as its default network',
    [
      attacker({
        'v1.multus-cni.io/default-network': '[{"name":"net","namespace":"victim"}]',
      }),
    ],
  ],
  [
    'a NAD with the name of the other tenant’s network',
    [rawNad('mallory/n', nadConfig('mallory/n', 'victim_store')), attacker({ [NETWORKS]: 'n' })],
  ],
  [
    '… that says to be the other tenant’s NAD',
    [rawNad('mallory/n', nadConfig('victim/store', 'victim_store')), attacker({ [NETWORKS]: 'n' })],
  ],
  [
    '… of the same name as that NAD',
    [
      rawNad('mallory/store', nadConfig('mallory/store', 'victim_store')),
      attacker({ [NETWORKS]: 'store' }),
    ],
  ],
  [
    '… with the annotations of that NAD',
    [
      rawNad('mallory/n', nadConfig('mallory/n', 'victim_store'), {
        'k8s.ovn.org/network-name': 'victim_store',
        'k8s.ovn.org/network-id': '2',
      }),
      attacker({ [NETWORKS]: 'n' }),
    ],
  ],
  [
    '… that names another network by annotation',
    [
      rawNad('mallory/n', nadConfig('mallory/n', 'mine', { subnets: '10.40.0.0/16/24' }), {
        'k8s.ovn.org/network-name': 'victim_store',
        'k8s.ovn.org/network-id': '2',
        'k8s.ovn.org/tunnel-keys': '[16711685]',
      }),
      attacker({ [NETWORKS]: 'n' }),
    ],
  ],
  [
    'a NAD that says to be that of a ClusterUserDefinedNetwork',
    [
      forgedOwner('mallory/shared', 'cluster_udn_shared', '10.21.0.0/16/24'),
      attacker(carrying({ 'mallory/shared': entry('10.21.0.99/24', FREE) })),
    ],
  ],
  [
    '… in a namespace that waits for its first network',
    [
      namespace('eve'),
      forgedOwner('eve/shared', 'cluster_udn_shared', '10.21.0.0/16/24'),
      attacker({}, 'eve/new'),
    ],
  ],
];

function forgedOwner(key: string, network: string, subnets: string): KubeObject {
  const nad = rawNad(key, nadConfig(key, network, { role: 'primary', subnets }));
  const owner = {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'ClusterUserDefinedNetwork',
    name: nad.metadata.name,
    uid: 'forged',
    controller: true,
  };
  return { ...nad, metadata: { ...nad.metadata, ownerReferences: [owner] } };
}

describe('a tenant tries to get on another tenant’s network', () => {
  test.each(ATTACKS)('%s: 0 of N', async (_what, objects) => {
    await using cluster = await tenants();
    expect(cluster.attachments('victim')).toEqual(VICTIM);
    await cluster.create(...objects);
    const foreign = ['mallory', 'plain', 'eve']
      .flatMap((name) => cluster.attachments(name))
      .filter((text) => !/^\w+ (?:default|mallory_net|mine) /.test(text));
    expect(foreign).toEqual([]);
    expect(cluster.attachments('victim')).toEqual(VICTIM);
    expect(cluster.attachments('mallory').filter((text) => text.startsWith('old '))).toEqual([
      'old default infrastructure-locked 0a:58:0a:f4:00:04 10.244.0.4/24',
      'old mallory_net primary 0a:58:0a:14:00:03 10.20.0.3/24',
    ]);
  });

  test('what he carries is reported by pod, key and value, with what to do, and in an event', async () => {
    await using cluster = await tenants();
    await cluster.create(
      attacker(carrying({ 'victim/net': entry('10.20.0.99/24', FREE) }), 'plain/new'),
    );
    const message =
      'annotation k8s.ovn.org/pod-networks: "victim/net": network "victim_net" is no primary network of namespace "plain"; delete the pod, so that its networks are worked out again';
    expect(cluster.problems('plain/new')).toEqual([message]);
    expect(cluster.events('plain/new')).toEqual([message]);
    // Its own network it has all the same.
    expect(cluster.attachments('plain')).toEqual([
      'new default primary 0a:58:0a:f4:00:05 10.244.0.5/24',
    ]);
  });

  test('networks of a namespace that shares them, and those that his namespace has, may be named anywhere', async () => {
    await using cluster = await tenants();
    await cluster.create(
      namespace('default', {}),
      rawNad('default/all', nadConfig('default/all', 'allnet', { subnets: '10.50.0.0/16/24' })),
      rawNad('plain/one', nadConfig('plain/one', 'onenet', { subnets: '10.60.0.0/16/24' })),
      rawNad('mallory/one', nadConfig('mallory/one', 'onenet', { subnets: '10.60.0.0/16/24' })),
    );
    await cluster.create(attacker({ [NETWORKS]: 'default/all,plain/one' }));
    expect(cluster.attachments('mallory').filter((text) => text.startsWith('new '))).toEqual([
      'new allnet secondary 0a:58:0a:32:00:03 10.50.0.3/24',
      'new default infrastructure-locked 0a:58:0a:f4:00:05 10.244.0.5/24',
      'new mallory_net primary 0a:58:0a:14:00:04 10.20.0.4/24',
      'new onenet secondary 0a:58:0a:3c:00:03 10.60.0.3/24',
    ]);
  });
});

describe('the role of an attachment is worked out, not read', () => {
  test.each(['primary', 'secondary', 'infrastructure-locked', ''])(
    'an isolated pod that writes "%s" stays isolated, from its start on',
    async (role) => {
      await using cluster = await tenants();
      await cluster.create(
        attacker(carrying({ default: entry('10.244.0.9/24', '0a:58:0a:f4:00:09', role) })),
      );
      expect(cluster.attachments('mallory')).toContain(
        'new default infrastructure-locked 0a:58:0a:f4:00:09 10.244.0.9/24',
      );
    },
  );

  test('a running pod that is patched stays isolated', async () => {
    await using cluster = await tenants();
    const before = cluster.attachments('mallory');
    const carried = await cluster.carried('mallory/old');
    const forged = { ...carried, default: { ...carried['default'], role: 'primary' } };
    await cluster.annotate('mallory/old', carrying(forged));
    expect(cluster.attachments('mallory')).toEqual(before);
  });
});

describe('addresses that a pod writes itself', () => {
  const MAC = '0a:58:0a:f4:00:09';
  test.each<[string, object, string]>([
    ['the gateway’s', entry('10.244.0.1/24', MAC), '10.244.0.1 is not for pods'],
    ['the management port’s', entry('10.244.0.2/24', MAC), '10.244.0.2 is not for pods'],
    ['the network address', entry('10.244.0.0/24', MAC), '10.244.0.0 is no host address'],
    ['the broadcast address', entry('10.244.0.255/24', MAC), '10.244.0.255 is no host address'],
    ['one of another node', entry('10.244.1.9/24', MAC), '10.244.1.9 is no host address'],
    ['one of the Internet', entry('8.8.8.8/32', MAC), '8.8.8.8 is no host address'],
    [
      'another pod’s',
      entry('10.244.0.3/24', MAC),
      '10.244.0.3 of network "default" is that of pod',
    ],
    [
      'another pod’s MAC address',
      entry('10.244.0.9/24', '0a:58:0a:f4:00:03'),
      '0a:58:0a:f4:00:03 of network "default" is that of pod',
    ],
    [
      'the gateway’s MAC address',
      entry('10.244.0.9/24', '0a:58:0a:f4:00:01'),
      'MAC address 0a:58:0a:f4:00:01 is that of the gateway or the management port',
    ],
    [
      'the management port’s MAC address',
      entry('10.244.0.9/24', '0a:58:0a:f4:00:02'),
      'MAC address 0a:58:0a:f4:00:02 is that of the gateway or the management port',
    ],
    [
      'a multicast MAC address',
      entry('10.244.0.9/24', '01:00:5e:00:00:01'),
      'MAC address 01:00:5e:00:00:01 is not that of one interface',
    ],
    [
      'no MAC address',
      entry('10.244.0.9/24', '00:00:00:00:00:00'),
      'MAC address 00:00:00:00:00:00 is not that of one interface',
    ],
    [
      'two of one subnet',
      { ip_addresses: ['10.244.0.9/24', '10.244.0.10/24'], mac_address: MAC },
      'more than one address of 10.244.0.0/24',
    ],
    [
      'one of its own and another pod’s',
      { ip_addresses: ['10.244.0.3/24', '10.244.0.9/24'], mac_address: MAC },
      'more than one address of 10.244.0.0/24',
    ],
  ])('%s: no port, and an event', async (_what, forged, reason) => {
    await using cluster = await tenants();
    await cluster.create(attacker(carrying({ default: forged }), 'plain/new'));
    expect(cluster.attachments('plain')).toEqual([]);
    expect(cluster.attachments('victim')).toEqual(VICTIM);
    expect(cluster.problems('plain/new')).toEqual([expect.stringContaining(reason)]);
    expect(cluster.problems('plain/new')[0]).toContain('delete the pod');
    expect(cluster.events('plain/new')).toHaveLength(1);
    // What nobody may have so, and what others have, is given to others as before.
    await cluster.store.delete(pods, 'plain/new');
    await cluster.create(pod('plain/next', 'node1'), pod('plain/last', 'node1'));
    expect(cluster.attachments('plain')).toEqual([
      'last default primary 0a:58:0a:f4:00:06 10.244.0.6/24',
      'next default primary 0a:58:0a:f4:00:05 10.244.0.5/24',
    ]);
  });

  test('none, which a port could use all of: it is given one', async () => {
    await using cluster = await tenants();
    const forged = { default: { ip_addresses: [], mac_address: MAC } };
    const facts = zoneFacts('node1', testSettings.cluster);
    const intake = new ObjectIntake(facts);
    feed(intake, namespace('plain', {}));
    feed(intake, node('node1', { 'k8s.ovn.org/node-subnets': '{"default":["10.244.0.0/24"]}' }));
    feed(intake, pod('plain/new', 'node1', carrying(forged)));
    facts.refresh(0);
    expect(facts.attachments.all()).toEqual([]);
    expect([...facts.modelProblems()].map(({ message }) => message)).toContainEqual(
      expect.stringContaining('no address of 10.244.0.0/24'),
    );
    await cluster.create(pod('plain/new', 'node1', carrying(forged)));
    expect(cluster.attachments('plain')).toEqual([
      'new default primary 0a:58:0a:f4:00:05 10.244.0.5/24',
    ]);
  });

  test('a running pod that is patched to another one’s address loses its port, and keeps its address', async () => {
    await using cluster = await tenants();
    const carried = await cluster.carried('mallory/old');
    const stolen = { ...carried, default: entry('10.244.0.3/24', '0a:58:0a:f4:00:03') };
    await cluster.annotate('mallory/old', carrying(stolen));
    expect(cluster.attachments('mallory')).toEqual([
      'old mallory_net primary 0a:58:0a:14:00:03 10.20.0.3/24',
    ]);
    expect(cluster.attachments('victim')).toEqual(VICTIM);
    expect(cluster.events('mallory/old')).toHaveLength(1);
    await cluster.create(pod('plain/next', 'node1'));
    expect(cluster.attachments('plain')).toEqual([
      'next default primary 0a:58:0a:f4:00:05 10.244.0.5/24',
    ]);
    await cluster.annotate('mallory/old', carrying(carried));
    expect(cluster.attachments('mallory')).toHaveLength(2);
    expect(cluster.problems('mallory/old')).toEqual([]);
  });

  test('a running pod whose annotation is torn or emptied keeps what it had', async () => {
    await using cluster = await tenants();
    const before = cluster.attachments('mallory');
    await cluster.annotate('mallory/old', { [POD_NETWORKS]: '{"default":' });
    expect(cluster.attachments('mallory')).toEqual(before);
    expect(cluster.events('mallory/old')).toEqual([
      expect.stringContaining('annotation k8s.ovn.org/pod-networks'),
      'has its addresses on all of its networks now: default, mallory/net',
    ]);
    await cluster.annotate('mallory/old', { [POD_NETWORKS]: '{}' });
    expect(cluster.attachments('mallory')).toEqual(before);
  });

  test('of two pods that carry one address at a start the older one has it', () => {
    const wired = (key: string, creationTimestamp: string): Pod => {
      const made = pod(key, 'node1', carrying({ default: entry('10.244.0.9/24', MAC) }));
      return { ...made, metadata: { ...made.metadata, uid: key, creationTimestamp } };
    };
    const young = wired('plain/a', '2026-01-02T00:00:00Z');
    const old = wired('plain/b', '2026-01-01T00:00:00Z');
    for (const order of [
      [young, old],
      [old, young],
    ]) {
      const facts = zoneFacts('node1', testSettings.cluster);
      const intake = new ObjectIntake(facts);
      feed(intake, namespace('plain', {}));
      feed(intake, node('node1', { 'k8s.ovn.org/node-subnets': '{"default":["10.244.0.0/24"]}' }));
      for (const one of order) feed(intake, one);
      facts.refresh(0);
      expect(facts.attachments.all().map((one) => one.pod)).toEqual(['b']);
      // Who had it first keeps it from then on.
      feed(intake, wired('plain/c', '2025-01-01T00:00:00Z'));
      facts.refresh(0);
      expect(facts.attachments.all().map((one) => one.pod)).toEqual(['b']);
      feed(intake, old, true);
      facts.refresh(0);
      expect(facts.attachments.all().map((one) => one.pod)).toEqual(['a']);
    }
  });

  test('addresses that a pod asks for where there is no address management are its own', async () => {
    await using cluster = await tenants();
    const config = nadConfig('mallory/flat', 'flatnet', { topology: 'layer2', subnets: undefined });
    await cluster.create(rawNad('mallory/flat', config));
    await cluster.create(
      attacker({
        [NETWORKS]: '[{"name":"flat","ips":["192.168.7.7/24"],"mac":"02:00:00:00:00:07"}]',
      }),
    );
    const flat = (): string[] =>
      cluster.attachments('mallory').filter((text) => text.includes('flatnet'));
    expect(flat()).toEqual(['new flatnet secondary 02:00:00:00:00:07 192.168.7.7/24']);
    const carried = await cluster.carried('mallory/new');
    const forged = { ...carried, 'mallory/flat': entry('192.168.7.1/24', '02:00:00:00:00:07') };
    await cluster.annotate('mallory/new', carrying(forged));
    expect(flat()).toEqual([]);
    expect(cluster.problems('mallory/new')).toEqual([
      expect.stringContaining('192.168.7.1/24 is not asked for'),
    ]);
  });
});

test('what a NAD says of itself does not survive in its annotations', async () => {
  await using cluster = await tenants();
  await cluster.create(
    rawNad('mallory/n', nadConfig('mallory/n', 'mine', { subnets: '10.40.0.0/16/24' }), {
      'k8s.ovn.org/network-id': '1',
      'k8s.ovn.org/network-name': 'victim_net',
    }),
  );
  const nads = await cluster.store.list(networkAttachmentDefinitions);
  const ids = nads.map(({ metadata }) => metadata.annotations?.['k8s.ovn.org/network-id']);
  const mine = nads.find(({ metadata }) => metadata.name === 'n');
  expect(mine?.metadata.annotations?.['k8s.ovn.org/network-name']).toBe('mine');
  expect(new Set(ids).size).toBe(ids.length);
});

import { isAllKnown } from '../../../support/zone/zones.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseManifest } from '../../../../src/api/validation/manifest.ts';
import { objectKey, type KubeObject } from '../../../../src/api/objects.ts';
import type {
  AdminNetworkPolicy,
  Namespace,
  NetworkAttachmentDefinition,
  NetworkPolicy,
  Node,
  Pod,
  Service,
} from '../../../../src/api/types.ts';
import type { ClusterSettings } from '../../../../src/model/model.ts';
import { DEFAULT_SETTINGS } from '../../../../src/model/settings.ts';
import type { RenderingOptions } from '../../../../src/model/zone/rendered-networks.ts';
import { zoneFacts, type ZoneFacts } from '../../../../src/model/zone/zone.ts';
import { ObjectIntake } from '../../../../src/model/zone/intake.ts';
import { isSame } from '../../../../src/facts/same.ts';
import { service as serviceOf, slice } from '../../../support/zone/services.ts';
import { feed } from '../../../support/zone/zone-objects.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import { engineOver } from '../../../support/zone/zone-engine.ts';

const FIXTURES = join(import.meta.dirname, '../../../integration/cli/fixtures/worked-example');

const SETTINGS: ClusterSettings = {
  ...DEFAULT_SETTINGS,
  clusterSubnets: [{ cidr: '10.244.0.0/16', hostLength: 24 }],
  serviceSubnets: ['10.96.0.0/16'],
};

const objectsOf = (text: string): readonly KubeObject[] => {
  const { documents, errors } = parseManifest(text, 'test.yaml');
  expect(errors).toEqual([]);
  return documents.map(({ object }) => object);
};

const fixture = (name: string): readonly KubeObject[] =>
  objectsOf(readFileSync(join(FIXTURES, name), 'utf8'));

const NAD: NetworkAttachmentDefinition = {
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: 'NetworkAttachmentDefinition',
  metadata: {
    name: 'blue',
    namespace: 'blue',
    annotations: {
      'k8s.ovn.org/network-id': '1',
      'k8s.ovn.org/network-name': 'blue_blue',
      'k8s.ovn.org/tunnel-keys': '[]',
    },
  },
  spec: {
    config:
      '{"cniVersion":"1.1.0","joinSubnet":"100.65.0.0/16,fd99::/64","name":"blue_blue","netAttachDefName":"blue/blue","role":"primary","subnets":"103.103.0.0/16/24","topology":"layer3","type":"ovn-k8s-cni-overlay"}',
  },
};

/** Facts that objects are read into one by one. */
class Reader {
  readonly facts: ZoneFacts;
  readonly #intake: ObjectIntake;

  constructor(settings = SETTINGS, options: RenderingOptions = { renderEverywhere: true }) {
    this.facts = zoneFacts('ovn-worker', settings, options);
    this.#intake = new ObjectIntake(this.facts);
  }

  feed(object: KubeObject, isGone = false): this {
    feed(this.#intake, object, isGone);
    this.facts.refresh(0);
    return this;
  }

  get problems(): readonly { readonly object: string; readonly message: string }[] {
    return [...this.facts.modelProblems()];
  }

  get networks(): string[] {
    return this.facts.networks.all().map(({ name }) => name);
  }
}

const readerWith = (...objects: readonly KubeObject[]): Reader =>
  objects.reduce<Reader>((reader, object) => reader.feed(object), new Reader());

const everything = (): readonly KubeObject[] => [
  ...fixture('nodes.yaml'),
  ...fixture('blue.yaml'),
  ...fixture('services.yaml'),
  NAD,
];

const annotated = <T extends KubeObject>(object: T, annotations: Record<string, string>): T => ({
  ...object,
  metadata: {
    ...object.metadata,
    annotations: { ...object.metadata.annotations, ...annotations },
  },
});

const POD_NETWORKS = JSON.stringify({
  default: {
    ip_addresses: ['10.244.0.3/24'],
    mac_address: '0a:58:0a:f4:00:03',
    role: 'infrastructure-locked',
  },
  'blue/blue': {
    ip_addresses: ['103.103.0.3/24'],
    mac_address: '0a:58:67:67:00:03',
    role: 'primary',
  },
});

const wiredPod = (): Pod => {
  const pod = fixture('blue.yaml').find(({ metadata }) => metadata.name === 'pod1') as Pod;
  return annotated(pod, { 'k8s.ovn.org/pod-networks': POD_NETWORKS });
};

const [WORKER, WORKER_2] = fixture('nodes.yaml') as readonly [Node, Node];
const SUBNETS = 'k8s.ovn.org/node-subnets';

test('a service that was put to sleep says that nothing wakes it', () => {
  const service = everything().find(({ kind }) => kind === 'Service') as KubeObject;
  const idled = annotated(service, { 'k8s.ovn.org/idled-at': '2026-01-01T00:00:00Z' });
  const reader = readerWith(idled);
  expect(reader.problems.map(({ message }) => message)).toEqual([
    expect.stringMatching(
      /^annotation k8s\.ovn\.org\/idled-at: this release wakes no service: .* remove/,
    ),
  ]);
  expect(reader.feed(service).problems).toEqual([]);
});

test('a namespace has multicast where it asks for it and multicast is denied otherwise', () => {
  const [blue] = everything().filter(({ kind }) => kind === 'Namespace') as [KubeObject];
  const hasMulticast = (isOn: boolean, answer: string | undefined) => {
    const reader = new Reader({
      ...SETTINGS,
      features: { ...SETTINGS.features, multicast: isOn },
    }).feed(
      answer === undefined ? blue : annotated(blue, { 'k8s.ovn.org/multicast-enabled': answer }),
    );
    return {
      has: reader.facts.namespaces.peek('blue')?.hasMulticast,
      wantsOtherPods: reader.facts.otherPods.areWanted,
      problems: reader.problems.map(({ object, message }) => `${object}: ${message}`),
    };
  };
  expect(hasMulticast(true, 'true')).toEqual({ has: true, wantsOtherPods: true, problems: [] });
  for (const answer of [undefined, 'false'])
    expect(hasMulticast(true, answer)).toEqual({
      has: false,
      wantsOtherPods: false,
      problems: [],
    });
  expect(hasMulticast(false, 'true')).toEqual({
    has: false,
    wantsOtherPods: false,
    problems: [],
  });
  expect(hasMulticast(true, 'yes')).toEqual({
    has: false,
    wantsOtherPods: false,
    problems: [
      'Namespace blue: annotation k8s.ovn.org/multicast-enabled: "yes" is neither true nor false; multicast of its pods stays denied',
    ],
  });
});

describe('objects become facts', () => {
  test('nodes, networks and services', () => {
    const { facts } = readerWith(...everything());
    expect(facts.self.get('ovn-worker')).toMatchObject({
      name: 'ovn-worker',
      id: 2,
      chassisId: 'b1f96182-2bdd-42b6-88f9-9a1fc1c85ece',
      primaryAddresses: { v4: '172.18.0.3' },
      gateway: { mode: 'shared', bridge: 'breth0', nextHops: ['172.18.0.1'], vlan: 0 },
    });
    expect(facts.remoteNodes.all().map(({ name, id }) => [name, id])).toEqual([['ovn-worker2', 3]]);
    expect(facts.namespaces.all()).toMatchObject([{ name: 'blue', isLabelled: true }]);
    expect(facts.networks.get('blue_blue')).toMatchObject({
      id: 1,
      joinSubnets: { v4: '100.65.0.0/16' },
      masquerade: { v4: { gatewayRouter: '169.254.0.11', managementPort: '169.254.0.12' } },
      nads: ['blue/blue'],
      excludeSubnets: [],
      object: 'NetworkAttachmentDefinition blue/blue',
    });
    expect(facts.isGrouped('blue/blue', 'blue')).toBe(true);
    expect(facts.subnetsOn('blue_blue', 'ovn-worker')).toEqual(['103.103.0.0/24']);
    expect(facts.subnetsOn('blue_blue', 'ovn-worker2')).toEqual(['103.103.1.0/24']);
    expect(facts.enabledServices.all().map(({ clusterIps }) => clusterIps)).toEqual([
      ['10.96.0.1'],
      ['10.96.0.10'],
    ]);
  });

  test("a pod's interfaces are attached to the networks of their NADs, on this node only", () => {
    const reader = readerWith(...everything(), wiredPod());
    const other = { ...wiredPod(), spec: { nodeName: 'ovn-worker2' } };
    reader.feed({ ...other, metadata: { ...other.metadata, name: 'elsewhere' } });
    expect(
      reader.facts.attachments
        .all()
        .map(({ pod, network, role, addresses }) => [pod, network, role, addresses]),
    ).toEqual([
      ['pod1', 'blue_blue', 'primary', ['103.103.0.3/24']],
      ['pod1', 'default', 'infrastructure-locked', ['10.244.0.3/24']],
    ]);
    reader.feed(wiredPod(), true);
    expect(reader.facts.attachments.all()).toEqual([]);
  });

  test('pods of other nodes are kept as soon as something asks for them, and not this node’s ports', () => {
    const [pod] = objectsOf(
      'apiVersion: v1\nkind: Pod\nmetadata: {name: far, namespace: blue, labels: {app: web}}\n' +
        'spec: {nodeName: ovn-worker2, containers: [{ports: [{name: http, containerPort: 80}, {containerPort: 81}]}]}\n',
    );
    const networks = POD_NETWORKS.replaceAll('.0.3/24', '.1.3/24');
    const far = annotated(pod as Pod, { 'k8s.ovn.org/pod-networks': networks });
    const reader = readerWith(...everything(), far);
    const others = (): unknown =>
      reader.facts.pods.all().filter(({ node }) => node !== 'ovn-worker');
    expect(others()).toEqual([]);
    expect(() => reader.facts.requireOtherPods()).toThrow('not read yet');
    expect(isAllKnown(reader.facts)).toBe(true);

    reader.facts.otherPods.want('test', true);
    expect(isAllKnown(reader.facts)).toBe(false);
    reader.feed(far);
    reader.facts.otherPods.known();
    expect(isAllKnown(reader.facts)).toBe(true);
    reader.facts.requireOtherPods();
    expect(others()).toEqual([
      {
        namespace: 'blue',
        name: 'far',
        node: 'ovn-worker2',
        labels: { app: 'web' },
        namedPorts: [{ name: 'http', protocol: 'TCP', port: 80 }],
      },
    ]);
    expect(reader.facts.attachments.all()).toEqual([]);
    expect(
      reader.facts.remoteAttachments.all().map(({ network, node }) => [network, node]),
    ).toEqual([
      ['blue_blue', 'ovn-worker2'],
      ['default', 'ovn-worker2'],
    ]);
    reader.feed(annotated(far, { 'k8s.ovn.org/pod-networks': 'torn' }));
    expect(reader.problems).toEqual([]);
    expect(reader.facts.remoteAttachments.size).toBe(2);
    reader.feed(far, true);
    expect([others(), reader.facts.remoteAttachments.size]).toEqual([[], 0]);
  });

  test('a completed or host-network pod has no ports', () => {
    const done = { ...wiredPod(), status: { phase: 'Succeeded' } };
    const reader = readerWith(...everything(), wiredPod());
    expect(reader.feed(done).facts.attachments.all()).toEqual([]);
    const host = { ...wiredPod(), spec: { nodeName: 'ovn-worker', hostNetwork: true } };
    expect(readerWith(...everything(), host).facts.attachments.all()).toEqual([]);
  });

  test("a pod of this node on the host's network is known while it runs, and a use of its namespace's primary networks", () => {
    const host = {
      ...wiredPod(),
      metadata: { name: 'agent', namespace: 'blue', uid: 'u-1' },
      spec: { nodeName: 'ovn-worker', hostNetwork: true },
    };
    const reader = new Reader(SETTINGS, { gracePeriod: 0 });
    const seen = (): unknown => [
      reader.facts.hostNetworkPods.all(),
      reader.facts.usage.table.peek('blue_blue') !== undefined,
    ];
    // Services that are reached from outside are a use, too.
    for (const object of everything()) if (object.kind !== 'Service') reader.feed(object);
    expect(seen()).toEqual([[], false]);
    reader.feed({ ...host, spec: { ...host.spec, nodeName: 'ovn-worker2' } });
    expect(seen()).toEqual([[], false]);
    reader.feed(host);
    expect(seen()).toEqual([[{ namespace: 'blue', name: 'agent', uid: 'u-1' }], true]);
    reader.feed({ ...host, status: { phase: 'Succeeded' } });
    expect(seen()).toEqual([[], false]);
  });

  test('the order of the objects does not matter', () => {
    const objects = [...everything(), wiredPod()].filter(
      ({ metadata }) => metadata.name !== 'pod1' || metadata.annotations !== undefined,
    );
    const rowsAfter = (order: readonly KubeObject[]): unknown =>
      builtUnits(readerWith(...order).facts).flatMap(({ rows }) => rows);
    expect(rowsAfter(objects.toReversed())).toEqual(rowsAfter(objects));
  });

  test('a network names the object that asks for it', () => {
    const made = (kind: string, name: string): NetworkAttachmentDefinition => ({
      ...NAD,
      metadata: {
        ...NAD.metadata,
        ownerReferences: [{ apiVersion: 'k8s.ovn.org/v1', kind, name, uid: 'u', controller: true }],
      },
    });
    const objectOf = (nad: NetworkAttachmentDefinition): string | undefined =>
      readerWith(...everything(), nad).facts.networks.get('blue_blue')?.object;
    expect(objectOf(made('UserDefinedNetwork', 'blue'))).toBe('UserDefinedNetwork blue/blue');
    expect(objectOf(made('ClusterUserDefinedNetwork', 'blue'))).toBe(
      'ClusterUserDefinedNetwork blue',
    );
    expect(objectOf(made('OVNSecondaryNetwork', 'blue'))).toBe('OVNSecondaryNetwork blue/blue');
    expect(objectOf(made('Deployment', 'x'))).toBe('NetworkAttachmentDefinition blue/blue');
  });

  test('a headless service has no address', () => {
    const [service] = fixture('services.yaml') as readonly [Service];
    const reader = readerWith(...everything());
    const before = reader.facts.enabledServices.size;
    reader.feed({ ...service, spec: { ...service.spec, clusterIPs: [] } });
    expect(reader.facts.enabledServices.size).toBe(before - 1);
    expect(reader.facts.services.peek(objectKey(service.metadata))).toBeUndefined();
  });
});

describe('services', () => {
  const web = serviceOf('blue/web', { clusterIPs: ['10.96.1.1'] });
  const exposed = serviceOf('blue/web', {
    type: 'NodePort',
    clusterIPs: ['10.96.1.1'],
    ports: [{ port: 80, nodePort: 30080 }],
  });
  const mirrored = slice('blue/web', ['103.103.0.3'], { network: 'blue_blue' });
  const targets = ({ facts }: Reader): (readonly string[])[] =>
    [...facts.backends.entries()].map(([, { network, service, ports }]) => [
      network,
      service,
      ports.map(({ all }) => all.v4).join(' '),
    ]);
  const none = targets(readerWith(...everything()));
  const added = (reader: Reader): (readonly string[])[] =>
    targets(reader).filter((one) => !none.some((other) => isSame(one, other)));

  test('and their slices may come before or after the network of their namespace', () => {
    const expected = [['blue_blue', 'blue/web', '103.103.0.3:8080']];
    expect(added(readerWith(...everything(), web, mirrored))).toEqual(expected);
    expect(added(readerWith(mirrored, web, ...everything()))).toEqual(expected);
  });

  test('move to the default network with their namespace, and back', () => {
    const reader = readerWith(...everything(), web, mirrored);
    const namespace = fixture('blue.yaml').find(({ kind }) => kind === 'Namespace') as Namespace;
    reader.feed({ ...namespace, metadata: { ...namespace.metadata, labels: {} } });
    expect(added(reader)).toEqual([['default', 'blue/web', '']]);
    reader.feed(namespace);
    expect(added(reader)).toEqual([['blue_blue', 'blue/web', '103.103.0.3:8080']]);
  });

  test('go with the service, and lose endpoints with their slice', () => {
    const reader = readerWith(...everything(), web, mirrored);
    expect(added(reader.feed(mirrored, true))).toEqual([['blue_blue', 'blue/web', '']]);
    expect(added(reader.feed(web, true))).toEqual([]);
  });

  test('that are reached from outside are a use of their network on every node', () => {
    const rendered = (...objects: readonly KubeObject[]): string[] =>
      [...everything(), ...objects]
        .reduce<Reader>((reader, object) => reader.feed(object), new Reader(SETTINGS, {}))
        .facts.rendered.all()
        .map(({ name }) => name);
    expect(rendered(web, mirrored)).toEqual(['default']);
    expect(rendered(exposed)).toEqual(['blue_blue', 'default']);
    const outside = serviceOf('blue/web', {
      clusterIPs: ['10.96.1.1'],
      externalIPs: ['192.0.2.1'],
    });
    expect(rendered(outside)).toEqual(['blue_blue', 'default']);
    expect(rendered({ ...exposed, metadata: { name: 'web', namespace: 'default' } })).toEqual([
      'default',
    ]);
  });
});

describe('what does not matter', () => {
  const running = () => {
    const reader = readerWith(...everything(), wiredPod());
    const engine = engineOver(reader.facts);
    engine.connect([]);
    engine.build();
    return { reader, engine };
  };

  test.each<[string, KubeObject]>([
    ["another node's heartbeat", { ...WORKER_2, status: { conditions: [{ type: 'Ready' }] } }],
    ["this node's heartbeat", { ...WORKER, status: { conditions: [{ type: 'Ready' }] } }],
    ['an annotation of a node that nobody reads', annotated(WORKER_2, { 'a.b/c': 'x' })],
    [
      'a label that nobody reads',
      { ...NAD, metadata: { ...NAD.metadata, labels: { team: 'x' }, resourceVersion: '9' } },
    ],
    ['a phase of a pod', { ...wiredPod(), status: { phase: 'Running' } }],
    [
      'a pod of another node',
      {
        ...wiredPod(),
        metadata: { ...wiredPod().metadata, name: 'far' },
        spec: { nodeName: 'ovn-worker2' },
      },
    ],
  ])('%s: builds no unit', (_name, object) => {
    const { reader, engine } = running();
    reader.feed(object);
    expect(engine.build()).toBe(0);
  });

  test("another node's subnet of one network builds one unit", () => {
    const { reader, engine } = running();
    const text = WORKER_2.metadata.annotations?.[SUBNETS] ?? '';
    reader.feed(annotated(WORKER_2, { [SUBNETS]: text.replace('103.103.1.0', '103.103.7.0') }));
    expect(engine.build()).toBe(1);
  });
});

describe('a node-subnets annotation that is torn', () => {
  const torn = (node: Node): Node => annotated(node, { [SUBNETS]: '{"default":["10.2' });

  test.each([
    ['its own', WORKER],
    ["another node's", WORKER_2],
  ])('%s: what it said last stays, and the problem is told', (_name, node) => {
    const reader = readerWith(...everything());
    const rows = (): unknown => builtUnits(reader.facts).flatMap((unit) => unit.rows);
    const before = rows();
    reader.feed(torn(node));
    expect(rows()).toEqual(before);
    expect(reader.problems).toEqual([
      {
        object: `Node ${node.metadata.name}`,
        message: expect.stringMatching(
          /^annotation k8s.ovn.org\/node-subnets: is not valid JSON/,
        ) as string,
      },
    ]);
    reader.feed(node);
    expect(reader.problems).toEqual([]);
    expect(rows()).toEqual(before);
  });

  test('of one entry: the others go on', () => {
    const reader = readerWith(...everything());
    reader.feed(
      annotated(WORKER, { [SUBNETS]: '{"default":["10.244.7.0/24"],"blue_blue":["103.x"]}' }),
    );
    expect(reader.facts.subnetsOn('default', 'ovn-worker')).toEqual(['10.244.7.0/24']);
    expect(reader.facts.subnetsOn('blue_blue', 'ovn-worker')).toEqual(['103.103.0.0/24']);
    expect(reader.problems.map(({ object }) => object)).toEqual(['Node ovn-worker']);
  });

  test('from the beginning: what needs it is not built at all', () => {
    const [, worker2, ...others] = everything();
    const reader = readerWith(torn(WORKER), worker2 as Node, ...others);
    const failed = builtUnits(reader.facts).filter(({ failure }) => failure !== undefined);
    expect(failed.map(({ unit }) => unit).sort()).toEqual([
      'isolation/secondary-pods',
      'layer3/network blue_blue',
      'layer3/network default',
    ]);
    const engine = engineOver(reader.facts);
    engine.build();
    expect(engine.isComplete).toBe(false);
    reader.feed(WORKER);
    engine.build();
    expect(engine.isComplete).toBe(true);
  });

  test("another node's own facts, from the beginning: what nobody wants may be its", () => {
    const [, worker2] = everything() as readonly [Node, Node];
    const reader = readerWith(WORKER);
    reader.feed(annotated(worker2, { 'k8s.ovn.org/node-encap-ips': '["172.18' }));
    expect(isAllKnown(reader.facts)).toBe(false);
    reader.feed(worker2);
    expect(isAllKnown(reader.facts)).toBe(true);
    // What was known once stays.
    reader.feed(annotated(worker2, { 'k8s.ovn.org/node-encap-ips': '["172.18' }));
    expect(isAllKnown(reader.facts)).toBe(true);
    expect(reader.facts.remoteNodes.size).toBe(1);
    // A node that is none of ours.
    reader.feed({ ...worker2, metadata: { name: 'virtual' } });
    expect(isAllKnown(reader.facts)).toBe(true);
    reader.feed(annotated({ ...worker2, metadata: { name: 'n' } }, { 'k8s.ovn.org/node-id': 'x' }));
    expect(isAllKnown(reader.facts)).toBe(false);
    reader.feed({ ...worker2, metadata: { name: 'n' } }, true);
    expect(isAllKnown(reader.facts)).toBe(true);
  });

  test('a network that goes from a good annotation goes', () => {
    const reader = readerWith(...everything());
    reader.feed(annotated(WORKER, { [SUBNETS]: '{"default":["10.244.0.0/24"]}' }));
    expect(reader.facts.subnetsOn('blue_blue', 'ovn-worker')).toEqual([]);
  });
});

describe('objects that are wrong', () => {
  test('a node that says too little of itself: nothing is built, and it is said what is missing', () => {
    const bare = { ...WORKER, metadata: { name: 'ovn-worker' } } as Node;
    const reader = readerWith(bare);
    expect(reader.problems).toEqual([
      {
        object: 'Node ovn-worker',
        message:
          'annotation k8s.ovn.org/node-chassis-id is missing; the node itself writes it (heddle node --ovs, heddle lab), or its manifest carries it',
      },
    ]);
    const engine = engineOver(reader.facts);
    engine.build();
    expect(engine.isComplete).toBe(false);
    expect([...reader.facts.rendered.entries()]).toEqual([]);
  });

  test('this node stays as it was last known, whatever becomes of its object', () => {
    const reader = readerWith(...everything());
    const known = reader.facts.self.get('ovn-worker');
    reader.feed({ ...WORKER, metadata: { name: 'ovn-worker' } });
    expect(reader.facts.self.get('ovn-worker')).toBe(known);
    expect(reader.problems).toHaveLength(1);
    reader.feed(WORKER, true);
    expect(reader.facts.self.get('ovn-worker')).toBe(known);
    const gone = readerWith(...everything()).feed(WORKER, true);
    expect(gone.facts.subnetsOn('blue_blue', 'ovn-worker')).toEqual(['103.103.0.0/24']);
  });

  test('another node that can’t be read is left out alone, or stays as it was', () => {
    const broken = annotated(WORKER_2, { 'k8s.ovn.org/node-encap-ips': '["1.2.3"]' });
    const [first, , ...others] = everything();
    const fresh = readerWith(first as Node, broken, ...others);
    expect(fresh.facts.remoteNodes.all()).toEqual([]);
    expect(fresh.networks).toEqual(['blue_blue', 'default']);
    expect(fresh.problems.map(({ object }) => object)).toEqual(['Node ovn-worker2']);
    const known = readerWith(...everything(), broken);
    expect(known.facts.remoteNodes.all().map(({ encapIps }) => encapIps)).toEqual([['172.18.0.4']]);
    expect(known.problems.map(({ object }) => object)).toEqual(['Node ovn-worker2']);
    known.feed(WORKER_2, true);
    expect(known.facts.remoteNodes.all()).toEqual([]);
    expect(known.problems).toEqual([]);
  });

  test('a network waits for its id, and goes with its NAD', () => {
    const reader = readerWith(...everything());
    reader.feed({ ...NAD, metadata: { name: 'blue', namespace: 'blue' } });
    expect(reader.networks).toEqual(['default']);
    expect([...reader.facts.modelPending()]).toEqual([
      {
        object: 'NetworkAttachmentDefinition blue/blue',
        message: 'network id (annotation k8s.ovn.org/network-id)',
      },
    ]);
    expect(reader.feed(NAD).networks).toHaveLength(2);
    expect(reader.feed(NAD, true).networks).toHaveLength(1);
  });

  test('a NAD that contradicts the one its network was generated from is left out alone', () => {
    const generated: NetworkAttachmentDefinition = {
      ...NAD,
      metadata: {
        ...NAD.metadata,
        ownerReferences: [
          {
            apiVersion: 'k8s.ovn.org/v1',
            kind: 'UserDefinedNetwork',
            name: 'blue',
            uid: 'u',
            controller: true,
          },
        ],
      },
    };
    const intruder: NetworkAttachmentDefinition = {
      ...NAD,
      metadata: { ...NAD.metadata, namespace: 'aaa', name: 'intruder' },
      spec: {
        config: (NAD.spec?.config ?? '')
          .replace('blue/blue', 'aaa/intruder')
          .replace('"topology"', '"mtu":1300,"topology"'),
      },
    };
    const reader = readerWith(...everything(), generated, intruder);
    expect(reader.facts.networks.get('blue_blue')).toMatchObject({
      nads: ['blue/blue'],
      object: 'UserDefinedNetwork blue/blue',
    });
    expect(reader.problems.map(({ object }) => object)).toEqual([
      'NetworkAttachmentDefinition aaa/intruder',
    ]);
  });

  test.each(['blue_blue/node/ovn-worker2', 'blue_blue', 'x" || ip4 || "'])(
    'a NAD of another namespace with the network name %s harms nobody',
    (name) => {
      const reader = readerWith(...everything(), wiredPod());
      const rows = (): unknown => builtUnits(reader.facts).flatMap((unit) => unit.rows);
      const before = rows();
      const config = { ...(JSON.parse(NAD.spec?.config ?? '') as object), name };
      reader.feed({
        ...NAD,
        metadata: { ...NAD.metadata, namespace: 'mallory', name: 'x' },
        spec: { config: JSON.stringify({ ...config, netAttachDefName: 'mallory/x' }) },
      });
      expect(rows()).toEqual(before);
      expect(reader.problems.map(({ object }) => object)).toEqual([
        'NetworkAttachmentDefinition mallory/x',
      ]);
    },
  );

  test('a malformed annotation of a pod harms that pod alone', () => {
    const broken = annotated(wiredPod(), { 'k8s.ovn.org/pod-networks': '{"default":' });
    const reader = readerWith(...everything(), broken);
    expect(reader.facts.attachments.all()).toEqual([]);
    const [problem, ...others] = reader.problems;
    expect(others).toEqual([]);
    expect(problem?.object).toBe('Pod blue/pod1');
    expect(problem?.message).toMatch(
      /^annotation k8s.ovn.org\/pod-networks: is not valid JSON: .*; delete the pod/,
    );
  });

  test('an annotation of a wired pod that is torn later leaves its ports as they were, of this very pod', () => {
    const reader = readerWith(...everything(), wiredPod());
    const before = reader.facts.attachments.all();
    expect(before).toHaveLength(2);
    const torn = annotated(wiredPod(), { 'k8s.ovn.org/pod-networks': '{"default":' });
    reader.feed(torn);
    expect(reader.facts.attachments.all()).toEqual(before);
    expect(reader.problems.map(({ object }) => object)).toEqual(['Pod blue/pod1']);
    reader.feed({ ...torn, metadata: { ...torn.metadata, uid: 'another' } });
    expect(reader.facts.attachments.all()).toEqual([]);
  });

  test('a NAD that is torn later leaves its network as it was', () => {
    const reader = readerWith(...everything());
    reader.feed({ ...NAD, spec: { config: '{"name":' } });
    expect(reader.networks).toEqual(['blue_blue', 'default']);
    expect(reader.problems.map(({ object }) => object)).toEqual([
      'NetworkAttachmentDefinition blue/blue',
    ]);
    expect(reader.feed(NAD, true).networks).toEqual(['default']);
  });

  test('a masquerade subnet without room for the network is its problem alone', () => {
    const reader = new Reader({
      ...SETTINGS,
      masqueradeSubnets: { v4: '169.254.169.0/29', v6: 'fd69::/125' },
    });
    for (const object of everything()) reader.feed(object);
    expect(reader.problems).toEqual([
      {
        object: 'NetworkAttachmentDefinition blue/blue',
        message:
          'network "blue_blue": masquerade subnet 169.254.169.0/29 has no addresses for network id 1; configure a larger one',
      },
    ]);
  });
});

describe('whether the pods of other nodes are wanted', () => {
  const facts = (): { facts: ZoneFacts; intake: ObjectIntake; isLeft: () => boolean } => {
    const made = zoneFacts('ovn-worker', {
      ...SETTINGS,
      features: { ...SETTINGS.features, multicast: true },
    });
    return {
      facts: made,
      intake: new ObjectIntake(made),
      isLeft: () => {
        made.refresh(1_000_000);
        return made.otherPods.nextExpiry !== undefined;
      },
    };
  };
  const one = <T extends KubeObject>(text: string): T => objectsOf(text)[0] as T;
  const peers = 'ingress: [{from: [{podSelector: {}}]}]';
  const networkPolicy = (rules: string): NetworkPolicy =>
    one(
      `apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: p, namespace: a}\nspec: {podSelector: {}, ${rules}}\n`,
    );

  test('follows from a NetworkPolicy with peers, until it has none or is gone', () => {
    for (const after of [undefined, networkPolicy('policyTypes: [Ingress]')]) {
      const bed = facts();
      bed.intake.take('NetworkPolicy', { key: 'a/p', after: networkPolicy(peers) });
      expect([bed.facts.otherPods.areWanted, bed.isLeft()]).toEqual([true, false]);
      bed.intake.take('NetworkPolicy', { key: 'a/p', after });
      expect(bed.isLeft()).toBe(true);
    }
  });

  test('follows from an AdminNetworkPolicy until it is gone', () => {
    const policy = one<AdminNetworkPolicy>(
      'apiVersion: policy.networking.k8s.io/v1alpha1\nkind: AdminNetworkPolicy\nmetadata: {name: p}\n' +
        'spec: {priority: 5, subject: {namespaces: {}}, ingress: [{action: Deny, from: [{namespaces: {}}]}]}\n',
    );
    const bed = facts();
    bed.intake.take('AdminNetworkPolicy', { key: 'p', after: policy });
    expect([bed.facts.otherPods.areWanted, bed.isLeft()]).toEqual([true, false]);
    bed.intake.take('AdminNetworkPolicy', { key: 'p', after: undefined });
    expect(bed.isLeft()).toBe(true);
  });

  test('follows from multicast in a namespace until it ends', () => {
    const namespace = one<Namespace>(
      'apiVersion: v1\nkind: Namespace\nmetadata: {name: a, annotations: {k8s.ovn.org/multicast-enabled: "true"}}\n',
    );
    const bed = facts();
    bed.intake.take('Namespace', { key: 'a', after: namespace });
    expect([bed.facts.otherPods.areWanted, bed.isLeft()]).toEqual([true, false]);
    bed.intake.take('Namespace', { key: 'a', after: undefined });
    expect(bed.isLeft()).toBe(true);
  });
});

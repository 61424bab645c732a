import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseManifest } from '../../../src/api/validation/manifest.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import { objectKey } from '../../../src/api/objects.ts';
import type {
  Namespace,
  NetworkAttachmentDefinition,
  Node,
  Pod,
  Service,
} from '../../../src/api/types.ts';
import type { ClusterSettings } from '../../../src/model/model.ts';
import { DEFAULT_SETTINGS } from '../../../src/model/settings.ts';
import { ZoneBuilder } from '../../../src/model/zone-builder.ts';

const FIXTURES = join(import.meta.dirname, '../../integration/daemon/fixtures/worked-example');

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

function feed(builder: ZoneBuilder, object: KubeObject, isGone = false): void {
  const key = objectKey(object.metadata);
  const after = isGone ? undefined : object;
  switch (object.kind) {
    case 'Namespace':
      builder.namespace({ key, after: after as Namespace | undefined });
      break;
    case 'Node':
      builder.node({ key, after: after as Node | undefined });
      break;
    case 'Pod':
      builder.pod({ key, after: after as Pod | undefined });
      break;
    case 'Service':
      builder.service({ key, after: after as Service | undefined });
      break;
    case 'NetworkAttachmentDefinition':
      builder.networkAttachmentDefinition({
        key,
        after: after as NetworkAttachmentDefinition | undefined,
      });
      break;
    default:
  }
}

function builderWith(...objects: readonly KubeObject[]): ZoneBuilder {
  const builder = new ZoneBuilder('ovn-worker', SETTINGS);
  for (const object of objects) feed(builder, object);
  return builder;
}

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

describe('zone of a node', () => {
  test('nodes, networks and services become a zone', () => {
    const zone = builderWith(...everything()).zone();
    expect(zone?.node).toMatchObject({
      name: 'ovn-worker',
      id: 2,
      chassisId: 'b1f96182-2bdd-42b6-88f9-9a1fc1c85ece',
      primaryAddresses: { v4: '172.18.0.3' },
      gateway: { mode: 'shared', bridge: 'breth0', nextHops: ['172.18.0.1'], vlan: 0 },
    });
    expect(zone?.remoteNodes.map(({ name, id }) => [name, id])).toEqual([['ovn-worker2', 3]]);
    expect(zone?.namespaces).toEqual(['blue']);
    expect(zone?.networks.map(({ name, id }) => [name, id])).toEqual([
      ['default', 0],
      ['blue_blue', 1],
    ]);
    expect(zone?.networks[1]).toMatchObject({
      joinSubnets: { v4: '100.65.0.0/16' },
      masquerade: { v4: { gatewayRouter: '169.254.0.11', managementPort: '169.254.0.12' } },
      namespaces: ['blue'],
      nads: ['blue/blue'],
    });
    expect([...(zone?.networks[1]?.nodeSubnets ?? [])]).toEqual([
      ['ovn-worker', ['103.103.0.0/24']],
      ['ovn-worker2', ['103.103.1.0/24']],
    ]);
    expect(zone?.allowedDefaultServices.map(({ clusterIps }) => clusterIps)).toEqual([
      ['10.96.0.1'],
      ['10.96.0.10'],
    ]);
  });

  test("a pod's interfaces are attached to the networks of their NADs, on this node only", () => {
    const builder = builderWith(...everything(), wiredPod());
    const other = { ...wiredPod(), spec: { nodeName: 'ovn-worker2' } };
    feed(builder, { ...other, metadata: { ...other.metadata, name: 'elsewhere' } });
    expect(
      builder
        .zone()
        ?.attachments.map(({ pod, network, role, addresses }) => [pod, network, role, addresses]),
    ).toEqual([
      ['pod1', 'default', 'infrastructure-locked', ['10.244.0.3/24']],
      ['pod1', 'blue_blue', 'primary', ['103.103.0.3/24']],
    ]);
  });

  test('a completed or host-network pod has no ports', () => {
    const done = { ...wiredPod(), status: { phase: 'Succeeded' } };
    expect(builderWith(...everything(), done).zone()?.attachments).toEqual([]);
    const host = { ...wiredPod(), spec: { nodeName: 'ovn-worker', hostNetwork: true } };
    expect(builderWith(...everything(), host).zone()?.attachments).toEqual([]);
  });

  test('what a change does not concern keeps its identity', () => {
    const builder = builderWith(...everything());
    const before = builder.zone();
    feed(builder, wiredPod());
    const after = builder.zone();
    expect(after).not.toBe(before);
    expect(after?.networks).toBe(before?.networks);
    expect(after?.node).toBe(before?.node);
    feed(builder, wiredPod());
    expect(builder.zone()).toBe(after);
  });

  test('the order of the objects does not matter', () => {
    const objects = [...everything(), wiredPod()];
    const forwards = builderWith(...objects).zone();
    const backwards = builderWith(
      ...objects
        .toReversed()
        .filter(({ metadata }) => metadata.name !== 'pod1' || metadata.annotations !== undefined),
    ).zone();
    expect(backwards).toEqual(forwards);
  });

  test('a node that says too little of itself has no zone, and a problem that says what is missing', () => {
    const [worker] = fixture('nodes.yaml');
    const bare = { ...worker, metadata: { name: 'ovn-worker' } } as Node;
    const builder = builderWith(bare);
    expect(builder.zone()).toBeUndefined();
    expect(builder.problems).toEqual([
      {
        object: 'Node ovn-worker',
        message:
          'annotation k8s.ovn.org/node-chassis-id is missing; the node itself writes it (heddle node, heddle lab), or its manifest carries it',
      },
    ]);
  });

  test('another node that is broken is left out alone', () => {
    const [, worker2] = fixture('nodes.yaml');
    const broken = annotated(worker2 as Node, { 'k8s.ovn.org/node-encap-ips': '["1.2.3"]' });
    const builder = builderWith(...everything(), broken);
    expect(builder.zone()?.remoteNodes).toEqual([]);
    expect(builder.zone()?.networks.length).toBe(2);
    expect(builder.problems.map(({ object }) => object)).toEqual(['Node ovn-worker2']);
  });

  test('a network waits for its id, and goes with its NAD', () => {
    const builder = builderWith(...everything());
    feed(builder, { ...NAD, metadata: { name: 'blue', namespace: 'blue' } });
    expect(builder.zone()?.networks.map(({ name }) => name)).toEqual(['default']);
    expect(builder.pending).toEqual([
      {
        object: 'NetworkAttachmentDefinition blue/blue',
        message: 'network id (annotation k8s.ovn.org/network-id)',
      },
    ]);
    feed(builder, NAD);
    expect(builder.zone()?.networks.length).toBe(2);
    feed(builder, NAD, true);
    expect(builder.zone()?.networks.length).toBe(1);
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
    const builder = builderWith(...everything(), generated, intruder);
    expect(builder.zone()?.networks[1]?.nads).toEqual(['blue/blue']);
    expect(builder.problems.map(({ object }) => object)).toEqual([
      'NetworkAttachmentDefinition aaa/intruder',
    ]);
  });

  test('a malformed annotation of a pod harms that pod alone', () => {
    const broken = annotated(wiredPod(), { 'k8s.ovn.org/pod-networks': '{"default":' });
    const builder = builderWith(...everything(), broken);
    expect(builder.zone()?.attachments).toEqual([]);
    const [problem, ...others] = builder.problems;
    expect(others).toEqual([]);
    expect(problem?.object).toBe('Pod blue/pod1');
    expect(problem?.message).toMatch(
      /^annotation k8s.ovn.org\/pod-networks: is not valid JSON: .*; delete the pod/,
    );
  });

  test('a masquerade subnet without room for the network is its problem alone', () => {
    const builder = new ZoneBuilder('ovn-worker', {
      ...SETTINGS,
      masqueradeSubnets: { v4: '169.254.169.0/29', v6: 'fd69::/125' },
    });
    for (const object of everything()) feed(builder, object);
    expect(builder.zone()?.networks.map(({ name }) => name)).toEqual(['default']);
    expect(builder.problems).toEqual([
      {
        object: 'Network blue_blue',
        message:
          "failed generating network id '1' v4-masquerade-ips gateway router ip: generated ip 169.254.169.11 from the idx 11 is out of range in the network 169.254.169.0/29; configure a larger masquerade subnet",
      },
    ]);
  });
});

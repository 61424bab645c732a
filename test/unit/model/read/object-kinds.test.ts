/** Each kind made unreadable: what was read last stays, and where that is nothing, what its declaration says. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../../src/api/objects.ts';
import { objectKey } from '../../../../src/api/objects.ts';
import { parseManifest } from '../../../../src/api/validation/manifest.ts';
import { readStored } from '../../../../src/api/validation/stored-object.ts';
import { objectKindOf, objectKinds } from '../../../../src/model/read/object-kinds.ts';
import { DEFAULT_SETTINGS } from '../../../../src/model/settings.ts';
import type { Key } from '../../../../src/facts/keys.ts';
import { zoneFacts } from '../../../../src/model/zone/zone.ts';
import { ObjectIntake } from '../../../../src/model/zone/intake.ts';
import { unknownOf } from '../../../../src/model/zone/unknown.ts';
import {
  adminPolicy,
  multiPolicy,
  namespace,
  networkPolicy,
} from '../../../support/zone/policed-zone.ts';
import { feed } from '../../../support/zone/zone-objects.ts';

const FIXTURES = join(import.meta.dirname, '../../../integration/cli/fixtures/worked-example');

function fixture(file: string, kind: string, name: string): KubeObject {
  const { documents } = parseManifest(readFileSync(join(FIXTURES, file), 'utf8'), file);
  const found = documents.find(
    ({ object }) => object.kind === kind && object.metadata.name === name,
  );
  return found?.object ?? expect.unreachable(`no ${kind} ${name} in ${file}`);
}

const annotated = (object: KubeObject, annotations: Record<string, string>): KubeObject => ({
  ...object,
  metadata: {
    ...object.metadata,
    annotations: { ...object.metadata.annotations, ...annotations },
  },
});

const NAD: KubeObject = {
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: 'NetworkAttachmentDefinition',
  metadata: {
    name: 'net',
    namespace: 'blue',
    annotations: { 'k8s.ovn.org/network-id': '7', 'k8s.ovn.org/tunnel-keys': '[]' },
  },
  spec: {
    config:
      '{"cniVersion":"1.1.0","name":"blue_net","netAttachDefName":"blue/net","role":"secondary","subnets":"103.103.0.0/16/24","topology":"layer3","type":"ovn-k8s-cni-overlay"}',
  },
};

const CONNECT: KubeObject = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterNetworkConnect',
  metadata: {
    name: 'all',
    annotations: {
      'k8s.ovn.org/network-connect-subnet': '{"layer3_1":{"ipv4":"192.168.0.0/24"}}',
      'k8s.ovn.org/connect-router-tunnel-key': '16000001',
    },
  },
  spec: {
    networkSelectors: [],
    connectSubnets: [{ cidr: '192.168.0.0/16', networkPrefix: 24 }],
    connectivity: ['PodNetwork'],
  },
};

const POD: KubeObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'web',
    namespace: 'blue',
    uid: 'u1',
    annotations: {
      'k8s.ovn.org/pod-networks': JSON.stringify({
        default: {
          ip_addresses: ['10.244.1.3/24'],
          mac_address: '0a:58:0a:f4:01:03',
          role: 'primary',
        },
      }),
    },
  },
  spec: { nodeName: 'ovn-worker' },
};

const SUBJECT = { namespaces: { matchLabels: { tenant: 'blue' } } };
const DENY = { action: 'Deny', from: [{ namespaces: {} }] };
const TORN_DENY = { action: 'Deny', from: [{ namespaces: 7 }] };

interface Sample {
  readonly title: string;
  readonly readable: KubeObject;
  readonly unreadable: KubeObject;
  /** It can't be told what to close. */
  readonly isUnknown?: true;
}

const sample = (
  readable: KubeObject,
  unreadable: KubeObject,
  rest: { readonly isUnknown?: true } = {},
): Sample => ({
  title: `${readable.kind}${rest.isUnknown === true ? ' of which nobody knows what to close' : ''}`,
  readable,
  unreadable,
  ...rest,
});

const worker2 = fixture('nodes.yaml', 'Node', 'ovn-worker2');
const policy = networkPolicy('blue/p', { podSelector: {}, ingress: [] });
const multi = multiPolicy('blue/p', 'blue/net', { podSelector: {}, ingress: [] });
const admin = adminPolicy('p', { priority: 5, subject: SUBJECT, ingress: [DENY] });
const cluster = adminPolicy('p', {
  tier: 'Admin',
  priority: 5,
  subject: SUBJECT,
  ingress: [DENY],
});
const baseline = adminPolicy('default', { subject: SUBJECT, ingress: [DENY] });

const firewall: KubeObject = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressFirewall',
  metadata: { namespace: 'blue', name: 'default' },
  spec: { egress: [{ type: 'Allow', to: { cidrSelector: '8.8.8.8/32' } }] },
};

const route: KubeObject = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'AdminPolicyBasedExternalRoute',
  metadata: { name: 'gateways' },
  spec: { from: { namespaceSelector: {} }, nextHops: { static: [{ ip: '172.18.0.50' }] } },
};

const egressQos: KubeObject = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressQoS',
  metadata: { namespace: 'blue', name: 'default' },
  spec: { egress: [{ dscp: 46 }] },
};
const networkQos: KubeObject = {
  apiVersion: 'k8s.ovn.org/v1alpha1',
  kind: 'NetworkQoS',
  metadata: { namespace: 'blue', name: 'gold' },
  spec: { priority: 5, egress: [{ dscp: 46 }] },
};
const egressIp: KubeObject = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressIP',
  metadata: { name: 'out' },
  spec: { egressIPs: ['172.18.0.200'], namespaceSelector: {} },
};

const trafficClass = (rest: object = {}): KubeObject & { spec: object } => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressTrafficClass',
  metadata: { name: 'mgmt' },
  spec: { destinations: [{ cidr: '192.168.250.0/24', ...rest }] },
});

const SAMPLES: readonly Sample[] = [
  sample(worker2, annotated(worker2, { 'k8s.ovn.org/node-chassis-id': '{' })),
  sample(NAD, annotated(NAD, { 'k8s.ovn.org/network-id': 'seven' })),
  sample(CONNECT, annotated(CONNECT, { 'k8s.ovn.org/network-connect-subnet': '{' })),
  sample(POD, annotated(POD, { 'k8s.ovn.org/pod-networks': '{"default":' })),
  sample(policy, networkPolicy('blue/p', { podSelector: 7 })),
  sample(multi, multiPolicy('blue/p', 'blue/net', { podSelector: 7 })),
  sample(admin, adminPolicy('p', { priority: 5, subject: SUBJECT, ingress: [TORN_DENY] })),
  sample(baseline, adminPolicy('default', { subject: SUBJECT, ingress: [TORN_DENY] })),
  sample(cluster, { ...cluster, spec: { ...(cluster.spec as object), priority: 'first' } }),
  sample(firewall, {
    ...firewall,
    spec: { egress: [{ type: 'Deny', to: { dnsName: `${'a'.repeat(64)}.example` } }] },
  }),
  sample(route, {
    ...route,
    spec: { from: { namespaceSelector: {} }, nextHops: { static: [{ ip: '172.18.0.0/24' }] } },
  }),
  sample(egressQos, { ...egressQos, spec: { egress: [{ dscp: 46, dstCIDR: '10/8' }] } }),
  sample(networkQos, {
    ...networkQos,
    spec: { priority: 5, egress: [{ dscp: 46, classifier: { to: [{}] } }] },
  }),
  sample(egressIp, {
    ...egressIp,
    spec: {
      egressIPs: ['172.18.0.200'],
      namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'Like' }] },
    },
  }),
  sample(trafficClass(), trafficClass({ protocols: [{ tcp: {} }] })),
  sample(admin, adminPolicy('p', { priority: 5, subject: 7, ingress: [DENY] }), {
    isUnknown: true,
  }),
];

/** Of these everything that passes the checks of the API can be read. */
const ALWAYS_READABLE = ['EgressService', 'EndpointSlice', 'Namespace', 'Service'];

const objectOf = ({ kind, metadata }: KubeObject): string => `${kind} ${objectKey(metadata)}`;

class Bed {
  readonly facts = zoneFacts('ovn-worker', DEFAULT_SETTINGS);
  readonly #intake = new ObjectIntake(this.facts);

  constructor() {
    feed(this.#intake, namespace('blue'));
  }

  feed(object: KubeObject, isGone = false): this {
    feed(this.#intake, object, isGone);
    this.facts.otherPods.known();
    this.facts.refresh(0);
    return this;
  }

  /** All that objects of the kind brought. */
  of(kind: string): unknown[] {
    const { facts } = this;
    const entries: Readonly<Record<string, Iterable<[string | Key, object]>>> = {
      nodes: facts.nodes.entries(),
      definitions: facts.registrations.entries(),
      connects: facts.connects.entries(),
      interfaces: facts.interfaces.entries(),
      policies: facts.policies.entries(),
      firewalls: facts.firewalls.entries(),
      qoses: facts.qoses.entries(),
      egressIps: facts.egressIps.entries(),
      trafficClasses: facts.trafficClasses.entries(),
      admins: facts.admins.entries(),
      externalRoutes: facts.externalRoutes.entries(),
    };
    const found = entries[objectKindOf(kind)?.table ?? ''] ?? expect.unreachable(kind);
    // When it was read does not matter here.
    return [...found].map(([key, fact]) => [key, { ...fact, since: 0 }]);
  }

  get problems(): string[] {
    return [...this.facts.modelProblems()].map(({ object }) => object);
  }

  /** Whether rows that nobody wants may be there for the object. */
  mayHaveRows(object: KubeObject): boolean {
    const unknown = unknownOf(this.facts, []);
    const key = objectKey(object.metadata);
    return (
      unknown !== undefined &&
      (unknown.nodes.has(key) || unknown.nads.has(key) || unknown.concerns(objectOf(object)))
    );
  }
}

describe.each(SAMPLES)('$title', ({ readable, unreadable, isUnknown = false }) => {
  const declared = objectKindOf(readable.kind);
  const isClosed = declared?.onUnreadable === 'closed' && !isUnknown;

  test('what was read before stays in force', () => {
    const bed = new Bed().feed(readable);
    const before = bed.of(readable.kind);
    expect(before).toHaveLength(1);
    bed.feed(unreadable);
    expect(bed.of(readable.kind)).toEqual(before);
    expect(bed.problems).toContain(objectOf(readable));
    expect(bed.mayHaveRows(readable)).toBe(false);
  });

  test(`where that is nothing: ${isClosed ? 'what it might have closed is closed' : 'rows that may be there for it stay'}`, () => {
    const bed = new Bed().feed(unreadable);
    expect(bed.of(readable.kind)).toHaveLength(isClosed ? 1 : 0);
    expect(bed.mayHaveRows(readable)).toBe(!isClosed);
    expect(bed.problems).toContain(objectOf(readable));
    if (isClosed) expect(JSON.stringify(bed.of(readable.kind))).not.toContain('"action":"Allow"');
  });

  test('once it is corrected, or gone, nothing of that is left', () => {
    const bed = new Bed().feed(unreadable).feed(readable);
    expect(bed.of(readable.kind)).toEqual(new Bed().feed(readable).of(readable.kind));
    expect(bed.problems).not.toContain(objectOf(readable));
    bed.feed(unreadable).feed(unreadable, true);
    expect(bed.of(readable.kind)).toEqual([]);
    expect(bed.problems).toEqual([]);
    expect(bed.mayHaveRows(readable)).toBe(false);
  });
});

test('every kind that can be unreadable is among these', () => {
  const kinds = new Set(SAMPLES.map(({ readable }) => readable.kind));
  expect([...kinds, ...ALWAYS_READABLE].sort()).toEqual(
    objectKinds.map(({ kind }) => kind.kind).sort(),
  );
});

const closing = objectKinds.filter(({ onUnreadable }) => onUnreadable === 'closed');

test.each(closing)('what closes reaches its reader from an API server: $kind.kind', ({ kind }) => {
  const samples = SAMPLES.filter(({ readable }) => readable.kind === kind.kind);
  expect(samples).not.toEqual([]);
  for (const { unreadable } of samples)
    expect(readStored(kind, unreadable)).toMatchObject({ kind: 'value' });
});

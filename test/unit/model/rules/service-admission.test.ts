/** Which external addresses of a service lead to it: what a tenant may not take, and what is his to have. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { namespaces, nodes } from '../../../../src/api/kinds.ts';
import type { KubeObject } from '../../../../src/api/objects.ts';
import type {
  EgressIP,
  EndpointSlice,
  NetworkAttachmentDefinition,
  Node,
  Service,
} from '../../../../src/api/types.ts';
import { parseManifest } from '../../../../src/api/validation/manifest.ts';
import { readStored } from '../../../../src/api/validation/stored-object.ts';
import { zoneFacts, type ZoneFacts } from '../../../../src/model/zone/zone.ts';
import { ObjectIntake } from '../../../../src/model/zone/intake.ts';
import type { ClusterSettings, ServiceLimits } from '../../../../src/model/model.ts';
import {
  claimsOf,
  hadBefore,
  type SeenService,
} from '../../../../src/model/rules/service-admission.ts';
import { DEFAULT_SETTINGS } from '../../../../src/model/settings.ts';
import { service as serviceOf, slice } from '../../../support/zone/services.ts';
import { feed } from '../../../support/zone/zone-objects.ts';

const FIXTURES = join(import.meta.dirname, '../../../integration/cli/fixtures/worked-example');
const SETTINGS: ClusterSettings = {
  ...DEFAULT_SETTINGS,
  clusterSubnets: [
    { cidr: '10.244.0.0/16', hostLength: 24 },
    { cidr: 'fd00:10:244::/48', hostLength: 64 },
  ],
  serviceSubnets: ['10.96.0.0/16', 'fd00:10:96::/112'],
};

const objectsIn = (name: string): readonly KubeObject[] =>
  parseManifest(readFileSync(join(FIXTURES, name), 'utf8'), name).documents.map(
    ({ object }) => object,
  );

class Cluster {
  readonly facts: ZoneFacts;
  readonly #intake: ObjectIntake;

  constructor(settings: Partial<ClusterSettings> = {}) {
    this.facts = zoneFacts('ovn-worker', { ...SETTINGS, ...settings });
    this.#intake = new ObjectIntake(this.facts);
    for (const object of [...objectsIn('nodes.yaml'), ...objectsIn('blue.yaml')]) this.take(object);
    for (const name of ['a', 'b', 'default'])
      this.take(stored(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
    this.round();
  }

  take(object: KubeObject, isGone = false): this {
    feed(this.#intake, object, isGone);
    return this;
  }

  /** What was taken since the last round came at the same time. */
  round(): this {
    this.facts.refresh(0);
    return this;
  }

  addressesOf(key: string): readonly string[] {
    return this.facts.services.peek(key)?.externalIps ?? [];
  }

  get problems(): string[] {
    return [...this.facts.modelProblems()].map(({ object, message }) => `${object}: ${message}`);
  }
}

function stored<T extends KubeObject>(
  kind: Parameters<typeof readStored<T>>[0],
  object: object,
): T {
  const reading = readStored(kind, object);
  if (reading.kind === 'invalid') throw new Error(reading.error);
  return reading.value;
}

const service = (
  key: string,
  externalIPs: readonly string[],
  {
    created = '2026-01-01T00:00:00Z',
    ports = [80] as readonly number[],
    ingress = [] as readonly string[],
  } = {},
): Service => {
  const made = serviceOf(
    key,
    {
      clusterIPs: [key === 'a/old' ? '10.96.7.1' : '10.96.7.2'],
      externalIPs,
      ports: ports.map((port) => ({ name: `p${port}`, port })),
      ...(ingress.length === 0 ? {} : { type: 'LoadBalancer' }),
    },
    ingress.length === 0 ? {} : { loadBalancer: { ingress: ingress.map((ip) => ({ ip })) } },
  );
  return { ...made, metadata: { ...made.metadata, creationTimestamp: created } };
};

/** Beside what the fixtures say of nodes. */
const thirdNode = (annotations: Record<string, string>, address = '172.18.0.30'): Node =>
  stored(nodes, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: 'third',
      annotations: Object.fromEntries(
        Object.entries(annotations).map(([key, value]) => [`k8s.ovn.org/${key}`, value]),
      ),
    },
    status: { addresses: [{ type: 'InternalIP', address }] },
  });

const THIRD = thirdNode({
  'node-encap-ips': '["172.18.1.30"]',
  'host-cidrs': '["172.18.0.30/16","198.51.100.7/32"]',
  'l3-gateway-config':
    '{"default":{"mode":"shared","bridge-id":"br-ex","interface-id":"br-ex_third","mac-address":"02:42:ac:12:00:1e","ip-addresses":["172.18.2.30/16"],"next-hops":["172.18.9.9"],"node-port-enable":"true","vlan-id":"0"}}',
});

describe('an external address', () => {
  test.each([
    ['10.96.0.10', 'the service subnet 10.96.0.0/16'],
    ['fd00:10:96::a', 'the service subnet fd00:10:96::/112'],
    ['10.244.1.5', 'the cluster subnet 10.244.0.0/16'],
    ['100.64.0.2', 'the built-in join subnet 100.64.0.0/16'],
    ['fd99::3', 'the user defined join subnet fd99::/64'],
    ['100.88.0.3', 'the transit switch subnet 100.88.0.0/16'],
    ['169.254.0.2', 'the masquerade subnet 169.254.0.0/17'],
    ['169.254.169.254', 'the link-local addresses 169.254.0.0/16'],
    ['127.0.0.53', 'the loopback addresses 127.0.0.0/8'],
    ['0.0.0.0', 'the unspecified addresses 0.0.0.0/8'],
    ['224.0.0.251', 'the multicast addresses 224.0.0.0/4'],
    ['255.255.255.255', 'the broadcast address 255.255.255.255/32'],
    ['::1', 'the unspecified and loopback addresses ::/127'],
    ['fe80::1', 'the link-local addresses fe80::/10'],
    ['ff02::1', 'the multicast addresses ff00::/8'],
  ])('%s is refused: it is in %s', (address, range) => {
    const cluster = new Cluster().take(service('a/new', [address, '5.5.5.5'])).round();
    expect(cluster.addressesOf('a/new')).toEqual(['5.5.5.5']);
    expect(cluster.problems).toEqual([
      expect.stringMatching(
        /^Service a\/new: spec\.externalIPs: ".*" is in .*; give it an address/,
      ),
    ]);
    expect(cluster.problems[0]).toContain(range);
  });

  test.each([
    ['172.18.0.30', 'an address of node third', 'its status'],
    ['172.18.1.30', 'an address of node third', 'its tunnels'],
    ['172.18.2.30', 'an address of node third', 'its gateway'],
    ['198.51.100.7', 'an address that node third has beside its own', 'its host'],
    ['172.18.9.9', 'the next hop of node third', 'its gateway'],
  ])('%s is refused: it is %s, as %s says', (address, what) => {
    const cluster = new Cluster()
      .take(THIRD)
      .take(service('a/new', [address]))
      .round();
    expect(cluster.addressesOf('a/new')).toEqual([]);
    expect(cluster.problems).toContainEqual(expect.stringContaining(`"${address}" is ${what}`));
  });

  test('is no address of an EgressIP that a node has, and comes back when none has it', () => {
    const out: EgressIP = {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'EgressIP',
      metadata: { name: 'out' },
      spec: { egressIPs: ['172.18.0.60', '172.18.0.61'], namespaceSelector: {} },
      status: { items: [{ node: 'ovn-worker2', egressIP: '172.18.0.60' }] },
    };
    const asked = service('a/new', ['172.18.0.60', '172.18.0.61']);
    const cluster = new Cluster().take(asked).take(out).round();
    expect(cluster.addressesOf('a/new')).toEqual(['172.18.0.61']);
    expect(cluster.problems.join()).toContain('"172.18.0.60" is that of EgressIP out');
    const unassigned: EgressIP = { ...out, status: { items: [] } };
    cluster.take(unassigned).round();
    expect(cluster.addressesOf('a/new')).toEqual(['172.18.0.60', '172.18.0.61']);
    const off = new Cluster({ features: { ...SETTINGS.features, egressIp: false } });
    expect(off.take(asked).take(out).round().addressesOf('a/new')).toHaveLength(2);
  });

  test('that a node gets later leads to its service no more, and does again when the node is gone', () => {
    const cluster = new Cluster().take(service('a/new', ['172.18.0.30'])).round();
    expect(cluster.addressesOf('a/new')).toEqual(['172.18.0.30']);
    expect(cluster.take(THIRD).round().addressesOf('a/new')).toEqual([]);
    expect(cluster.take(THIRD, true).round().addressesOf('a/new')).toEqual(['172.18.0.30']);
  });

  test('of a node whose annotation can be read no more stays that of the node', () => {
    const torn = thirdNode({
      'node-encap-ips': 'oops',
      'host-cidrs': 'oops',
      'l3-gateway-config': 'oops',
    });
    const addresses = ['172.18.1.30', '172.18.2.30', '198.51.100.7', '172.18.9.9'];
    const cluster = new Cluster().take(THIRD).take(service('a/new', addresses)).round();
    expect(cluster.take(torn).round().addressesOf('a/new')).toEqual([]);
  });

  test('that is the cluster IP of another service is refused, also outside of the service subnets', () => {
    const victim = serviceOf('b/dns', { clusterIPs: ['192.0.2.53'] });
    const cluster = new Cluster().take(service('a/new', ['192.0.2.53'])).round();
    expect(cluster.addressesOf('a/new')).toEqual(['192.0.2.53']);
    cluster.take(victim).round();
    expect(cluster.addressesOf('a/new')).toEqual([]);
    expect(cluster.problems).toEqual([
      expect.stringContaining('is the cluster IP of service b/dns'),
    ]);
  });

  test('that is an API server is refused', () => {
    const cluster = new Cluster()
      .take(serviceOf('default/kubernetes', { clusterIPs: ['10.96.0.1'] }))
      .take(slice('default/kubernetes', ['203.0.113.6'], { ports: [{ port: 6443 }] }))
      .take(service('a/new', ['203.0.113.6']))
      .round();
    expect(cluster.addressesOf('a/new')).toEqual([]);
  });

  test('that a load balancer gave is judged as one that the service names', () => {
    const cluster = new Cluster()
      .take(THIRD)
      .take(service('a/new', [], { ingress: ['172.18.0.30', '172.18.0.200'] }))
      .round();
    expect(cluster.addressesOf('a/new')).toEqual(['172.18.0.200']);
    expect(cluster.problems.filter((text) => text.startsWith('Service'))).toEqual([
      expect.stringContaining('status.loadBalancer.ingress: "172.18.0.30"'),
    ]);
  });

  test('in the subnet of a primary network is refused to services there alone: nobody can take addresses from others by declaring a network', () => {
    const address = '103.103.0.9';
    const cluster = new Cluster()
      .take(BLUE_NAD)
      .take(service('blue/web', [address]))
      .round();
    expect(cluster.addressesOf('blue/web')).toEqual([]);
    const other = new Cluster()
      .take(BLUE_NAD)
      .take(service('a/new', [address]))
      .round();
    expect(other.addressesOf('a/new')).toEqual([address]);
  });
});

const BLUE_NAD: NetworkAttachmentDefinition = {
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

describe('of two services with one external address', () => {
  const old = service('a/old', ['5.5.5.5'], { created: '2025-01-01T00:00:00Z' });
  const young = service('b/young', ['5.5.5.5', '5.5.5.6']);

  test('found at once, the older one has it', () => {
    for (const order of [
      [old, young],
      [young, old],
    ]) {
      const cluster = new Cluster();
      for (const one of order) cluster.take(one);
      cluster.round();
      expect(cluster.addressesOf('a/old')).toEqual(['5.5.5.5']);
      expect(cluster.addressesOf('b/young')).toEqual(['5.5.5.6']);
      expect(cluster.problems).toEqual([
        expect.stringMatching(
          /^Service b\/young: .*"5\.5\.5\.5" is with one of its ports that of service a\/old/,
        ),
      ]);
    }
  });

  test('the one that had it keeps it: an older service that adds it later gets nothing', () => {
    const before = { ...old, spec: { ...old.spec, externalIPs: [] } };
    const cluster = new Cluster().take(before).take(young).round();
    cluster.take(old).round();
    expect(cluster.addressesOf('a/old')).toEqual([]);
    expect(cluster.addressesOf('b/young')).toEqual(['5.5.5.5', '5.5.5.6']);
  });

  test('it goes over when the one that has it goes', () => {
    const cluster = new Cluster().take(old).take(young).round().take(old, true).round();
    expect(cluster.addressesOf('b/young')).toEqual(['5.5.5.5', '5.5.5.6']);
    expect(cluster.problems).toEqual([]);
  });

  test('both have it with different ports', () => {
    const other = service('b/young', ['5.5.5.5'], { ports: [443] });
    const cluster = new Cluster().take(old).take(other).round();
    expect(cluster.addressesOf('a/old')).toEqual(['5.5.5.5']);
    expect(cluster.addressesOf('b/young')).toEqual(['5.5.5.5']);
  });

  test('what an older one may not have it takes from nobody', () => {
    const cluster = new Cluster({ serviceExternalRanges: ['5.5.5.6/32'] });
    cluster.take(old).take(young).round();
    expect(cluster.addressesOf('a/old')).toEqual([]);
    expect(cluster.addressesOf('b/young')).toEqual(['5.5.5.6']);
  });
});

describe('with ranges in the settings', () => {
  const ranges = { serviceExternalRanges: ['172.18.0.0/16', '198.51.100.0/24'] };

  test('an address outside of them is refused', () => {
    const cluster = new Cluster(ranges).take(service('a/new', ['5.5.5.5', '172.18.0.200'])).round();
    expect(cluster.addressesOf('a/new')).toEqual(['172.18.0.200']);
    expect(cluster.problems).toEqual([
      expect.stringContaining(
        '"5.5.5.5" is in none of --service-external-ranges (172.18.0.0/16, 198.51.100.0/24)',
      ),
    ]);
  });

  test('what a program put on a node for a service may be that of a service; the own address of a node stays its own', () => {
    const cluster = new Cluster(ranges)
      .take(THIRD)
      .take(service('a/new', ['198.51.100.7', '172.18.0.30']))
      .round();
    expect(cluster.addressesOf('a/new')).toEqual(['198.51.100.7']);
  });
});

describe('what one service may cost', () => {
  const addresses = (count: number): readonly string[] =>
    Array.from({ length: count }, (_, n) => `5.5.${n >> 8}.${n & 255}`);
  const ports = (count: number): readonly number[] =>
    Array.from({ length: count }, (_, n) => 1000 + n);

  test('too many external addresses: none of them leads to it, and its cluster IP does', () => {
    const many = service('a/new', addresses(3000), { ports: [1, 2, 3] });
    const cluster = new Cluster().take(many).round();
    expect(cluster.facts.services.peek('a/new')).toMatchObject({
      externalIps: [],
      clusterIps: ['10.96.7.2'],
      isExposed: false,
    });
    expect(cluster.facts.services.peek('a/new')?.ports).toHaveLength(3);
    expect(cluster.problems).toEqual([
      'Service a/new: spec.externalIPs and status.loadBalancer.ingress: 3001 addresses with 3 ports each are 9003, one service may have 1024 (--max-service-entries): none of its external addresses leads to it; spread them over several services',
    ]);
    cluster.take(service('a/new', ['5.5.0.1'])).round();
    expect(cluster.addressesOf('a/new')).toEqual(['5.5.0.1']);
    expect(cluster.problems).toEqual([]);
  });

  test('too many ports: none of it is served', () => {
    const cluster = new Cluster().take(service('a/new', [], { ports: ports(1025) })).round();
    expect(cluster.facts.services.peek('a/new')?.ports).toEqual([]);
    expect(cluster.problems).toEqual([
      expect.stringContaining('spec.ports: 1 addresses with 1025'),
    ]);
  });

  test('as much as there may be is served', () => {
    const cluster = new Cluster()
      .take(service('a/new', addresses(63), { ports: ports(16) }))
      .round();
    expect(cluster.addressesOf('a/new')).toHaveLength(63);
    expect(cluster.problems).toEqual([]);
  });

  test('a thousand refused addresses are one problem of few words', () => {
    const inside = Array.from({ length: 1000 }, (_, n) => `10.96.${n >> 8}.${n & 255}`);
    const cluster = new Cluster().take(service('a/new', inside)).round();
    expect(cluster.problems).toHaveLength(1);
    expect(cluster.problems[0]).toContain('and 995 more addresses');
    expect(cluster.problems[0]?.length).toBeLessThan(1000);
  });

  test('of more endpoints than there may be the first by address take the connections', () => {
    const pods = Array.from({ length: 120 }, (_, n) => `10.244.1.${n + 10} on ovn-worker`);
    const cluster = new Cluster({ serviceLimits: { entries: 1024, targets: 400, slices: 1000 } })
      .take(serviceOf('a/new', { clusterIPs: ['10.96.7.2'] }))
      .take(slice('a/new', pods))
      .round();
    const [port] = cluster.facts.backends.peek('default', 'a/new')?.ports ?? [];
    expect(port?.all.v4.split(',')).toHaveLength(100);
    expect(port?.surplus).toBe(20);
    const again = new Cluster({ serviceLimits: { entries: 1024, targets: 400, slices: 1000 } })
      .take(slice('a/new', pods.toReversed()))
      .take(serviceOf('a/new', { clusterIPs: ['10.96.7.2'] }))
      .round();
    expect(again.facts.backends.peek('default', 'a/new')?.ports[0]?.all).toEqual(port?.all);
  });

  test('of more slices than there may be the oldest count, and the service is told', () => {
    const made = (name: string, minute: number, pods: readonly string[]): EndpointSlice => {
      const one = slice('a/new', pods, { name });
      const creationTimestamp = `2026-01-01T00:0${minute}:00Z`;
      return { ...one, metadata: { ...one.metadata, creationTimestamp } };
    };
    const slices = [
      made('a', 2, ['10.244.1.12']),
      made('b', 1, ['10.244.1.11']),
      made('c', 0, ['10.244.1.10']),
    ];
    // A quarter for the only address and port.
    const limits = { entries: 1024, targets: 8, slices: 2 };
    const targetsOf = (serviceLimits: ServiceLimits, of: readonly EndpointSlice[]): unknown => {
      const cluster = new Cluster({ serviceLimits }).take(
        serviceOf('a/new', { clusterIPs: ['10.96.7.2'] }),
      );
      for (const one of of) cluster.take(one);
      const backends = cluster.round().facts.backends.peek('default', 'a/new');
      return [backends?.ports[0]?.all.v4, backends?.slicesLeft];
    };
    for (const order of [slices, slices.toReversed()])
      expect(targetsOf(limits, order)).toEqual(['10.244.1.10:8080,10.244.1.11:8080', 1]);
    // Nor is more read of a few large slices.
    const large = made(
      'd',
      3,
      Array.from({ length: 1000 }, (_, n) => `10.245.${n >> 8}.${n & 255}`),
    );
    expect(targetsOf({ ...limits, slices: 1000 }, [...slices, large])).toEqual([
      '10.244.1.10:8080,10.244.1.11:8080',
      1,
    ]);
  });
});

describe('of two services with one external address and port', () => {
  const facts = {
    key: 'blue/a',
    externalIps: ['1.2.3.4'],
    poolIps: ['192.0.2.1'],
    ports: [{ protocol: 'TCP', port: 80 }],
  };
  const seen = (key: string, since: number, created: string): SeenService =>
    ({ facts: { ...facts, key }, since: { '1.2.3.4 TCP 80': since }, created }) as never;

  test('each claims the address with each of its ports, and one of a pool as a whole', () => {
    expect(claimsOf(facts as never)).toEqual(['1.2.3.4 TCP 80', '192.0.2.1 pool']);
  });

  test('the one has it that had it first; of those of a start the older one', () => {
    const claim = '1.2.3.4 TCP 80';
    expect(hadBefore(claim, seen('b', 1, '2026-02'), seen('a', 2, '2026-01'))).toBe(true);
    expect(hadBefore(claim, seen('b', 1, '2026-02'), seen('a', 1, '2026-01'))).toBe(false);
    expect(hadBefore(claim, seen('a', 1, '2026-01'), seen('b', 1, '2026-01'))).toBe(true);
  });
});

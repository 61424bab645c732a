/** Each field of each kind of object takes values that it must not have: whatever is wrong with one object, rows of others are as they were. */
import { expect, test } from 'vitest';
import { readStored } from '../../../src/api/validation/stored-object.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import { objectKindOf } from '../../../src/model/read/object-kinds.ts';
import { DEFAULT_SETTINGS } from '../../../src/model/settings.ts';
import { ObjectIntake } from '../../../src/model/zone/intake.ts';
import { zoneFacts } from '../../../src/model/zone/zone.ts';
import type { RowOwner, RowTarget } from '../../../src/desired/engine.ts';
import type { DesiredRow } from '../../../src/desired/rows.ts';
import { connect } from '../../support/cluster/cluster.ts';
import { namespace, networkPolicy } from '../../support/zone/policed-zone.ts';
import { engineOver } from '../../support/zone/zone-engine.ts';
import { feed } from '../../support/zone/zone-objects.ts';

const object = (
  apiVersion: string,
  kind: string,
  key: string,
  annotations: Readonly<Record<string, string>>,
  rest: object,
): KubeObject => {
  const [first = '', second] = key.split('/');
  const name = second === undefined ? { name: first } : { namespace: first, name: second };
  const metadata = { ...name, uid: `uid ${key}`, labels: { a: 'b' }, annotations };
  return { apiVersion, kind, metadata, ...rest };
};

const SELF = 'n2';

const node = (id: number): KubeObject => {
  const [name, address] = [`n${id}`, `172.18.0.${id}`];
  const gateway = {
    mode: 'shared',
    'bridge-id': 'breth0',
    'interface-id': `breth0_${name}`,
    'mac-address': `02:42:ac:12:00:0${id}`,
    'ip-addresses': [`${address}/16`],
    'next-hops': ['172.18.0.1'],
    'node-port-enable': 'true',
    'vlan-id': '0',
  };
  const annotations = {
    'k8s.ovn.org/node-id': String(id),
    'k8s.ovn.org/node-chassis-id': `chassis-${name}`,
    'k8s.ovn.org/node-encap-ips': JSON.stringify([address]),
    'k8s.ovn.org/node-primary-ifaddr': JSON.stringify({ ipv4: `${address}/16` }),
    'k8s.ovn.org/node-subnets': JSON.stringify({
      default: [`10.244.${id}.0/24`],
      blue_net: [`103.103.${id}.0/24`],
    }),
    'k8s.ovn.org/host-cidrs': JSON.stringify([`${address}/16`]),
    'k8s.ovn.org/l3-gateway-config': JSON.stringify({ default: gateway }),
    'k8s.ovn.org/node-transit-switch-port-ifaddr': JSON.stringify({ ipv4: `100.88.0.${id}/16` }),
  };
  return object('v1', 'Node', name, annotations, {
    status: { addresses: [{ type: 'InternalIP', address }] },
  });
};

const pod = (key: string, last: number): KubeObject => {
  const interfaceOfDefault = {
    ip_addresses: [`10.244.2.${last}/24`],
    mac_address: `0a:58:0a:f4:02:${last}`,
    role: 'primary',
  };
  const annotations = {
    'k8s.ovn.org/pod-networks': JSON.stringify({ default: interfaceOfDefault }),
  };
  const containers = [{ name: 'c', ports: [{ name: 'http', containerPort: 80, protocol: 'TCP' }] }];
  return object('v1', 'Pod', key, annotations, { spec: { nodeName: SELF, containers } });
};

const connects = connect('all', ['blue'], '192.168.0.0/16/24');

const MUTATED: readonly KubeObject[] = [
  node(3),
  object(
    'k8s.cni.cncf.io/v1',
    'NetworkAttachmentDefinition',
    'blue/net',
    { 'k8s.ovn.org/network-id': '7' },
    {
      spec: {
        config:
          '{"cniVersion":"1.1.0","name":"blue_net","netAttachDefName":"blue/net","role":"primary","subnets":"103.103.0.0/16/24","topology":"layer3","type":"ovn-k8s-cni-overlay"}',
      },
    },
  ),
  {
    ...connects,
    metadata: {
      ...connects.metadata,
      annotations: {
        'k8s.ovn.org/network-connect-subnet': '{"layer3_7":{"ipv4":"192.168.0.0/24"}}',
        'k8s.ovn.org/connect-router-tunnel-key': '16000001',
      },
    },
  },
  object('v1', 'Namespace', 'other', { 'k8s.ovn.org/acl-logging': '{"deny":"alert"}' }, {}),
  pod('other/p', 12),
  object(
    'v1',
    'Service',
    'other/s',
    {},
    {
      spec: {
        type: 'NodePort',
        clusterIP: '10.96.0.9',
        clusterIPs: ['10.96.0.9'],
        externalTrafficPolicy: 'Local',
        externalIPs: ['1.2.3.4'],
        ports: [{ name: 'x', protocol: 'TCP', port: 80, targetPort: 8080, nodePort: 30001 }],
      },
    },
  ),
  object(
    'discovery.k8s.io/v1',
    'EndpointSlice',
    'other/s-1',
    {},
    {
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.244.2.12'], conditions: { ready: true }, nodeName: SELF }],
      ports: [{ name: 'x', protocol: 'TCP', port: 8080 }],
    },
  ),
  networkPolicy('other/p', {
    podSelector: { matchLabels: { a: 'b' } },
    ingress: [{ from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }] }],
  }),
];

const OTHERS: readonly KubeObject[] = [
  node(2),
  namespace('blue'),
  namespace('witness'),
  pod('witness/pod', 77),
  networkPolicy('witness/closed', { podSelector: {}, ingress: [] }),
];

const WRONG: readonly unknown[] = [
  7,
  -1,
  1e30,
  true,
  null,
  undefined,
  {},
  [],
  [7],
  [null],
  [{}],
  { x: 1 },
  '',
  'x',
  'a" || ip4',
  '{',
  '[1,2]',
  '{"default":7}',
  '{"default":{}}',
  '{"__proto__":1}',
  '10.0.0.0/33',
  '1.2.3.4',
  '::1',
  'x'.repeat(5000),
];

type Path = readonly string[];

function* pathsIn(value: unknown, path: Path = []): Generator<Path> {
  if (path.length > 0) yield path;
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value)) yield* pathsIn(member, [...path, key]);
}

function replaced(value: unknown, [first, ...rest]: Path, by: unknown): unknown {
  if (first === undefined) return by;
  const copy = (
    Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }
  ) as Record<string, unknown>;
  copy[first] = replaced(copy[first], rest, by);
  return copy;
}

/** What an object is known by. */
const IDENTITY = /^(apiVersion|kind|metadata|metadata (name|namespace|uid))$/;

class World implements RowTarget {
  readonly database = 'OVN_Northbound';
  readonly facts = zoneFacts(SELF, DEFAULT_SETTINGS);
  readonly #units = new Map<string, string>();
  readonly #intake = new ObjectIntake(this.facts);
  readonly #engine = engineOver(this.facts);

  constructor() {
    this.facts.otherPods.onWanted(() => this.facts.otherPods.known());
    this.#engine.connect([this]);
  }

  set({ id }: RowOwner, wanted: readonly DesiredRow[]): void {
    if (wanted.length === 0) this.#units.delete(id);
    else this.#units.set(id, JSON.stringify(wanted));
  }

  has({ id }: RowOwner): boolean {
    return this.#units.has(id);
  }

  /** Units after these objects, those whose id has `part` in it. */
  feed(objects: readonly KubeObject[], part = ''): readonly string[] {
    for (const one of objects) feed(this.#intake, one);
    this.#engine.build();
    return [...this.#units]
      .filter(([id]) => id.includes(part))
      .map((unit) => unit.join(' '))
      .toSorted();
  }
}

test.each(MUTATED.map((one) => [one.kind, one] as const))('%s', (kind, good) => {
  const world = new World();
  const all = world.feed([...MUTATED, ...OTHERS]);
  const witness = world.feed([], '"witness"');
  expect(witness.map((unit) => unit.slice(0, unit.indexOf(']')))).toContainEqual(
    expect.stringContaining('"pods/port"'),
  );
  let taken = 0;
  for (const path of pathsIn(good)) {
    if (IDENTITY.test(path.join(' '))) continue;
    for (const wrong of WRONG) {
      const mutated = replaced(good, path, wrong) as KubeObject;
      const reading = readStored(objectKindOf(kind)?.kind ?? expect.unreachable(kind), mutated);
      if (reading.kind !== 'value') continue;
      taken += 1;
      const name = `${path.join('.')}: ${JSON.stringify(wrong)?.slice(0, 60)}`;
      expect(world.feed([reading.value], '"witness"'), name).toEqual(witness);
      expect(
        [...world.facts.graph.failures()].filter(({ object: about }) => about.includes('witness')),
        name,
      ).toEqual([]);
      expect(world.feed([good]), name).toEqual(all);
    }
  }
  expect(taken).toBeGreaterThan(20);
});

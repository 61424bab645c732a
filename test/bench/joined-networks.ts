/** What `heddle verify` takes for networks that one connection joins, all with all: what passes the ACLs between them is worked out as sets of headers. Rows are values. */
import type { ClusterNetworkConnect, NetworkAttachmentDefinition } from '../../src/api/types.ts';
import { violationText } from '../../src/verify/findings.ts';
import { KeptProof } from '../../src/verify/kept/kept-proof.ts';
import type { Row } from '../../src/verify/rows.ts';
import type { Snapshot } from '../../src/verify/snapshot.ts';
import { prove } from '../../src/verify/verify.ts';
import { changesBetween } from '../support/verify/changes.ts';
import { connectedSnapshot } from '../support/verify/connected-zone.ts';
import { nad, northboundOf, pod } from '../support/verify/small-zone.ts';
import { median, processorTime, type Benchmark, type Figure } from './benchmark.ts';

const RUNS = 5;
const MANY = 500;
const FEW = 50;

const uuids = (values: readonly string[]): unknown => ['set', values.map((one) => ['uuid', one])];
const map = (values: Readonly<Record<string, string>> = {}): unknown => [
  'map',
  Object.entries(values),
];

/** A network's part of an address: `10.20.3` of the fourth one. */
const subnetOf = (index: number): string => `10.${20 + (index >> 8)}.${index & 255}`;

const moved = <T>(value: T, index: number): T =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll('10.20.0.0/16/24', `${subnetOf(index)}.0/24/26`)
      .replaceAll('10.20.0.', `${subnetOf(index)}.`),
  ) as T;

type Connectivity = NonNullable<ClusterNetworkConnect['spec']['connectivity']>;

/** Networks with a pod each on this node; of services alone each switch has what drops what pods begin with pods of all others. */
function worldOf(count: number, connectivity: Connectivity): Snapshot {
  const base = connectedSnapshot();
  const [connect] = base.objects.connects;
  if (connect === undefined) throw new Error('there is no connection');
  const names = Array.from({ length: count }, (_, index) => `n${index}`);
  const tables = new Map<string, Row[]>();
  const add = (table: string, ...rows: readonly Row[]): void => {
    tables.set(table, [...(tables.get(table) ?? []), ...rows]);
  };
  const nads: NetworkAttachmentDefinition[] = [];
  for (const [index, name] of names.entries()) {
    const both = northboundOf(`${name}_net`, `not-${name}_net`);
    for (const [table, rows] of Object.entries(both))
      for (const row of rows.slice(0, rows.length / 2).map((one) => moved(one, index))) {
        const ports = (row['ports'] as [string, unknown[]] | undefined)?.[1] ?? [];
        if (table === 'Logical_Switch')
          add(table, { ...row, acls: uuids([`drop ${index}`, 'pass', `host ${index}`]) });
        else if (table === 'Logical_Router')
          add(table, { ...row, ports: ['set', [...ports, ['uuid', `${name} up`]]] });
        else add(table, row);
      }
    const [up, down] = [`up-${name}`, `down-${name}`];
    add(
      'Logical_Router_Port',
      { _uuid: ['uuid', `${name} up`], name: up, peer: down, options: map() },
      { _uuid: ['uuid', `${name} down`], name: down, peer: up, options: map() },
    );
    const others = names.flatMap((_, other) =>
      other === index ? [] : [`${subnetOf(other)}.0/24`],
    );
    add(
      'ACL',
      aclRow(
        `host ${index}`,
        'to-lport',
        2,
        1001,
        'allow-related',
        `ip4.src==${subnetOf(index)}.2`,
      ),
      aclRow(
        `drop ${index}`,
        'from-lport',
        0,
        450,
        'drop',
        `ip4.dst == {${others.join(', ')}} && ct.new`,
      ),
    );
    nads.push(moved(nad(name, index + 1), index));
  }
  add('ACL', aclRow('pass', 'from-lport', 0, 500, 'pass', 'ip4.dst == 172.16.1.0/24'));
  const router = base.northbound.get('Logical_Router')?.at(-1) ?? {};
  add('Logical_Router', { ...router, ports: uuids(names.map((name) => `${name} down`)) });
  const subnets = Object.fromEntries(
    names.map((_, index) => [`layer3_${index + 1}`, { ipv4: '192.168.0.0/24' }]),
  );
  const annotations = { 'k8s.ovn.org/network-connect-subnet': JSON.stringify(subnets) };
  return {
    ...base,
    northbound: tables,
    objects: {
      ...base.objects,
      attachmentDefinitions: nads,
      pods: names.map((name, index) => moved(pod(name, 'a', 3), index)),
      namespaces: names.map((name) => ({
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name },
      })),
      connects: [
        {
          ...connect,
          metadata: { ...connect.metadata, annotations },
          spec: { ...connect.spec, connectivity },
        },
      ],
    },
  };
}

const aclRow = (
  uuid: string,
  direction: string,
  tier: number,
  priority: number,
  action: string,
  match: string,
): Row => ({
  _uuid: ['uuid', uuid],
  direction,
  tier,
  priority,
  action,
  match,
  external_ids: map(),
});

interface Costs {
  readonly judged: number;
  readonly changed: number;
}

function costsOf(count: number, connectivity: Connectivity): Costs {
  const world = worldOf(count, connectivity);
  const begin = processorTime();
  const { violations } = prove(world).verdict;
  const judged = processorTime() - begin;
  const [violation] = violations;
  if (violation !== undefined) throw new Error(violationText(violation));
  const proof = new KeptProof(world.node, world.settings);
  proof.apply(changesBetween(undefined, world));
  proof.judge();
  const row = world.northbound.get('ACL')?.find((one) => String(one['match']).includes('ct.new'));
  if (row === undefined) throw new Error('no ACL drops what begins');
  const [, uuid] = row['_uuid'] as [string, string];
  const times = Array.from({ length: RUNS }, (_, run) => {
    const start = processorTime();
    const changed = { ...row, external_ids: map({ run: String(run) }) };
    proof.apply({ rows: new Map([['ACL', new Map([[uuid, changed]])]]) });
    proof.judge();
    return processorTime() - start;
  });
  return { judged, changed: median(times) };
}

const KINDS = {
  pods: ['PodNetwork'],
  'services alone': ['ClusterIPServiceNetwork'],
} as const satisfies Record<string, Connectivity>;

const run = (): Promise<readonly Figure[]> =>
  Promise.resolve(
    Object.entries(KINDS).flatMap(([kind, connectivity]): Figure[] => {
      const [few, many] = [costsOf(FEW, connectivity), costsOf(MANY, connectivity)];
      const of = `${MANY} networks, ${kind}`;
      return [
        { name: `${of}: all pairs`, value: many.judged, unit: 'ms', floor: few.judged, goal: 5000 },
        { name: `${of}: one ACL`, value: many.changed, unit: 'ms', floor: few.changed, goal: 20 },
      ];
    }),
  );

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'joined-networks',
    title: `the proof of what passes between ${MANY} networks that one connection joins, beside ${FEW}`,
    run,
  },
];

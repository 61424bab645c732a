/** A daemon that starts on a database left from before, while something of the cluster can't be read, built or worked out. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MARK } from '../../../src/desired/rows.ts';
import { createLogger } from '../../../src/process/logger.ts';
import type { ZoneFacts } from '../../../src/model/zone/zone.ts';
import { readPolicy } from '../../../src/model/read/policies.ts';
import { parseSchema, type JsonValue } from 'ovsdb-client-ts';
import { ZoneController } from '../../../src/zone/zone-controller.ts';
import { MemoryDatabase } from '../../support/ovsdb/memory-database.ts';
import { SCHEMAS } from '../../support/ovsdb/ovsdb-server.ts';
import { everyKind } from '../../support/zone/all-kinds.ts';
import { networkPolicy } from '../../support/zone/policed-zone.ts';
import { dualZone, factsOf, furtherNode, type Zone } from '../../support/zone/zones.ts';

const signal = new AbortController().signal;

const databaseOf = (file: string): MemoryDatabase =>
  new MemoryDatabase(
    parseSchema(JSON.parse(readFileSync(join(SCHEMAS, file), 'utf8')) as JsonValue),
  );

const reading = readPolicy(
  networkPolicy('blue/deleted', {
    podSelector: {},
    ingress: [{ from: [{ ipBlock: { cidr: '192.0.2.0/24' } }] }],
  }),
);
if (reading.kind !== 'value') throw new Error(JSON.stringify(reading));

const zone = everyKind(dualZone);
/** What was there while the daemon before wrote: more than there is now. */
const earlier: Zone = {
  ...zone,
  policies: [...(zone.policies ?? []), reading.value],
  remoteNodes: [...zone.remoteNodes, furtherNode(9)],
  networks: zone.networks.map((network) =>
    network.topology === 'layer3'
      ? {
          ...network,
          nodeSubnets: new Map([
            ...network.nodeSubnets,
            [furtherNode(9).name, [`10.2${network.id}.9.0/24`]],
          ]),
        }
      : network,
  ),
};

interface Start {
  readonly zone?: Zone;
  /** Said to the facts before anything is built. */
  readonly prepare?: (facts: ZoneFacts) => void;
  readonly unread?: readonly string[];
}

const wrapped = (database: MemoryDatabase) => ({
  replica: database,
  transactor: database,
  unavailable: () => undefined,
});

/** Rows with a mark, as `mark | table | name or match`. */
const rowsIn = (databases: readonly MemoryDatabase[]): readonly string[] =>
  databases.flatMap((database) =>
    [...database.schema.tables.values()].flatMap(({ name, columns }) =>
      columns.has('external_ids')
        ? database.rows(name).flatMap((row) => {
            const ids = row.column('external_ids') as ReadonlyMap<string, string>;
            const mark = ids.get(MARK);
            const of = ['name', 'match', 'ip_prefix']
              .filter((column) => columns.has(column))
              .map((column) => JSON.stringify(row.column(column) ?? null));
            const action = columns.has('action') ? JSON.stringify(row.column('action')) : '';
            return mark === undefined
              ? []
              : [[mark, name, action, ...of, JSON.stringify([...ids])].join(' | ')];
          })
        : [],
    ),
  );

/** What the first pass of a daemon removes from what the one before wrote, and how many rows it holds back. */
async function firstPass({ zone: now = zone, prepare, unread = [] }: Start): Promise<{
  readonly gone: readonly string[];
  readonly problems: readonly string[];
}> {
  const databases = [databaseOf('ovn-nb.ovsschema'), databaseOf('ovn-sb.ovsschema')] as const;
  const [northbound, southbound] = databases;
  const start = (facts: ZoneFacts): ZoneController =>
    new ZoneController({
      facts,
      northbound: wrapped(northbound),
      southbound: wrapped(southbound),
      log: createLogger('silent'),
      now: () => 0,
      unread: () => unread,
    });
  const first = start(factsOf(earlier));
  first.update();
  await first.flush(signal);
  first.close();
  const before = rowsIn(databases);
  const facts = factsOf(now);
  prepare?.(facts);
  const second = start(facts);
  second.update();
  await second.flush(signal);
  second.close();
  const after = new Set(rowsIn(databases));
  return {
    gone: before.filter((row) => !after.has(row)),
    problems: second.problems().map(({ message }) => message),
  };
}

const of = (rows: readonly string[], mark: string): readonly string[] =>
  rows.filter((row) => row.startsWith(`${mark} | `));

/** All rows of the deleted policy; those of the node that left are told by its name. */
const whole = await firstPass({});
const ofPolicy = of(whole.gone, 'NetworkPolicy blue/deleted');
const ofLeftNode = whole.gone.filter((row) => row.includes(`"${furtherNode(9).name}"`));

test('with everything known, all that nobody wants goes', () => {
  expect(ofPolicy.some((row) => row.includes('| ACL | "allow'))).toBe(true);
  expect(ofLeftNode.length).toBeGreaterThan(4);
  expect(whole.problems.filter((one) => one.includes('that nobody wants stay'))).toEqual([]);
});

test('one unreadable Node keeps its own rows, and no others', async () => {
  const { gone, problems } = await firstPass({
    zone: { ...zone, remoteNodes: [] },
    prepare: (facts) => facts.unreadable.set('Node ovn-worker2', []),
  });
  expect(of(gone, 'NetworkPolicy blue/deleted')).toEqual(ofPolicy);
  expect(gone).toEqual(expect.arrayContaining([...ofLeftNode]));
  expect(gone.filter((row) => row.includes('ovn-worker2'))).toEqual([]);
  expect(problems).toContainEqual(expect.stringContaining('rows that nobody wants stay'));
});

test('units that fail keep rows of their objects in their tables', async () => {
  const { gone } = await firstPass({
    zone: { ...zone, settings: { ...zone.settings, masqueradeSubnets: { v4: '169.254.0.0/30' } } },
  });
  expect(of(gone, 'NetworkPolicy blue/deleted')).toEqual(ofPolicy);
  expect(of(gone, 'cluster').filter((row) => row.includes('| Logical_Switch |'))).toEqual([]);
});

test('a policy of administrators of which nobody knows which pods it is about keeps its rows', async () => {
  const { gone } = await firstPass({
    zone: { ...zone, admins: (zone.admins ?? []).filter(({ name }) => name !== 'guard') },
    prepare: (facts) => facts.unreadable.set('AdminNetworkPolicy guard', []),
  });
  expect(of(gone, 'AdminNetworkPolicy guard')).toEqual([]);
  expect(of(gone, 'NetworkPolicy blue/deleted')).toEqual(ofPolicy);
  expect(gone).toEqual(expect.arrayContaining([...ofLeftNode]));
});

test('an unreadable NAD keeps its network, the ports of pods there and what closes them', async () => {
  const isBlue = ({ name }: { readonly name: string }): boolean => name === 'blue_blue';
  const network = earlier.networks.find(isBlue);
  const { gone } = await firstPass({
    zone: { ...zone, networks: zone.networks.filter((one) => !isBlue(one)) },
    prepare: (facts) =>
      facts.unreadable.set('NetworkAttachmentDefinition blue/blue', [network?.object ?? '']),
  });
  expect(of(gone, 'NetworkPolicy blue/deleted')).toEqual(ofPolicy);
  // Another node's way on that network stays with the network.
  expect(of(gone, network?.object ?? '')).toEqual([]);
  expect(of(gone, 'Pod blue/pod1').filter((row) => row.includes('"blue/blue"'))).toEqual([]);
  expect(
    of(gone, 'Namespace blue').filter((row) => row.includes('blue_blue-network-controller')),
  ).toEqual([]);
});

test('an object that did not get into the facts keeps its rows, and what closes its pods', async () => {
  const { gone } = await firstPass({
    zone: { ...zone, policies: (zone.policies ?? []).filter(({ name }) => name !== 'closed') },
    unread: ['NetworkPolicy default/closed'],
  });
  expect(of(gone, 'NetworkPolicy default/closed')).toEqual([]);
  expect(of(gone, 'Namespace default')).toEqual([]);
  expect(of(gone, 'NetworkPolicy blue/deleted')).toEqual(ofPolicy);
});

test('a namespace that was being deleted at the start keeps the policies of its pods, with these in their groups', async () => {
  const { gone, problems } = await firstPass({
    prepare: (facts) => {
      const blue = facts.namespaces.peek('blue');
      if (blue === undefined) throw new Error('no namespace blue');
      facts.namespaces.put('blue', { ...blue, ending: 'unseen' });
    },
  });
  expect(of(gone, 'NetworkPolicy blue/deleted')).toEqual([]);
  expect(of(gone, 'Namespace blue')).toEqual([]);
  expect(of(gone, 'Pod blue/pod1')).toEqual([]);
  expect(problems).toContain(
    'namespace blue was being deleted when this daemon began: which policies its pods are under is not known, and what they have stays until they are gone',
  );
});

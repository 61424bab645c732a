/** A daemon that starts on a host as the one before left it, while something of the cluster can't be read or built. */
import { expect, test } from 'vitest';
import { unknownOf } from '../../../src/model/zone/unknown.ts';
import { zoneFacts, type ZoneFacts } from '../../../src/model/zone/zone.ts';
import { hostFeatures } from '../../../src/node/features.ts';
import { planNft } from '../../../src/node/nftables/nft-plan.ts';
import {
  commentOf,
  ruleComment,
  NFTABLES,
  type NftRow,
} from '../../../src/node/nftables/nft-rows.ts';
import type { FoundNftTable } from '../../../src/node/nftables/nft-state.ts';
import { planFlows, type FoundFlow } from '../../../src/node/openflow/flow-plan.ts';
import { flowKey, OPENFLOW, type OpenFlowRow } from '../../../src/node/openflow/flow-rows.ts';
import type { Wanted } from '../../../src/node/reconcile/claims.ts';
import { withoutHeld, type PlannedChange } from '../../../src/node/reconcile/host-plan.ts';
import { hostOfUnknown } from '../../../src/node/unknown-host.ts';
import { HOST_SETTINGS, hostUnits } from '../../support/host/host-units.ts';
import { sharedNftZone } from '../../support/host/nft-zone.ts';
import { service, slice, withServices } from '../../support/zone/services.ts';
import { engineOver } from '../../support/zone/zone-engine.ts';
import { factsOf, furtherNode, putZone, type Zone } from '../../support/zone/zones.ts';

const FEATURES = hostFeatures(HOST_SETTINGS);

/** What units want of one kind of state. */
const wantedOf = <R extends NftRow | OpenFlowRow>(zone: Zone, database: string): Wanted<R>[] =>
  hostUnits(zone).flatMap(({ unit, rank, rows }, order) =>
    rows
      .filter((row) => row.database === database)
      .map((row) => ({ row: row as unknown as R, owner: { id: unit, rank, order } })),
  );

/** The table as the daemon before left it. */
function tableOf(rows: readonly NftRow[]): FoundNftTable {
  const of = <T extends NftRow['table']>(table: T) =>
    rows.filter((row): row is NftRow & { readonly table: T } => row.table === table);
  return {
    chains: new Map(
      of('chain').map(({ columns }) => [
        columns.name,
        {
          columns,
          rules: of('rule')
            .filter((rule) => rule.columns.chain === columns.name)
            .map(({ object, rule, columns: { text } }, handle) => ({
              text,
              comment: ruleComment(object, 'f', rule),
              handle,
            })),
        },
      ]),
    ),
    sets: new Map(
      of('set').map(({ columns }) => [
        columns.name,
        {
          columns,
          elements: new Map(
            of('element')
              .filter((one) => one.columns.set === columns.name)
              .map((one) => [
                one.columns.element,
                { ...one.columns, comment: commentOf(one.object) },
              ]),
          ),
        },
      ]),
    ),
  };
}

const flowsOf = (rows: readonly OpenFlowRow[]): ReadonlyMap<string, FoundFlow> =>
  new Map(
    rows.flatMap((row) =>
      row.table === 'flow'
        ? [[flowKey(row.columns), { ...row.columns, isSpecial: false }] as const]
        : [],
    ),
  );

/** With load balancers on the pods' network besides. */
const withBalancers = (zone: Zone, ...names: readonly string[]): Zone => {
  const more = withServices(
    zone,
    ...names.flatMap((name, index) => [
      service(
        `blue/${name}`,
        {
          type: 'LoadBalancer',
          clusterIPs: [`10.96.7.${index + 1}`],
          ports: [{ port: 80, nodePort: 31_000 + index }],
        },
        { loadBalancer: { ingress: [{ ip: `5.5.7.${index + 1}` }] } },
      ),
      slice(`blue/${name}`, ['103.103.0.3 on ovn-worker'], { network: 'blue_blue' }),
    ]),
  );
  return {
    ...zone,
    services: [...(zone.services ?? []), ...(more.services ?? [])],
    endpointSlices: [...(zone.endpointSlices ?? []), ...(more.endpointSlices ?? [])],
  };
};
const now: Zone = sharedNftZone;
const earlier: Zone = {
  ...withBalancers(sharedNftZone, 'unread', 'deleted'),
  remoteNodes: [...now.remoteNodes, furtherNode(9)],
};

/** What a first pass takes away of what was there, by the object for which it was there. `known`: of which units could be built. */
function goneFrom(
  zone: Zone,
  prepare: (facts: ZoneFacts) => void,
  unread: readonly string[] = [],
  known = zone,
): ReadonlyMap<string, number> {
  const facts = zoneFacts(zone.node.name, zone.settings, { renderEverywhere: true });
  prepare(facts);
  putZone(facts, undefined, zone);
  const engine = engineOver(facts, () => 0, FEATURES);
  engine.build();
  const mayBeWanted = hostOfUnknown(facts, unknownOf(facts, unread), engine.unbuiltOf(FEATURES));
  const before = {
    nft: wantedOf<NftRow>(earlier, NFTABLES),
    flows: wantedOf<OpenFlowRow>(earlier, OPENFLOW),
  };
  const objects = new Map(
    [...before.nft, ...before.flows].map(({ row }) => [`${row.table} ${row.key}`, row.object]),
  );
  const changes: readonly PlannedChange[] = [
    ...planNft(
      tableOf(before.nft.map(({ row }) => row)),
      wantedOf<NftRow>(known, NFTABLES),
      (name) => name,
      mayBeWanted === undefined,
    ).changes,
    ...planFlows(
      'breth0',
      {
        flows: flowsOf(before.flows.map(({ row }) => row)),
        noFlood: new Set(),
        numberOf: (name) => `{${name}}`,
      },
      wantedOf<OpenFlowRow>(known, OPENFLOW),
    ).changes,
  ];
  const left = mayBeWanted === undefined ? changes : withoutHeld(changes, mayBeWanted);
  const gone = left
    .filter(({ action }) => action === 'remove')
    .map(({ table, key }) => objects.get(`${table} ${key}`) ?? `${table} ${key}`);
  return new Map([...Map.groupBy(gone, (one) => one)].map(([object, all]) => [object, all.length]));
}

const LEFT = `Node ${furtherNode(9).name}`;
const everything = goneFrom(now, () => undefined);

test('with everything known, all that nobody wants goes', () => {
  expect([...everything.keys()]).toEqual(
    expect.arrayContaining(['Service blue/unread', 'Service blue/deleted', LEFT]),
  );
});

test('one unreadable Service keeps its own elements and flows, and no others', () => {
  const gone = goneFrom(now, () => undefined, ['Service blue/unread']);
  expect(gone.has('Service blue/unread')).toBe(false);
  expect(gone.get('Service blue/deleted')).toBe(everything.get('Service blue/deleted'));
  expect(gone.get(LEFT)).toBe(everything.get(LEFT));
});

test('one unreadable Node keeps its own, and no others', () => {
  const [other] = now.remoteNodes;
  const object = `Node ${other?.name}`;
  const without = { ...now, remoteNodes: [] };
  expect(goneFrom(without, () => undefined).has(object)).toBe(true);
  const gone = goneFrom(without, (facts) => facts.unreadable.set(object, []));
  expect(gone.has(object)).toBe(false);
  expect(gone.get(LEFT)).toBe(everything.get(LEFT));
  expect(gone.get('Service blue/deleted')).toBe(everything.get('Service blue/deleted'));
});

test('one unreadable NAD keeps what its network has, and nothing of deleted services', () => {
  const network = now.networks.find(({ name }) => name === 'blue_blue');
  const object = network?.object ?? '';
  const without = { ...now, networks: now.networks.filter((one) => one !== network) };
  expect(goneFrom(without, () => undefined).has(object)).toBe(true);
  const gone = goneFrom(without, (facts) =>
    facts.unreadable.set('NetworkAttachmentDefinition blue/blue', [object]),
  );
  expect(gone.has(object)).toBe(false);
  expect(gone.get(LEFT)).toBe(everything.get(LEFT));
});

test('a fact that can not be worked out keeps what is there for the object that it is about', () => {
  const breaking =
    (service: string) =>
    (facts: ZoneFacts): void => {
      const run = facts.recorder.run.bind(facts.recorder);
      facts.recorder.run = (reader, task) =>
        run(reader, () => {
          const isOfIt = 'key' in reader && (reader.key as readonly string[]).includes(service);
          if (facts.graph.running?.name === 'backends' && isOfIt) throw new Error('for a test');
          return task();
        });
    };
  const gone = goneFrom(withBalancers(now, 'unread'), breaking('blue/unread'), [], now);
  expect(gone.has('Service blue/unread')).toBe(false);
  expect(gone.get('Service blue/deleted')).toBe(everything.get('Service blue/deleted'));
  expect(goneFrom(withBalancers(now, 'unread'), () => undefined, [], now)).toEqual(everything);
});

test('every unit of the host names the objects of what it wants', () => {
  const facts = factsOf(earlier);
  for (const { unit, rows } of hostUnits(earlier)) {
    const [name = '', ...args] = unit.split(' ');
    const objects = FEATURES.find((one) => one.name === name)?.objects?.(facts, args);
    for (const { object } of rows) expect(objects, unit).toContain(object);
  }
});

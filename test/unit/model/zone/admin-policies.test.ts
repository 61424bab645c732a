import { expect, test } from 'vitest';
import { readAdminPolicy, type AdminPolicy } from '../../../../src/model/read/admin-policies.ts';
import type { AdminTables } from '../../../../src/model/zone/admin-policies.ts';
import { zoneFacts } from '../../../../src/model/zone/zone.ts';
import { adminPolicy } from '../../../support/zone/policed-zone.ts';
import { blue, exampleZone, factsOf, putZone, type Zone } from '../../../support/zone/zones.ts';

const policyOf = (namespaces: object): AdminPolicy => {
  const reading = readAdminPolicy(
    adminPolicy('guard', { priority: 10, subject: { namespaces }, ingress: [] }),
  );
  if (reading.kind !== 'value') throw new Error(JSON.stringify(reading));
  return reading.value;
};
const placesOf = ({ adminPlacements }: AdminTables): unknown =>
  adminPlacements.peek('AdminNetworkPolicy', 'guard')?.networks;
const zoneWith = (namespaces: object): Zone => ({ ...exampleZone, admins: [policyOf(namespaces)] });

test('a policy is on the default network, and on the primary ones of the namespaces that it is about', () => {
  expect(placesOf(factsOf(zoneWith({})))).toEqual([blue.name, 'default']);
  expect(placesOf(factsOf(zoneWith({ matchLabels: { team: 'x' } })))).toEqual(['default']);
});

test('on a network that has no rows here it has none', () => {
  expect(placesOf(factsOf(zoneWith({}), {}))).toEqual(['default']);
});

test('a namespace whose networks can not be worked out holds it up nowhere: what was known last counts', () => {
  const zone = zoneWith({});
  const facts = zoneFacts(zone.node.name, zone.settings, { renderEverywhere: true });
  let isBroken = false;
  const run = facts.recorder.run.bind(facts.recorder);
  facts.recorder.run = (reader, task) =>
    run(reader, () => {
      const isOfIt = 'key' in reader && String(reader.key) === 'blue';
      if (isBroken && isOfIt && facts.graph.running?.name === 'namespaceNetworks')
        throw new Error('for a test');
      return task();
    });
  putZone(facts, undefined, zone);
  facts.refresh(0);
  isBroken = true;
  const namespace = facts.namespaces.peek('blue');
  if (namespace === undefined) throw new Error('no namespace blue');
  facts.namespaces.put('blue', { ...namespace, isLabelled: false });
  facts.refresh(0);
  expect([...facts.graph.failures()].map(({ table }) => table)).toContain('namespaceNetworks');
  expect(placesOf(facts)).toEqual([blue.name, 'default']);
});

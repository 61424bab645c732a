import { expect, test } from 'vitest';
import type { Firewall } from '../../../../src/model/read/egress-firewalls.ts';
import type { ResolvedName } from '../../../../src/model/zone/egress-firewalls.ts';
import { egressFirewallNames } from '../../../../src/topology/egress/firewall-names.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import { dualZone, factsOf } from '../../../support/zone/zones.ts';

const NAME = 'www.example.com';
const firewall = (namespace: string): Firewall => ({
  namespace,
  name: 'default',
  rules: [{ isAllowed: true, destination: { kind: 'name', name: NAME }, ports: [] }],
});

function built(resolved?: ResolvedName) {
  const facts = factsOf({ ...dualZone, firewalls: [firewall('blue'), firewall('default')] });
  facts.resolvedNames.put(NAME, resolved);
  facts.refresh(0);
  return builtUnits(facts, [egressFirewallNames]);
}

test('a name has a set per family, whoever has a rule with it', () => {
  const units = built({ addresses: { v4: ['192.0.2.1', '192.0.2.2'], v6: [] } });
  expect(units).toHaveLength(1);
  expect(
    units[0]?.rows.map(({ table, key, columns, unspecified }) => [
      `${table} ${key}`,
      columns['addresses'],
      unspecified,
    ]),
  ).toEqual([
    ['Address_Set a89dd6dbaeb419660a09334629fe19d0b', ['192.0.2.1', '192.0.2.2'], undefined],
    ['Address_Set a1b03f69c104bda62300c575b22097f71', undefined, undefined],
  ]);
});

test('what a set has stays while a family was never answered for', () => {
  for (const resolved of [undefined, { addresses: {}, problem: 'no answer' }])
    for (const { unspecified } of built(resolved)[0]?.rows ?? expect.unreachable())
      expect(unspecified).toEqual(['addresses']);
});

test('what is wrong with a name is told of each firewall that has it', () => {
  expect(built({ addresses: {}, problem: 'no answer' })[0]?.problems).toEqual([
    'EgressFirewall blue/default: no answer',
    'EgressFirewall default/default: no answer',
  ]);
});

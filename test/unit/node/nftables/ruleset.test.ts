/** Whatever stands in our table is declared in src/node/nftables/ruleset.ts, and nothing else is declared there. */
import { describe, expect, test } from 'vitest';
import type {
  ElementColumns,
  NftRow,
  NftRuleColumns,
} from '../../../../src/node/nftables/nft-rows.ts';
import type { ChainColumns, SetColumns } from '../../../../src/node/nftables/ruleset.ts';
import {
  CHAINS,
  isOfFamily,
  MARKS,
  NETWORK_CHAINS,
  SETS,
  setColumns,
  type DeclaredChain,
  type SetName,
} from '../../../../src/node/nftables/ruleset.ts';
import { hostUnits } from '../../../support/host/host-units.ts';
import { nftZone, sharedNftZone } from '../../../support/host/nft-zone.ts';

const ROWS = [nftZone, sharedNftZone].flatMap((zone) =>
  hostUnits(zone)
    .flatMap(({ rows }) => rows)
    .filter(({ database }) => database === 'nftables'),
);
const columnsOf = <C>(table: NftRow['table']): readonly C[] =>
  ROWS.filter((row) => row.table === table).map(({ columns }) => columns as unknown as C);

const RULES = columnsOf<NftRuleColumns>('rule');
const unique = (names: readonly string[]): string[] => [...new Set(names)].toSorted();

/** Of a network's chain what begins its name. */
const declaredName = (chain: string): string =>
  Object.keys(NETWORK_CHAINS).find((prefix) => new RegExp(`^${prefix}0x[0-9a-f]+$`).test(chain)) ??
  chain;

test('chains are those that are declared, at their hooks', () => {
  const built = columnsOf<ChainColumns>('chain');
  expect(unique(built.map(({ name }) => declaredName(name)))).toEqual(
    unique([...Object.keys(CHAINS), ...Object.keys(NETWORK_CHAINS)]),
  );
  for (const { name, type, hook, priority } of built) {
    const declared: DeclaredChain | undefined = Object.entries<DeclaredChain>(CHAINS).find(
      ([other]) => other === name,
    )?.[1];
    expect([name, type, hook, priority]).toEqual([
      name,
      declared?.type,
      declared?.hook,
      declared?.priority,
    ]);
  }
});

test('sets are those that are declared, for both families', () => {
  const built = new Map(columnsOf<SetColumns>('set').map((set) => [set.name, set]));
  const declared = Object.keys(SETS).flatMap((name) =>
    (isOfFamily(SETS[name as SetName]) ? (['v4', 'v6'] as const) : [undefined]).map((family) =>
      setColumns(name as SetName, family),
    ),
  );
  expect([...built.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual(
    declared.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  );
  for (const { set } of columnsOf<ElementColumns>('element'))
    expect([...built.keys()]).toContain(set);
});

test('rules and verdicts name chains and sets that are declared', () => {
  const texts = [
    ...RULES.map(({ text }) => text),
    ...columnsOf<ElementColumns>('element').map(({ value = '' }) => value),
  ];
  const named = (pattern: RegExp): string[] =>
    unique(texts.flatMap((text) => [...text.matchAll(pattern)].map(([, name = '']) => name)));
  const chains = named(/\bjump (\S+)/g).map(declaredName);
  expect(chains.filter((name) => !(name in CHAINS) && !(name in NETWORK_CHAINS))).toEqual([]);
  const sets = named(/@(\S+)/g).map((name) => name.replace(/-v[46]$/, ''));
  expect(sets.filter((name) => !(name in SETS))).toEqual([]);
});

test('a family is for sets of addresses, and for all of them', () => {
  expect(() => setColumns('nodeports', undefined)).toThrow('set nodeports: a family');
  expect(() => setColumns('udn-host-ports', 'v4')).toThrow('set udn-host-ports: a family');
});

describe('marks', () => {
  const uses = (pattern: RegExp): readonly { chain: string; value: number }[] =>
    RULES.flatMap(({ chain, text }) =>
      [...text.matchAll(pattern)].map(([, value]) => ({
        chain: declaredName(chain),
        value: Number(value),
      })),
    );
  const set = uses(/\bmeta mark set (0x[\da-f]+|\d+)/g);
  // Zero is no mark.
  const read = uses(/\bmeta mark (?:!= )?(0x[\da-f]+|\d+)/g).filter(({ value }) => value !== 0);

  test('are declared, whoever sets or reads them', () => {
    const unknown = [...set, ...read].filter(({ value }) => !MARKS.some(({ has }) => has(value)));
    expect(unknown).toEqual([]);
  });

  test.each(MARKS)(
    '$value is set and read where it is declared to be',
    ({ has, setIn, readIn }) => {
      const chains = (used: typeof set): string[] =>
        unique(used.filter(({ value }) => has(value)).map(({ chain }) => chain));
      expect([chains(set), chains(read)]).toEqual([setIn, readIn]);
    },
  );
});

/** Whatever stands on the bridge is declared in src/node/openflow/pipeline.ts, and nothing else is declared there. */
import { describe, expect, test } from 'vitest';
import type { FlowColumns } from '../../../../src/node/openflow/flow-rows.ts';
import {
  COOKIES,
  FLOW_FIELDS,
  PIPELINE,
  ZONES,
  type FlowPlace,
  type FlowTable,
} from '../../../../src/node/openflow/pipeline.ts';
import {
  bridgePortNumber,
  bridgeRows,
  bridgeZone,
  dualBridgeZone,
  egressCardZone,
  egressClassCardZone,
  egressClassZone,
  egressMoveZone,
  egressZone,
  inVlan,
  servingZone,
} from '../../../support/host/bridge-zones.ts';
import { withNumbers } from '../../../../src/node/openflow/flow-rows.ts';
import { overlappingZone } from '../../../support/zone/overlapping.ts';
import { inLocalMode, type Zone } from '../../../support/zone/zones.ts';

const withSettings = (zone: Zone, settings: Partial<Zone['settings']>): Zone => ({
  ...zone,
  settings: { ...zone.settings, ...settings },
});
const modes = [
  bridgeZone,
  dualBridgeZone,
  servingZone,
  overlappingZone,
  egressMoveZone,
  egressZone,
  egressMoveZone,
  egressCardZone,
  egressClassZone,
  egressClassCardZone,
].flatMap((zone) => [zone, inLocalMode(zone)]);
const ZONES_LOOKED_AT: readonly Zone[] = [
  ...modes,
  ...modes.map(inVlan),
  withSettings(dualBridgeZone, { tunnelSources: 'any' }),
  withSettings(dualBridgeZone, { tunnelSources: ['203.0.113.0/24'] }),
];

interface BuiltFlow extends Omit<FlowColumns, 'bridge'> {
  readonly rule: string;
}

/** Flows, and those that they learn, with the numbers of ports. */
const FLOWS: readonly BuiltFlow[] = ZONES_LOOKED_AT.flatMap((zone) =>
  bridgeRows(zone)
    .filter(({ table }) => table === 'flow')
    .flatMap(({ rule, columns }) => {
      const flow = columns as unknown as FlowColumns;
      const text = (one: string): string => withNumbers(one, bridgePortNumber(zone)) ?? one;
      const built = { ...flow, rule, match: text(flow.match), actions: text(flow.actions) };
      const learned = /learn\(table=(\d+),.*priority=(\d+),.*cookie=(0x\w+),/.exec(built.actions);
      if (learned === null) return [built];
      const [, table, priority, cookie = ''] = learned;
      return [
        built,
        { ...built, table: Number(table), priority: Number(priority), cookie, actions: '' },
      ];
    }),
);

const TABLES: readonly FlowTable[] = Object.values(PIPELINE);
const PLACES: readonly FlowPlace[] = TABLES.flatMap(({ at }) => Object.values(at));

const numbers = (values: Iterable<number>): number[] =>
  [...new Set(values)].toSorted((a, b) => a - b);

test('a flow stands in a declared place for a rule of it, and no place is empty', () => {
  const textOf = (one: Pick<FlowPlace, 'table' | 'priority'>, rule: string): string =>
    `table ${one.table}, priority ${one.priority}: ${rule}`;
  const declared = PLACES.flatMap((place) => place.rules.map((rule) => textOf(place, rule)));
  expect(new Set(declared).size).toBe(declared.length);
  const built = new Set(FLOWS.map((flow) => textOf(flow, flow.rule)));
  expect([...built].toSorted()).toEqual(declared.toSorted());
});

test('places of a table are in the order in which the switch looks at them', () => {
  for (const { at } of TABLES) {
    const priorities = Object.values(at).map(({ priority }) => priority);
    expect(priorities).toEqual(priorities.toSorted((a, b) => b - a));
  }
});

test.each(TABLES)('table $id leads where it is declared to', ({ id, leadsTo }) => {
  const actions = FLOWS.filter(({ table }) => table === id).map((flow) => flow.actions);
  const next = actions.flatMap((text) =>
    // `table=` of learn is where a flow is made, not where the packet goes on.
    [...text.replaceAll(/learn\(.*?\)/g, '').matchAll(/(?:\btable=|resubmit\(,)(\d+)/g)].map(
      ([, table]) => Number(table),
    ),
  );
  expect(numbers(next)).toEqual(leadsTo);
});

test('conntrack zones are those that are declared', () => {
  const zones = FLOWS.flatMap(({ actions }) =>
    [...actions.matchAll(/\bzone=(\d+)/g)].map(([, zone]) => Number(zone)),
  );
  expect(numbers(zones)).toEqual(numbers(Object.values(ZONES)));
});

test('every cookie is declared, and each of them is in use', () => {
  const cookies = [...new Set(FLOWS.map(({ cookie }) => cookie))];
  expect(cookies.filter((cookie) => !COOKIES.some(({ has }) => has(cookie)))).toEqual([]);
  for (const { has } of COOKIES) expect(cookies.some(has)).toBe(true);
});

describe('marks and registers', () => {
  interface Use {
    readonly table: number;
    readonly field: string;
    readonly value: string;
  }
  const uses = (of: (flow: BuiltFlow) => string, pattern: RegExp): readonly Use[] =>
    FLOWS.flatMap((flow) =>
      [...of(flow).matchAll(pattern)].map(({ groups = {} }) => ({
        table: flow.table,
        field: groups['field'] ?? '',
        value: groups['value'] ?? '0x1',
      })),
    );
  const read = uses(
    ({ match }) => match,
    /(?<field>ct_mark|ct_label|pkt_mark|x*reg\d+|metadata)=(?:0\/)?(?<value>0x[\da-f]+)/g,
  );
  const set = [
    ...uses(
      ({ actions }) => actions,
      /set_field:(?<value>0x[\da-f]+)->(?<field>ct_mark|ct_label|pkt_mark|x*reg\d+|metadata)\b/g,
    ),
    // One bit of a register.
    ...uses(({ actions }) => actions, /->NXM_NX_(?<field>REG\d+)\[(?<value>\d)\]/g).map((use) => ({
      ...use,
      value: `0x${1 << Number(use.value)}`,
      field: use.field.toLowerCase(),
    })),
  ];

  test('are declared, whoever sets or reads them', () => {
    const unknown = [...set, ...read].filter(
      ({ field, value }) => !FLOW_FIELDS.some((one) => one.field === field && one.has(value)),
    );
    expect(unknown).toEqual([]);
  });

  test.each(FLOW_FIELDS)('$field $value is set and read where it is declared to be', (one) => {
    const tables = (used: readonly Use[]): number[] =>
      numbers(
        used
          .filter(({ field, value }) => field === one.field && one.has(value))
          .map(({ table }) => table),
      );
    expect([tables(set), tables(read)]).toEqual([one.setIn, one.readIn]);
  });
});

import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ObjectEvent } from '../../../src/store/store.ts';
import type { RepairedRow } from '../../../src/views/repair-text.ts';
import { DriftReports, REPORT_AFTER } from '../../../src/zone/drift-reports.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

interface Line {
  readonly msg: string;
  readonly count: number;
  readonly rows: readonly string[];
  readonly by: string;
}

function bed() {
  const lines: Line[] = [];
  const events: ObjectEvent[] = [];
  const counted: string[] = [];
  const log = pino({ base: null }, { write: (line) => lines.push(JSON.parse(line) as Line) });
  const reports = new DriftReports({
    node: 'n1',
    log,
    objectOf(name) {
      const [kind = '', key = ''] = name.split(' ');
      return kind === 'Service' ? undefined : { apiVersion: 'v1', kind, metadata: { name: key } };
    },
    emit: (event) => events.push(event),
    onRepaired: (...all) => counted.push(all.join(' ')),
  });
  return { lines, events, counted, reports };
}

const row = (text: string, object?: string, table = 'ACL'): RepairedRow => ({
  table,
  object,
  text,
});
const told = (events: readonly ObjectEvent[]): readonly string[] =>
  events.map(
    ({ regarding, message }) => `${regarding.kind} ${regarding.metadata.name}: ${message}`,
  );

test('says which rows and who, to the node and to whom the rows are for, with numbers of processes in the log alone', () => {
  const { lines, events, counted, reports } = bed();
  reports.take({
    database: 'nftables',
    rows: [
      row('chain a was removed', 'UserDefinedNetwork blue'),
      row('set b was removed', undefined, 'Set'),
      row('chain c was removed', 'Service gone'),
    ],
    by: ['nft (process 7)', 'nft (process 8)', 'process 9'],
  });
  expect(lines).toMatchObject([
    {
      level: 40,
      component: 'drift',
      database: 'nftables',
      count: 3,
      rows: ['chain a was removed', 'set b was removed', 'chain c was removed'],
      by: 'nft (process 7), nft (process 8), process 9',
      msg: '3 rows of nftables had been changed by nft (process 7), nft (process 8), process 9, and are put right',
    },
  ]);
  expect(events[0]).toMatchObject({ type: 'Warning', reason: 'DriftRepaired' });
  expect(told(events)).toEqual([
    'Node n1: node n1: 3 rows of nftables had been changed by nft, and are put right: chain a was removed; set b was removed; chain c was removed',
    'UserDefinedNetwork blue: node n1: 1 row of nftables had been changed by nft, and is put right: chain a was removed',
  ]);
  expect(counted).toEqual(['nftables ACL 2', 'nftables Set 1']);
});

test('who fights with it again and again fills neither log nor events: what came since is told at once, counted whole, some of it named', () => {
  const { lines, events, counted, reports } = bed();
  for (let i = 0; i < 1000; i += 1) {
    reports.take({ database: 'Northbound', rows: [row(`ACL ${i} was removed`)] });
    vi.advanceTimersByTime(REPORT_AFTER / 500 - 0.001);
  }
  vi.advanceTimersByTime(10 * REPORT_AFTER);
  expect(lines.map(({ count }) => count).reduce((a, b) => a + b)).toBe(1000);
  expect(lines.length).toBeLessThanOrEqual(4);
  expect(events.length).toBe(lines.length);
  expect(lines[1]?.rows).toHaveLength(10);
  expect(events[1]?.message).toMatch(
    /^node n1: \d+ rows of Northbound had been changed by somebody else, and are put right: ACL 1 was removed; ACL 2 was removed; ACL 3 was removed; and \d+ more$/,
  );
  expect(counted).toHaveLength(1000);
  // Another database is told of at once, and this one again after the pause.
  reports.take({ database: 'Linux', rows: [row('rule a was removed')] });
  reports.take({ database: 'Northbound', rows: [row('ACL x was removed')] });
  expect(lines.slice(-2).map(({ count }) => count)).toEqual([1, 1]);
  reports[Symbol.dispose]();
  expect(vi.getTimerCount()).toBe(0);
});

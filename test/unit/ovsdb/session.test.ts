import { describe, expect, test } from 'vitest';
import { outcomeOf } from '../../../src/ovsdb/data/outcome.ts';
import { parseRemotes, remoteText, type Clause, type Operation } from 'ovsdb-client-ts';
import { MonitorConditions } from '../../../src/ovsdb/session/conditions.ts';
import {
  deadline,
  DEFAULT_TIMING,
  initialLink,
  step,
  type LinkInput,
  type LinkState,
} from '../../../src/ovsdb/session/link.ts';

/** Steps at these times, as a transcript: time, input, state after it and effect. */
function transcript(
  remotes: number,
  inputs: readonly (readonly [number, LinkInput['kind']])[],
): string[] {
  let state: LinkState = initialLink(0, remotes);
  return inputs.map(([now, kind]) => {
    const [next, effect] = step(state, { kind }, now, DEFAULT_TIMING, remotes);
    state = next;
    const due = deadline(state, DEFAULT_TIMING);
    return `${now} ${kind}: ${state.kind}${due === undefined ? '' : ` until ${due}`}, ${effect}`;
  });
}

describe('the life of a connection', () => {
  test('every remote is tried at once, then with a growing pause', () => {
    expect(
      transcript(2, [
        [0, 'tick'],
        [1, 'failed'],
        [1, 'tick'],
        [2, 'failed'],
        [500, 'tick'],
        [1002, 'tick'],
        [1003, 'failed'],
        [3003, 'tick'],
        [3004, 'failed'],
        [7004, 'tick'],
        [7005, 'failed'],
        [15_005, 'tick'],
        [15_006, 'failed'],
      ]),
    ).toEqual([
      '0 tick: connecting until 20000, connect',
      '1 failed: waiting until 1, disconnect',
      '1 tick: connecting until 20001, connect',
      '2 failed: waiting until 1002, disconnect',
      '500 tick: waiting until 1002, none',
      '1002 tick: connecting until 21002, connect',
      '1003 failed: waiting until 3003, disconnect',
      '3003 tick: connecting until 23003, connect',
      '3004 failed: waiting until 7004, disconnect',
      '7004 tick: connecting until 27004, connect',
      '7005 failed: waiting until 15005, disconnect',
      '15005 tick: connecting until 35005, connect',
      '15006 failed: waiting until 23006, disconnect',
    ]);
  });

  test('two silent probe intervals end it, a byte saves it', () => {
    expect(
      transcript(1, [
        [0, 'tick'],
        [5, 'opened'],
        [5005, 'tick'],
        [6000, 'heard'],
        [10_000, 'tick'],
        [11_000, 'tick'],
        [16_000, 'tick'],
      ]),
    ).toEqual([
      '0 tick: connecting until 20000, connect',
      '5 opened: active until 5005, none',
      '5005 tick: probing until 10005, send-probe',
      '6000 heard: active until 11000, none',
      '10000 tick: active until 11000, none',
      '11000 tick: probing until 16000, send-probe',
      '16000 tick: waiting until 17000, disconnect',
    ]);
  });

  test('a good remote that is lost is tried again at once; one that stays silent is given up', () => {
    expect(
      transcript(1, [
        [0, 'tick'],
        [1, 'opened'],
        [2, 'settled'],
        [9000, 'failed'],
        [9000, 'tick'],
        [29_000, 'tick'],
        [30_000, 'stop'],
        [31_000, 'tick'],
      ]),
    ).toEqual([
      '0 tick: connecting until 20000, connect',
      '1 opened: active until 5001, none',
      '2 settled: active until 5001, none',
      '9000 failed: waiting until 9000, disconnect',
      '9000 tick: connecting until 29000, connect',
      '29000 tick: waiting until 30000, disconnect',
      '30000 stop: stopped, none',
      '31000 tick: stopped, none',
    ]);
  });

  test('who asks for a connection does not wait for the next attempt', () => {
    expect(
      transcript(2, [
        [0, 'tick'],
        [1, 'failed'],
        [1, 'tick'],
        [2, 'failed'],
        [500, 'retry'],
        [501, 'retry'],
        [502, 'failed'],
        [503, 'tick'],
        [504, 'failed'],
      ]).slice(3),
    ).toEqual([
      '2 failed: waiting until 1002, disconnect',
      '500 retry: connecting until 20500, connect',
      '501 retry: connecting until 20500, none',
      '502 failed: waiting until 502, disconnect',
      '503 tick: connecting until 20503, connect',
      '504 failed: waiting until 1504, disconnect',
    ]);
  });

  test('who moves on does so without a pause', () => {
    expect(
      transcript(3, [
        [0, 'tick'],
        [1, 'opened'],
        [2, 'settled'],
        [50, 'move-on'],
        [50, 'tick'],
      ]).slice(3),
    ).toEqual([
      '50 move-on: waiting until 50, disconnect',
      '50 tick: connecting until 20050, connect',
    ]);
  });
});

describe('remotes', () => {
  test.each([
    ['unix:/run/a.sock', ['unix:/run/a.sock']],
    ['unix:/run/a,b.sock,tcp:h:1', ['unix:/run/a,b.sock', 'tcp:h:1']],
    ['tcp:127.0.0.1', ['tcp:127.0.0.1:6640']],
    ['ssl:[fe80::1%eth0]:6641, tcp:[::1]', ['ssl:[fe80::1%eth0]:6641', 'tcp:[::1]:6640']],
    ['ptcp:,pssl:6641:[::],punix:/x', ['ptcp:6640', 'pssl:6641:[::]', 'punix:/x']],
  ])('%s', (text, expected) => {
    expect(parseRemotes(text).remotes.map(remoteText)).toEqual(expected);
  });

  test('the id of a cluster may be among them', () => {
    const id = '550e8400-e29b-41d4-a716-446655440000';
    expect(parseRemotes(`tcp:a,cid:${id.toUpperCase()}`).cluster).toBe(id);
  });

  test.each(['', 'cid:x', 'http://x', 'tcp:', 'tcp:a:99999', 'tcp:::1', 'unix:', 'tcp:a:b'])(
    '"%s" is refused',
    (text) => {
      expect(() => parseRemotes(text)).toThrow('bad remote');
    },
  );
});

const asGiven = (_table: string, where: readonly Clause[]): readonly Clause[] => where;

describe('conditions of a monitor', () => {
  test('one change at a time; the next is sent when the first is confirmed', () => {
    const conditions = new MonitorConditions(new Map());
    conditions.set('A', [['x', '==', 1]]);
    expect(conditions.takeChange(asGiven)).toEqual({ A: [{ where: [['x', '==', 1]] }] });
    conditions.set('A', [['x', '==', 2]]);
    expect(conditions.takeChange(asGiven)).toBeUndefined();
    conditions.acknowledge();
    expect(conditions.isSettled).toBe(false);
    expect(conditions.takeChange(asGiven)).toEqual({ A: [{ where: [['x', '==', 2]] }] });
    conditions.acknowledge();
    expect(conditions.isSettled).toBe(true);
    expect(conditions.takeChange(asGiven)).toBeUndefined();
  });

  test('a new connection goes on with what was confirmed, unless a change was under way', () => {
    const conditions = new MonitorConditions(new Map([['A', [false]]]));
    conditions.set('A', [['x', '==', 1]]);
    expect(conditions.reconnect()).toBe(true);
    expect(conditions.acknowledged.get('A')).toEqual([false]);
    conditions.takeChange(asGiven);
    expect(conditions.reconnect()).toBe(false);
    expect(conditions.acknowledged.get('A')).toEqual([['x', '==', 1]]);
    expect(conditions.isSettled).toBe(true);
  });
});

describe('outcomes', () => {
  const operations: Operation[] = [
    { op: 'insert', table: 'T', row: {} },
    { op: 'assert', lock: 'zone' },
  ];
  test.each([
    [
      [{ uuid: ['uuid', '00000000-0000-4000-8000-000000000001'] }, {}],
      undefined,
      {
        kind: 'success',
        results: [{ uuid: ['uuid', '00000000-0000-4000-8000-000000000001'] }, {}],
      },
    ],
    [
      [{ error: 'constraint violation', details: 'd' }, null],
      undefined,
      { kind: 'error', error: 'constraint violation', details: 'd', operation: 0, table: 'T' },
    ],
    [
      [{}, {}, { error: 'referential integrity violation', details: 'd' }],
      undefined,
      { kind: 'error', error: 'referential integrity violation', details: 'd' },
    ],
    [[{}, { error: 'not owner', details: 'd' }], undefined, { kind: 'not-locked', lock: 'zone' }],
    [
      [{ error: 'timed out', details: 'd' }, null],
      undefined,
      { kind: 'try-again', reason: 'timed out: d', operation: 0 },
    ],
    [[{}, { error: 'aborted' }], undefined, { kind: 'aborted', results: [{}] }],
    [undefined, 'canceled', { kind: 'try-again', reason: 'canceled' }],
    [
      undefined,
      { error: 'database not available', details: 'd' },
      { kind: 'try-again', reason: 'database not available: d' },
    ],
    [
      undefined,
      { error: 'permission error', details: 'd' },
      { kind: 'error', error: 'permission error', details: 'd' },
    ],
    [{}, undefined, { kind: 'error', error: 'protocol' }],
    // Nothing after an operation that failed is carried out; here it is not said why.
    [[{}, null], undefined, { kind: 'try-again', operation: 1 }],
    [[5, {}], undefined, { kind: 'error', error: 'protocol', operation: 0 }],
  ])('%j %j', (result, error, expected) => {
    expect(outcomeOf(operations, result, error)).toMatchObject(expected);
  });

  test('what was canceled by a server that may have passed it on', () => {
    expect(outcomeOf(operations, undefined, 'canceled', true).kind).toBe('unknown');
    expect(outcomeOf(operations, [{ error: 'timed out' }, null], undefined, true).kind).toBe(
      'try-again',
    );
  });
});

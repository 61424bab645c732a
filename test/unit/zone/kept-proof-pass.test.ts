import { expect, onTestFinished, test, vi } from 'vitest';
import type { PassEnd } from '../../../src/process/loop.ts';
import { createLogger } from '../../../src/process/logger.ts';
import { KeptProof, type Changes } from '../../../src/verify/kept/kept-proof.ts';
import { KeptProofPass, type KeptProofPassOptions } from '../../../src/zone/kept-proof-pass.ts';
import { ZoneMetrics } from '../../../src/zone/zone-metrics.ts';
import { changesBetween } from '../../support/verify/changes.ts';
import { networkPolicy } from '../../support/zone/policed-zone.ts';
import { NORTHBOUND, snapshot, SETTINGS } from '../../support/verify/small-zone.ts';

const { signal } = new AbortController();
const SECOND = 1000;

const NO_POLICIES = { namespaced: [], admins: [], firewalls: [] };
const APART = snapshot();
/** A port of blue's router is the peer of one of green's. */
const JOINED = snapshot({
  northbound: new Map(
    Object.entries({
      ...NORTHBOUND,
      Logical_Router_Port: (NORTHBOUND['Logical_Router_Port'] ?? []).map((row, at) => ({
        ...row,
        peer: ['rtos-green_net_n1', 'rtos-blue_net_n1'][at],
      })),
    }),
  ),
});

/** A pass over what `put` makes of the zone; time goes on as a test says. */
function bed(begin: KeptProofPassOptions['begin'] = () => new KeptProof('n1', SETTINGS)) {
  const state = { now: 5000, isSettled: true };
  let [taken, known] = [undefined as typeof APART | undefined, APART];
  const waiting: Changes[] = [];
  const all = vi.fn(() => {
    waiting.splice(0, Infinity, changesBetween(undefined, known));
    taken = known;
  });
  const ask = vi.fn();
  const log = createLogger('silent');
  const error = vi.fn();
  const metrics = new ZoneMetrics();
  const pass = new KeptProofPass({
    follow: () => ({ all, take: () => waiting.shift() }),
    begin,
    isSettled: () => state.isSettled,
    ask,
    metrics,
    log: Object.assign(log, { error }),
    now: () => state.now,
  });
  return {
    state,
    all,
    ask,
    error,
    metrics,
    /** The zone becomes another one, and a pass looks at it. */
    put: async (zone: typeof APART): Promise<PassEnd> => {
      known = zone;
      if (taken !== undefined) waiting.push(changesBetween(taken, zone));
      taken &&= zone;
      return pass.run(signal);
    },
    /** Time goes by, and a pass looks again. */
    later: async (milliseconds: number): Promise<PassEnd> => {
      state.now += milliseconds;
      return pass.run(signal);
    },
  };
}

test('nothing is looked at before the daemon has done for once all that it is to do', async () => {
  const { state, all, put } = bed();
  state.isSettled = false;
  await put(APART);
  expect(all).not.toHaveBeenCalled();
  state.isSettled = true;
  await put(APART);
  expect(all).toHaveBeenCalledOnce();
});

test('where nothing is wrong no proof is asked for', async () => {
  const { ask, put, later } = bed();
  expect((await put(APART)).isBlocked).toBe(false);
  await later(60 * SECOND);
  expect(ask).not.toHaveBeenCalled();
});

test('what joins networks and still does a second later asks for one proof, and for another one when it has ended', async () => {
  const { ask, put, later } = bed();
  await put(APART);
  expect(await put(JOINED)).toEqual({ wait: SECOND, isBlocked: false });
  expect(ask).not.toHaveBeenCalled();
  await later(SECOND);
  expect(ask).toHaveBeenCalledOnce();
  await later(600 * SECOND);
  expect(ask).toHaveBeenCalledOnce();
  await put(APART);
  expect(ask).toHaveBeenCalledTimes(2);
  await later(600 * SECOND);
  expect(ask).toHaveBeenCalledTimes(2);
});

test('what is there at the start of the daemon counts, too', async () => {
  const { ask, put, later } = bed();
  await put(JOINED);
  await later(SECOND);
  expect(ask).toHaveBeenCalledOnce();
});

test('what is wrong for less than a second asks for none', async () => {
  const { ask, put, later } = bed();
  await put(APART);
  for (let n = 0; n < 5; n += 1) {
    await put(JOINED);
    await later(SECOND - 1);
    await put(APART);
  }
  await later(60 * SECOND);
  expect(ask).not.toHaveBeenCalled();
});

test('what the daemon is about to write is waited for, but not for ever', async () => {
  const { state, ask, put, later } = bed();
  await put(APART);
  state.isSettled = false;
  await put(JOINED);
  for (let n = 0; n < 29; n += 1)
    expect(await later(SECOND)).toEqual({ wait: SECOND, isBlocked: false });
  expect(ask).not.toHaveBeenCalled();
  await later(SECOND);
  expect(ask).toHaveBeenCalledOnce();
});

test('an error ends the proof and nothing else: it is told once, counted, and the next pass begins from nothing', async () => {
  let faults = 2;
  const { all, ask, error, metrics, put, later } = bed(() => {
    if (faults-- > 0) throw new Error('a row that nobody expected');
    return new KeptProof('n1', SETTINGS);
  });
  expect((await put(JOINED)).isBlocked).toBe(true);
  expect((await later(SECOND)).isBlocked).toBe(true);
  expect(error).toHaveBeenCalledOnce();
  expect(error.mock.calls[0]?.[0]).toMatchObject({
    err: { message: 'a row that nobody expected' },
  });
  expect(await metrics.registry.metrics()).toMatch(/^heddle_verify_failures_total 2$/m);
  expect((await later(SECOND)).isBlocked).toBe(false);
  expect(all).toHaveBeenCalledTimes(3);
  await later(SECOND);
  expect(ask).toHaveBeenCalledOnce();
});

test('what can not be told any more is not taken for proved: a proof is asked for, and when it can be told again', async () => {
  const begin = snapshot({ policies: NO_POLICIES });
  const torn = networkPolicy('blue/torn', { podSelector: {}, ingress: [{ from: [{ more: {} }] }] });
  const namespaces = ['blue', 'green'].map((name) => ({
    apiVersion: 'v1' as const,
    kind: 'Namespace' as const,
    metadata: { name },
  }));
  const apart = { ...begin, objects: { ...begin.objects, namespaces } };
  const open = { ...apart, policies: { ...NO_POLICIES, namespaced: [torn] } };
  const { ask, put, later } = bed();
  await put(apart);
  await later(SECOND);
  expect(ask).not.toHaveBeenCalled();
  await put(open);
  await later(SECOND);
  expect(ask).toHaveBeenCalledOnce();
  await later(SECOND);
  expect(ask).toHaveBeenCalledOnce();
  await put(apart);
  expect(ask).toHaveBeenCalledTimes(2);
});

test('a change that the proof can not take does not stay with it by half', async () => {
  let isBroken = false;
  const { all, ask, put, later } = bed(() => {
    const proof = new KeptProof('n1', SETTINGS);
    return {
      apply(changes) {
        if (isBroken) throw new Error('a row that nobody expected');
        proof.apply(changes);
      },
      judge: (milliseconds) => proof.judge(milliseconds),
      get waiting() {
        return proof.waiting;
      },
      get violations() {
        return proof.violations;
      },
      get undecided() {
        return proof.undecided;
      },
    };
  });
  await put(APART);
  isBroken = true;
  expect((await put(JOINED)).isBlocked).toBe(true);
  isBroken = false;
  await later(0);
  expect(all).toHaveBeenCalledTimes(2);
  await later(SECOND);
  expect(ask).toHaveBeenCalledOnce();
});

test('much that is to be judged leaves the processor to others again and again, and is no verdict until it is done', async () => {
  let left = 500;
  const { put, later } = bed(() => ({
    apply: () => undefined,
    judge() {
      const end = performance.now() + 2;
      while (performance.now() < end);
      left -= 1;
    },
    get waiting() {
      return left;
    },
    get violations() {
      if (left > 0) throw new Error('half of it is no verdict');
      return [];
    },
    undecided: [],
  }));
  let turns = 0;
  const others = setInterval(() => (turns += 1), 1);
  onTestFinished(() => clearInterval(others));
  const first = await put(APART);
  expect(first).toEqual({ wait: 0, isBlocked: false });
  expect(left).toBeGreaterThan(0);
  expect(turns).toBeGreaterThan(20);
  while ((await later(0)).wait === 0);
  expect(left).toBe(0);
});

test('the end of the daemon ends a pass', async () => {
  const stop = new AbortController();
  const pass = new KeptProofPass({
    follow: () => ({ all: () => undefined, take: () => undefined }),
    begin: () => ({
      apply: () => undefined,
      judge: () => stop.abort(),
      waiting: 1,
      violations: [],
      undecided: [],
    }),
    isSettled: () => true,
    ask: () => undefined,
    metrics: new ZoneMetrics(),
    log: createLogger('silent'),
  });
  await expect(pass.run(stop.signal)).rejects.toThrow('aborted');
});

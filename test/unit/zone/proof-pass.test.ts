import { describe, expect, test, vi } from 'vitest';
import { createLogger } from '../../../src/process/logger.ts';
import { ProofPass, type ProvedZone } from '../../../src/zone/proof-pass.ts';
import { ZoneMetrics } from '../../../src/zone/zone-metrics.ts';

const APART: ProvedZone = { violations: [], undecided: [] };
const violation = (
  networks: readonly string[],
  where = 'Northbound Logical_Switch_Port leak',
): ProvedZone['violations'][number] => ({
  check: 'cut',
  where,
  what: 'leads from blue_net to red_net, and no object wants that',
  object: 'UserDefinedNetwork blue/net',
  networks,
});
const INTERVAL = 60_000;
const { signal } = new AbortController();

/** A pass whose proofs are what `proofs` says, one after the other; time stands still but for `wait`. */
function passOf(...proofs: readonly (ProvedZone | Error)[]) {
  let now = 1000;
  let at = 0;
  const metrics = new ZoneMetrics();
  const onChange = vi.fn();
  const pass = new ProofPass({
    node: 'n1',
    prove: () => {
      const proof = proofs[at++] ?? APART;
      return proof instanceof Error ? Promise.reject(proof) : Promise.resolve(proof);
    },
    interval: INTERVAL,
    metrics,
    log: createLogger('silent'),
    onChange,
    now: () => now,
  });
  return {
    pass,
    onChange,
    /** The next proof, an interval later. */
    next: async (): Promise<void> => {
      now += INTERVAL;
      await pass.run(signal);
    },
    asked: () => at,
    /** A pass, so many milliseconds later. */
    later: (milliseconds: number) => {
      now += milliseconds;
      return pass.run(signal);
    },
    metric: async (name: string) =>
      Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await metrics.registry.metrics())?.[1]),
  };
}

test('what starts is not proved before an interval is over, and then once in each', async () => {
  const { pass, asked, next } = passOf();
  expect(await pass.run(signal)).toEqual({ wait: INTERVAL, isBlocked: false });
  expect(asked()).toBe(0);
  // Not that there is nothing: that is not known yet.
  expect(pass.violations).toBeUndefined();
  await next();
  expect(pass.violations?.size).toBe(0);
  expect(asked()).toBe(1);
  expect(await pass.run(signal)).toEqual({ wait: INTERVAL, isBlocked: false });
});

describe('what no object wants', () => {
  test('is a problem of the node that says where, whose and how to see it, and counts for its networks', async () => {
    const { pass, next, onChange, metric } = passOf({
      violations: [violation(['blue_net', 'red_net']), violation(['blue_net'], 'nft rule 7')],
      undecided: [],
    });
    await next();
    expect(pass.problems()).toEqual([
      {
        object: 'Node n1',
        message:
          'networks are not apart (cut): Northbound Logical_Switch_Port leak leads from blue_net to red_net, and no object wants that; it concerns UserDefinedNetwork blue/net: heddle verify on the node shows all of it',
      },
      { object: 'Node n1', message: expect.stringContaining('nft rule 7') as string },
    ]);
    expect(Object.fromEntries(pass.violations ?? [])).toEqual({ blue_net: 2, red_net: 1 });
    expect(onChange).toHaveBeenCalledOnce();
    expect(await metric('heddle_verify_violations')).toBe(2);
    expect(await metric('heddle_verify_last_timestamp_seconds')).toBeGreaterThan(0);
  });

  test('is over with the first proof that does not find it', async () => {
    const { pass, next, onChange, metric } = passOf(
      { violations: [violation(['blue_net'])], undecided: [] },
      APART,
    );
    await next();
    await next();
    expect([pass.problems(), pass.violations?.size]).toEqual([[], 0]);
    expect(onChange).toHaveBeenCalledTimes(2);
    expect(await metric('heddle_verify_violations')).toBe(0);
  });

  test.each(['policies', 'firewalls'] as const)(
    'of %s is told as that, and keeps no network from being apart',
    async (check) => {
      const { pass, next } = passOf({
        violations: [{ ...violation(['blue_net']), check }],
        undecided: [],
      });
      await next();
      const [problem] = pass.problems();
      expect(problem?.message).toContain(
        `policies and EgressFirewalls are not in force as they are (${check}): `,
      );
      expect(pass.violations?.size).toBe(0);
    },
  );

  test('is named twenty times at most, and the rest counted', async () => {
    const { pass, next } = passOf({
      violations: Array.from({ length: 23 }, (_, n) => violation(['blue_net'], `flow ${n}`)),
      undecided: [],
    });
    await next();
    expect(pass.problems()).toHaveLength(21);
    expect(pass.problems().at(-1)?.message).toContain('3 more that no object wants');
    expect(pass.violations?.get('blue_net')).toBe(23);
  });
});

test('where nothing is wrong it is told once: something may be left of a process before', async () => {
  const { next, onChange } = passOf(APART, APART);
  await next();
  await next();
  expect(onChange).toHaveBeenCalledOnce();
});

test('what could not be read is a problem, as it leaves the question open', async () => {
  const { pass, next, metric } = passOf({
    violations: [],
    undecided: ['OVN_Southbound: it needs --sb'],
  });
  await next();
  expect(pass.problems().map(({ message }) => message)).toEqual([
    'whether its networks are apart is not decided: OVN_Southbound: it needs --sb',
  ]);
  expect(await metric('heddle_verify_undecided')).toBe(1);
});

test('a proof that fails is told and counted, and takes back nothing of what the one before found', async () => {
  const { pass, next, metric } = passOf(
    { violations: [violation(['blue_net'])], undecided: [] },
    new Error('unix:/run/ovn/ovnsb_db.sock does not answer'),
  );
  await next();
  await next();
  expect(pass.problems().map(({ message }) => message)).toEqual([
    expect.stringContaining('networks are not apart'),
    'whether its networks are apart could not be proved: unix:/run/ovn/ovnsb_db.sock does not answer; run heddle verify on the node',
  ]);
  expect(pass.violations?.get('blue_net')).toBe(1);
  expect(await metric('heddle_verify_failures_total')).toBe(1);
  expect(await metric('heddle_verify_violations')).toBe(1);
});

test('a proof that the end of the daemon cuts off is no failure', async () => {
  const stop = new AbortController();
  const { pass, metric } = passOf();
  const ending = new ProofPass({
    node: 'n1',
    prove: () => {
      stop.abort();
      return Promise.reject(new Error('aborted'));
    },
    interval: 0,
    metrics: new ZoneMetrics(),
    log: createLogger('silent'),
    onChange: () => undefined,
  });
  await expect(ending.run(stop.signal)).rejects.toThrow('aborted');
  expect(ending.problems()).toEqual([]);
  expect(pass.problems()).toEqual([]);
  expect(await metric('heddle_verify_failures_total')).toBe(0);
});

describe('a proof that is asked for', () => {
  test('is made at once, also before the first one of the interval, which follows an interval later', async () => {
    const { pass, asked, later, metric } = passOf({
      violations: [violation(['blue_net'])],
      undecided: [],
    });
    pass.ask();
    expect(await later(0)).toEqual({ wait: INTERVAL, isBlocked: false });
    expect(asked()).toBe(1);
    expect(pass.violations?.get('blue_net')).toBe(1);
    expect(await metric('heddle_verify_asked_total')).toBe(1);
    await later(INTERVAL - 1);
    expect(asked()).toBe(1);
    await later(1);
    expect(asked()).toBe(2);
    expect(await metric('heddle_verify_asked_total')).toBe(1);
  });

  test('waits until the one before is over for ten seconds, however often it is asked for', async () => {
    const { pass, asked, later } = passOf();
    for (let second = 0; second < 30; second += 1) {
      pass.ask();
      await later(1000);
    }
    expect(asked()).toBe(3);
  });

  test('stays asked for when none could be made, and is tried again after more and more time', async () => {
    const failure = new Error('unix:/run/ovn/ovnsb_db.sock does not answer');
    const { pass, asked, later } = passOf(failure, failure);
    pass.ask();
    expect((await later(0)).wait).toBe(20_000);
    expect((await later(20_000)).wait).toBe(40_000);
    expect(asked()).toBe(2);
    expect((await later(40_000)).wait).toBe(INTERVAL);
    expect(asked()).toBe(3);
    expect(pass.problems()).toEqual([]);
  });
});

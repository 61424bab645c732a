/** Who does not answer for longer than a restart takes is down, once, and back as soon as it answers. */
import { expect, test } from 'vitest';
import { SWITCH_GRACE, switchWatch } from '../../../../src/node/programs/switch-watch.ts';
import { UnixctlError, UnixctlRefused } from '../../../../src/node/programs/unixctl.ts';
import { ManualClock } from '../../../support/run/manual-clock.ts';

const GONE = new UnixctlError('ovs-vswitchd version: connect ECONNREFUSED /run/ovs/vswitchd.7.ctl');

/** A watch over a switch that answers with `answer`, until the function that it returns is called. */
function watched(isExpected = true, answer?: Error) {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const state = { answer, asked: 0 };
  const told: (string | undefined)[] = [];
  const watch = switchWatch({
    daemon: {
      run: async () => {
        state.asked += 1;
        if (state.answer !== undefined) throw state.answer;
        return 'ovs-vswitchd (Open vSwitch) 3.5.0';
      },
    },
    isExpected: () => isExpected,
    clock,
    onChange: () => told.push(watch.down),
  });
  const stopping = new AbortController();
  const running = watch.run(stopping.signal);
  return {
    clock,
    state,
    told,
    watch,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await running;
    },
  };
}

test('one that ended is told once, with since when, why and what to do, and no more when it is back', async () => {
  await using bed = watched();
  const { clock, state, told, watch } = bed;
  await clock.advance(60_000);
  expect(told).toEqual([]);
  state.answer = GONE;
  await clock.advance(SWITCH_GRACE + 6000);
  expect(told).toEqual([
    expect.stringMatching(
      /^ovs-vswitchd has not answered since 2026-01-01T00:01:0\dZ \(connect \/run\/ovs\/vswitchd\.7\.ctl: nobody listens there\): nothing that changes reaches packets, .* start Open vSwitch/,
    ),
  ]);
  await clock.advance(120_000);
  expect(told).toHaveLength(1);
  state.answer = undefined;
  await clock.advance(1000);
  expect(told).toHaveLength(2);
  expect(watch.down).toBeUndefined();
});

test('a restart is nothing, however often; nor is one that refuses what it is asked', async () => {
  await using bed = watched();
  for (let restart = 0; restart < 5; restart += 1) {
    bed.state.answer = GONE;
    await bed.clock.advance(SWITCH_GRACE - 1000);
    bed.state.answer =
      restart % 2 === 0 ? undefined : new UnixctlRefused('ovs-vswitchd version: no');
    await bed.clock.advance(10_000);
  }
  expect(bed.told).toEqual([]);
});

test('one that is said to have ended is asked at once', async () => {
  await using bed = watched();
  await bed.clock.advance(100);
  const { asked } = bed.state;
  bed.watch.lost();
  await bed.clock.advance(0);
  expect(bed.state.asked).toBe(asked + 1);
});

test('where none is expected nobody misses it before it has answered', async () => {
  await using bed = watched(false, GONE);
  await bed.clock.advance(10 * SWITCH_GRACE);
  const { told } = bed;
  bed.state.answer = undefined;
  await bed.clock.advance(2000);
  expect(told).toEqual([]);
  bed.state.answer = GONE;
  await bed.clock.advance(2 * SWITCH_GRACE);
  expect(told).toHaveLength(1);
});

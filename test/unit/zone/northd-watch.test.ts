/** An ovn-northd that stands still while nothing changes is told within seconds; one that is at work is not. */
import { expect, test } from 'vitest';
import { UnixctlError, UnixctlSilent } from '../../../src/node/programs/unixctl.ts';
import { NORTHD_GRACE, northdWatch } from '../../../src/zone/northd-watch.ts';
import { ManualClock } from '../../support/run/manual-clock.ts';

const SILENT = new UnixctlSilent('ovn-northd status: no answer within 5 s');
const GONE = new UnixctlError('ovn-northd status: connect ECONNREFUSED /run/ovn/ovn-northd.7.ctl');

/** A watch over an ovn-northd that answers so, until it is disposed. */
function watched(answer: string | Error) {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const state = { answer, asked: [] as string[], atWorkSince: Infinity };
  const told: (string | undefined)[] = [];
  const watch = northdWatch({
    daemon: {
      run: async (command) => {
        state.asked.push(command);
        if (typeof state.answer !== 'string') throw state.answer;
        return state.answer;
      },
    },
    isAtWorkSince: (begin) => state.atWorkSince < begin,
    clock,
    onChange: () => told.push(watch.down),
  });
  const stopping = new AbortController();
  const running = watch.run(stopping.signal);
  return {
    clock,
    state,
    told,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await running;
    },
  };
}

/** The next question, the grace, and the question after it. */
const LONGEST = 5000 + NORTHD_GRACE + 1000;

test.each<[string, string | Error, RegExp]>([
  [
    'is paused',
    'Status: paused\n',
    /^ovn-northd has been paused since 2026-01-01T00:01:0\dZ: .* goes on by ovn-appctl -t ovn-northd resume$/,
  ],
  ['is silent', SILENT, /^ovn-northd has not answered since .* \(no answer within 5 s\): changes/],
  [
    'ended',
    GONE,
    /^ovn-northd has not answered since .*Z \(connect \/run\/ovn\/ovn-northd\.7\.ctl: nobody listens there\): changes/,
  ],
])('one that %s is told once, and no more when it works again', async (_, answer, text) => {
  await using bed = watched('Status: active\n');
  const { clock, state, told } = bed;
  await clock.advance(60_000);
  state.answer = answer;
  await clock.advance(LONGEST);
  expect(told).toEqual([expect.stringMatching(text)]);
  await clock.advance(120_000);
  expect(told).toHaveLength(1);
  state.answer = 'Status: active\n';
  await clock.advance(1000);
  expect(told).toEqual([told[0], undefined]);
});

test('it is asked for nothing but its state, every five seconds', async () => {
  await using bed = watched('Status: active\n');
  await bed.clock.advance(60_000);
  expect(new Set(bed.state.asked)).toEqual(new Set(['status']));
  expect(bed.state.asked).toHaveLength(13);
});

test('one that stands by for another one, or restarts, is well', async () => {
  await using bed = watched('Status: standby\n');
  await bed.clock.advance(60_000);
  bed.state.answer = GONE;
  await bed.clock.advance(NORTHD_GRACE - 1000);
  bed.state.answer = 'Status: active\n';
  await bed.clock.advance(60_000);
  expect(bed.told).toEqual([]);
});

test('one that was asked for something in the database before it fell silent may be at work', async () => {
  await using bed = watched('Status: active\n');
  const { clock, state, told } = bed;
  await clock.advance(60_000);
  Object.assign(state, { answer: SILENT, atWorkSince: clock.monotonic() });
  await clock.advance(10 * LONGEST);
  expect(told).toEqual([]);
  // It has answered in the database, and goes on to be silent.
  state.atWorkSince = Infinity;
  await clock.advance(1000);
  expect(told).toHaveLength(1);
});

test('one that ended or was paused is told whatever it was asked for', async () => {
  await using bed = watched('Status: active\n');
  Object.assign(bed.state, { answer: GONE, atWorkSince: -1 });
  await bed.clock.advance(LONGEST);
  expect(bed.told).toHaveLength(1);
});

test('where none was ever seen none is missed; one that takes the question is there', async () => {
  await using bed = watched(GONE);
  await bed.clock.advance(10 * LONGEST);
  expect(bed.told).toEqual([]);
  bed.state.answer = SILENT;
  await bed.clock.advance(LONGEST);
  expect(bed.told).toHaveLength(1);
});

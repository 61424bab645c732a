/** An ovn-controller that ends or stands still while nothing changes is told within half a minute; one that is at work is not. */
import { expect, test } from 'vitest';
import { UnixctlError, UnixctlSilent } from '../../../src/node/programs/unixctl.ts';
import { CONTROLLER_GRACE, controllerWatch } from '../../../src/zone/controller-watch.ts';
import { ManualClock } from '../../support/run/manual-clock.ts';

const SILENT = new UnixctlSilent('ovn-controller version: no answer within 5 s');
const GONE = new UnixctlError(
  'ovn-controller version: connect ECONNREFUSED /run/ovn/ovn-controller.7.ctl',
);
/** The next question, the grace, and the question after it. */
const LONGEST = 5000 + CONTROLLER_GRACE + 1000;

test.each<[string, Error, boolean, RegExp | undefined]>([
  ['ended', GONE, false, /^ovn-controller has not answered since .* \(connect .*\): changes don't/],
  [
    'stands still',
    SILENT,
    false,
    /^ovn-controller has not answered since .* \(no answer within 5 s\)/,
  ],
  ['is at work', SILENT, true, undefined],
])('one that %s', async (_, answer, isAtWork, text) => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const told: (string | undefined)[] = [];
  let failure: Error | undefined;
  const watch = controllerWatch({
    daemon: {
      run: async () => {
        if (failure !== undefined) throw failure;
        return 'ovn-controller 25.03.0\n';
      },
    },
    isAtWorkSince: () => isAtWork,
    clock,
    onChange: () => told.push(watch.down),
  });
  const stopping = new AbortController();
  const running = watch.run(stopping.signal);
  await clock.advance(60_000);
  failure = answer;
  await clock.advance(CONTROLLER_GRACE - 1000);
  expect(told).toEqual([]);
  await clock.advance(LONGEST);
  expect(told).toEqual(text === undefined ? [] : [expect.stringMatching(text)]);
  failure = undefined;
  await clock.advance(2000);
  expect(watch.down).toBeUndefined();
  stopping.abort();
  await running;
});

import { expect, test } from 'vitest';
import { ManualClock } from '../../../support/run/manual-clock.ts';
import { revalidation } from '../../../../src/node/programs/revalidation.ts';
import { UnixctlSilent } from '../../../../src/node/programs/unixctl.ts';

const quiet = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
const never = new AbortController().signal;

/** As `ovs-appctl upcall/show` prints it, with so many milliseconds for the last round of each datapath. */
const shown = (...rounds: readonly number[]): string =>
  rounds
    .map(
      (took) =>
        `netdev@ovs-netdev:\n  flows         : (current 100) (avg 99) (max 100) (limit 18000)\n  dump duration : ${took}ms\n  ufid enabled : true\n\n  4: (keys 100)\n`,
    )
    .join('\n');

/** What ovs-vswitchd is asked, one after the other. */
async function askedWith(show: string): Promise<readonly string[]> {
  const asked: string[] = [];
  const run = (command: string): Promise<string> => {
    asked.push(command);
    return Promise.resolve(command === 'upcall/show' ? show : '');
  };
  await revalidation({ run }, quiet, new ManualClock(), never)();
  return asked;
}

test('Open vSwitch is asked for the end of a round', async () => {
  expect(await askedWith(shown(1))).toEqual(['revalidator/wait', 'upcall/show']);
});

test.each([
  ['took longer than it takes to hear that flows are others', shown(6)],
  ['took that long in one of two datapaths', shown(1, 40)],
  ['took a time that is not said', 'netdev@ovs-netdev:\n'],
])('the one after it counts where that one %s: it may have begun before', async (_, show) => {
  expect(await askedWith(show)).toEqual(['revalidator/wait', 'upcall/show', 'revalidator/wait']);
});

test('where it does not answer the time of a round is waited for, and it is told once', async () => {
  const warnings: string[] = [];
  const clock = new ManualClock();
  const wait = revalidation(
    { run: () => Promise.reject(new Error("can't wait on multiple udpifs.")) },
    { ...quiet, warn: (_fields, text) => warnings.push(text) },
    clock,
    never,
  );
  let ended = 0;
  const waiting = wait().then(() => (ended += 1));
  await clock.advance(499);
  expect(ended).toBe(0);
  await clock.advance(1);
  await waiting;
  const again = wait();
  await clock.advance(500);
  await again;
  expect(warnings).toHaveLength(1);
});

test('while it is there and silent nothing ends, however long that is, and it is told once', async () => {
  const warnings: string[] = [];
  const clock = new ManualClock();
  let isSilent = true;
  const wait = revalidation(
    {
      run: async (command) => {
        await Promise.resolve();
        if (!isSilent) return command === 'upcall/show' ? shown(1) : '';
        await new Promise((resolve) => setImmediate(resolve));
        throw new UnixctlSilent('ovs-vswitchd revalidator/wait: no answer within 5 s');
      },
    },
    { ...quiet, warn: (_fields, text) => warnings.push(text) },
    clock,
    never,
  );
  let ended = 0;
  const waiting = wait().then(() => (ended += 1));
  for (let turn = 0; turn < 20; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(5_000);
  }
  expect(ended).toBe(0);
  expect(warnings).toEqual([expect.stringContaining('there and does not answer')]);
  isSilent = false;
  await waiting;
  expect(ended).toBe(1);
});

test('it ends with the process', async () => {
  const stopping = new AbortController();
  const run = (_command: string, _args: readonly string[], signal: AbortSignal): Promise<string> =>
    new Promise((_, reject) =>
      signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true }),
    );
  const waiting = revalidation({ run }, quiet, new ManualClock(), stopping.signal)();
  stopping.abort();
  await waiting;
});

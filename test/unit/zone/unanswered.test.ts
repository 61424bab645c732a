import { describe, expect, test } from 'vitest';
import { ANSWER_LIMIT, AnswerWatch, unansweredText } from '../../../src/zone/unanswered.ts';

const BEGIN = Date.UTC(2026, 0, 2, 3, 4, 5);

/** A watch that is shown `nb_cfg`, `sb_cfg` and `hv_cfg` at some milliseconds. */
function watchOf(...seen: readonly (readonly [number, number, number, number])[]): AnswerWatch {
  const watch = new AnswerWatch();
  for (const [at, configured, northd, chassis] of seen)
    watch.observe(
      { configured, northd, chassis, reached: Math.min(northd, chassis) },
      at,
      new Date(BEGIN + at),
    );
  return watch;
}
const silentOf = (watch: AnswerWatch, now: number): string[] =>
  watch.silent(now).map(({ program, since }) => `${program} ${since.getTime() - BEGIN}`);

describe('who has not answered for long', () => {
  test('nobody, while everybody has reached what was asked', () => {
    const watch = watchOf([0, 5, 5, 5]);
    expect(silentOf(watch, 10 * ANSWER_LIMIT)).toEqual([]);
    expect(watch.untilNext(0)).toBeUndefined();
  });

  test('ovn-northd, where it does not raise sb_cfg; ovn-controller was asked for nothing', () => {
    const watch = watchOf([0, 5, 5, 5], [1000, 6, 5, 5], [20_000, 9, 5, 5]);
    expect(silentOf(watch, 999 + ANSWER_LIMIT)).toEqual([]);
    expect(watch.untilNext(20_000)).toBe(ANSWER_LIMIT - 19_000);
    expect(silentOf(watch, 1000 + ANSWER_LIMIT)).toEqual(['ovn-northd 1000']);
    expect(watch.untilNext(1000 + ANSWER_LIMIT)).toBeUndefined();
  });

  test('ovn-controller, where ovn-northd has answered and hv_cfg stays', () => {
    const watch = watchOf([0, 6, 5, 5], [500, 6, 6, 5]);
    expect(silentOf(watch, 500 + ANSWER_LIMIT)).toEqual(['ovn-controller 500']);
  });

  test('ovn-northd alone while it is silent: it brings the answer of the chassis, too', () => {
    const watch = watchOf([0, 6, 6, 5], [700, 7, 6, 5]);
    expect(silentOf(watch, 699 + ANSWER_LIMIT)).toEqual(['ovn-controller 0']);
    expect(silentOf(watch, 700 + ANSWER_LIMIT)).toEqual(['ovn-northd 700']);
  });

  test('nobody who moves on, however far behind', () => {
    const watch = watchOf([0, 50, 5, 5], [25_000, 60, 6, 5]);
    expect(silentOf(watch, 30_000)).toEqual([]);
    expect(silentOf(watch, 25_000 + ANSWER_LIMIT)).toEqual(['ovn-northd 25000']);
  });

  test('nobody any more once it has answered', () => {
    const watch = watchOf([0, 6, 5, 5], [90_000, 6, 6, 6]);
    expect(silentOf(watch, 900_000)).toEqual([]);
  });
});

test('the text names the program, since when, what it has reached, and what to look at', () => {
  const [northd] = watchOf([0, 6, 5, 5]).silent(ANSWER_LIMIT);
  const [controller] = watchOf([0, 6, 6, 5]).silent(ANSWER_LIMIT);
  if (northd === undefined || controller === undefined) throw new Error('nobody is silent');
  expect(unansweredText(northd, 'c1')).toBe(
    "ovn-northd has not answered since 2026-01-02T03:04:05Z: nb_cfg of NB_Global is 6, and sb_cfg, which ovn-northd raises, 5; changes don't leave the Northbound database. See whether it runs (ovn-appctl -t ovn-northd status), whether the server of the Southbound database answers (ovn-sbctl show), which it writes, and its log",
  );
  expect(unansweredText(controller, 'c1')).toBe(
    "ovn-controller of chassis c1 has not confirmed since 2026-01-02T03:04:05Z: sb_cfg of NB_Global is 6, and hv_cfg, which the chassis raises, 5; changes don't reach packets. See whether ovs-vswitchd runs, without which it confirms nothing, whether it runs itself and is connected (ovn-appctl -t ovn-controller connection-status), and its log: it may be at work on very many flows",
  );
  const elsewhere = 'external_ids:ovn-remote leads elsewhere';
  expect(unansweredText(controller, 'c1', elsewhere)).toMatch(
    /, and its log: it may be at work on very many flows\. external_ids:ovn-remote leads elsewhere$/,
  );
  expect(unansweredText(northd, 'c1', elsewhere)).not.toContain('ovn-remote');
});

import { expect, test } from 'vitest';
import { Installations } from '../../../../src/node/dns/installations.ts';
import { ManualClock } from '../../../support/run/manual-clock.ts';

const signal = new AbortController().signal;

test('a change is installed when the data plane has reached what it went out with, not before', async () => {
  const installations = new Installations();
  const clock = new ManualClock();
  expect(installations.isInstalled(0)).toBe(true);
  expect(installations.isInstalled(installations.change)).toBe(false);
  const first = installations.changed();
  installations.sent(first, 5);
  const second = installations.changed();
  const waiting = installations.installed(first, 1000, clock, signal);
  installations.reached(4);
  expect(installations.isInstalled(first)).toBe(false);
  installations.reached(5);
  expect(await waiting).toBe(true);
  expect(installations.isInstalled(second)).toBe(false);
  installations.sent(second, 5);
  installations.reached(5);
  expect(installations.isInstalled(second)).toBe(true);
});

test('who waits too long is told', async () => {
  const installations = new Installations();
  const clock = new ManualClock();
  const waiting = installations.installed(installations.changed(), 1000, clock, signal);
  await clock.advance(1000);
  expect(await waiting).toBe(false);
});

test('what is known before its pass began went out with it, and nothing later', () => {
  const installations = new Installations();
  const change = installations.changed();
  installations.sent(change - 1, 3);
  installations.reached(3);
  expect(installations.isInstalled(change)).toBe(false);
});

test('what is confirmed is installed when what was cached before has been looked at', async () => {
  const rounds: (() => void)[] = [];
  const installations = new Installations(() => new Promise((resolve) => rounds.push(resolve)));
  const clock = new ManualClock();
  const first = installations.changed();
  installations.sent(first, 1);
  installations.reached(1);
  const second = installations.changed();
  installations.sent(second, 2);
  installations.reached(2);
  expect(installations.isInstalled(first)).toBe(false);
  const waiting = installations.installed(first, 1000, clock, signal);
  rounds[0]?.();
  expect(await waiting).toBe(true);
  // It was confirmed while that round was under way.
  expect(installations.isInstalled(second)).toBe(false);
  const next = installations.installed(second, 1000, clock, signal);
  rounds[1]?.();
  expect(await next).toBe(true);
  expect(rounds).toHaveLength(2);
});

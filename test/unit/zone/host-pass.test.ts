import { expect, test } from 'vitest';
import { createLogger } from '../../../src/process/logger.ts';
import type { OpenHost } from '../../../src/zone/host.ts';
import { HostPass } from '../../../src/zone/host-pass.ts';
import type { ZoneController } from '../../../src/zone/zone-controller.ts';

type MayBeWanted = ReturnType<ZoneController['hostMayBeWanted']>;

/** A host pass over what these say. */
function passOver(): {
  readonly pass: HostPass;
  readonly zone: { isStarted: boolean; isBuilt: boolean; mayBeWanted: MayBeWanted };
  readonly host: { starts: number; isBehind: boolean; flush: () => Promise<string | undefined> };
  readonly warned: readonly { readonly stack?: string }[];
} {
  const zone = { isStarted: true, isBuilt: true, mayBeWanted: undefined as MayBeWanted };
  const host = {
    starts: 0,
    isBehind: false,
    flush: async (): Promise<string | undefined> => undefined,
  };
  const controller = {
    get isStarted() {
      return zone.isStarted;
    },
    get isBuilt() {
      return zone.isBuilt;
    },
    hostMayBeWanted: () => zone.mayBeWanted,
  } as unknown as ZoneController;
  const open = {
    start: async () => void (host.starts += 1),
    controller: {
      onRows: () => () => undefined,
      get isBehind() {
        return host.isBehind;
      },
      flush: () => host.flush(),
    },
  } as unknown as OpenHost;
  const warned: { readonly stack?: string }[] = [];
  const warn = (fields: object): void => void warned.push(fields);
  const log = Object.assign(createLogger('silent'), { warn });
  return {
    pass: new HostPass({ host: open, controller, log, onRows: () => undefined }),
    zone,
    host,
    warned,
  };
}
const { signal } = new AbortController();

test('until something was built nobody knows what is wanted: the host counts as one that was not looked at', async () => {
  const { pass, zone, host } = passOver();
  zone.isStarted = false;
  expect((await pass.run(signal)).isBlocked).toBe(false);
  expect([pass.blocked, host.starts]).toEqual(['the host was not looked at yet', 0]);
  zone.isStarted = true;
  await pass.run(signal);
  await pass.run(signal);
  expect([pass.blocked, host.starts]).toEqual([undefined, 1]);
});

test('what can not be done, and what is thrown, is tried again', async () => {
  const { pass, host } = passOver();
  host.flush = async () => 'flows of the host change faster than they can be followed';
  expect((await pass.run(signal)).isBlocked).toBe(true);
  expect(pass.blocked).toMatch(/faster/);
  host.flush = () => Promise.reject(new Error('nft did not end'));
  expect((await pass.run(signal)).isBlocked).toBe(true);
  expect(pass.blocked).toBe('nft did not end');
  await expect(pass.run(AbortSignal.abort(new Error('stop')))).rejects.toThrow('nft did not end');
});

test('an error of ours is logged once, with where it was thrown; what could not be done has no place in our code', async () => {
  const { pass, host, warned } = passOver();
  host.flush = () => Promise.reject(new Error('nft did not end'));
  await pass.run(signal);
  host.flush = async function flush() {
    return (undefined as unknown as string).trim();
  };
  await pass.run(signal);
  await pass.run(signal);
  expect(warned.map(({ stack }) => stack)).toEqual([
    undefined,
    expect.stringMatching(/^TypeError: .*\n {4}at .*flush/s),
  ]);
});

test('another pass may do more when something else is wanted, and when it is known only now what nobody wants', async () => {
  const { pass, zone, host } = passOver();
  expect(pass.isBehind).toBe(true);
  await pass.run(signal);
  expect(pass.isBehind).toBe(false);
  host.isBehind = true;
  expect(pass.isBehind).toBe(true);
  host.isBehind = false;
  zone.isBuilt = false;
  zone.mayBeWanted = () => true;
  await pass.run(signal);
  expect(pass.isBehind).toBe(false);
  zone.isBuilt = true;
  // Something is still not known, but more than before.
  expect(pass.isBehind).toBe(true);
  await pass.run(signal);
  expect(pass.isBehind).toBe(false);
  zone.mayBeWanted = undefined;
  expect(pass.isBehind).toBe(true);
});

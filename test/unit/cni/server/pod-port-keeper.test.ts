import { expect, test, vi } from 'vitest';
import { ContainerTurns } from '../../../../src/cni/server/container-turns.ts';
import { keepPodPorts } from '../../../../src/cni/server/pod-port-keeper.ts';
import type { PodPorts } from '../../../../src/cni/server/pod-ports.ts';
import type { PodLink } from '../../../../src/cni/links/pod-links.ts';
import { createLogger } from '../../../../src/process/logger.ts';
import { nad, pod } from '../../../support/zone/pods.ts';

const web = pod('blue/web', 'n1', [
  {
    nadKey: 'default',
    address: '10.244.1.5/24',
    role: 'primary',
    gateway: '10.244.1.1',
  },
]);

const link: PodLink = {
  name: 'h0',
  container: '0123456789ab'.repeat(5),
  device: 'eth0',
  uid: String(web.metadata.uid),
};

/** A keeper whose pod lacks its port, and the ports that it makes. `onListed` is called while it looks for links; `adding` is when they are made. */
function keeping(onListed: () => void, adding: Promise<void> = Promise.resolve()) {
  const added = Promise.withResolvers<string>();
  const turns = new ContainerTurns();
  let lost: (containers: readonly string[]) => void = () => undefined;
  const ports = {
    onLost: (listener: typeof lost) => {
      lost = listener;
      return () => undefined;
    },
    unavailable: () => undefined,
    hasBridge: true,
    get: () => undefined,
    list: () => [],
    add: ([port]: readonly { hostDevice: string }[]) => {
      added.resolve(String(port?.hostDevice));
      return adding;
    },
  } as unknown as PodPorts;
  const view = <T>(objects: readonly T[]) =>
    ({
      get: () => undefined,
      list: () => objects,
      onChange: () => () => undefined,
    }) as never;
  const options = {
    node: 'n1',
    pods: view([web]),
    nads: view([nad('blue/l3-net', 'blue_l3-net')]),
    ports,
    links: {
      list: (container?: string) => {
        onListed();
        return [{ ...link, name: hostDeviceOf(container ?? link.container) }];
      },
    },
    turns,
    linkFactsOf: () => ({ mtu: 1400, isOnUnderlay: false }),
    log: createLogger('silent'),
  };
  const keeper = keepPodPorts(options, { ready: () => Promise.resolve() });
  return { keeper, added: added.promise, turns, lose: (container: string) => lost([container]) };
}

const hostDeviceOf = (container: string): string => container.slice(0, 15);

test('a port that is missing is made again', async () => {
  const { keeper, added } = keeping(() => undefined);
  expect(await added).toBe(hostDeviceOf(link.container));
  await keeper[Symbol.asyncDispose]();
});

test('who ends it waits for a port that is being made', async () => {
  const { promise: adding, resolve: made } = Promise.withResolvers<void>();
  const { keeper, added } = keeping(() => undefined, adding);
  await added;
  const ends: string[] = [];
  const ended = keeper[Symbol.asyncDispose]().then(() => ends.push('the keeper'));
  void adding.then(() => ends.push('the port'));
  // All that could end at once has its turn.
  await new Promise((resolve) => setImmediate(resolve));
  made();
  await ended;
  expect(ends).toEqual(['the port', 'the keeper']);
});

test('once it is ended no port is made', async () => {
  const ended = Promise.withResolvers<void>();
  const { keeper, added } = keeping(() => ended.resolve(keeper[Symbol.asyncDispose]()));
  const first = await Promise.race([added, ended.promise.then(() => 'ended')]);
  expect(first).toBe('ended');
});

test('what a DEL removes is not looked for, what somebody else removes is', async () => {
  vi.useFakeTimers();
  try {
    const look = vi.fn();
    const { keeper, turns, lose } = keeping(look);
    const later = (): Promise<unknown> => vi.advanceTimersByTimeAsync(1000);
    await later();
    look.mockClear();
    await turns.run('another', async () => lose('another'));
    await later();
    expect(look).not.toHaveBeenCalled();
    lose('another');
    await later();
    expect(look).toHaveBeenCalled();
    await keeper[Symbol.asyncDispose]();
  } finally {
    vi.useRealTimers();
  }
});

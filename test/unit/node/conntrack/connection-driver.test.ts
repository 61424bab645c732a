/** Connections are forgotten beside the daemon's work, within bounds. */
import { describe, expect, test } from 'vitest';
import type { RowOwner } from '../../../../src/desired/engine.ts';
import type { DesiredRow } from '../../../../src/desired/rows.ts';
import {
  ConnectionDriver,
  MOST_STALE,
  type ConnectionTracker,
} from '../../../../src/node/conntrack/connection-driver.ts';
import {
  CONNECTIONS,
  type StaleConnections,
} from '../../../../src/node/conntrack/service-connections.ts';

const owner: RowOwner = { id: 'web', rank: 0, order: 0, rowsIn: () => [] };
const port = (addresses: readonly string[], protocol = 'tcp'): DesiredRow => ({
  database: CONNECTIONS,
  table: 'port',
  key: `blue/web ${protocol} 80`,
  columns: {
    protocol,
    destinations: addresses.map((address) => ({ family: 'v4', address, port: 80 })),
    endpoints: [],
    local: [],
  } as unknown as DesiredRow['columns'],
  containers: [],
  rule: 'forget',
  object: 'Service blue/web',
});
const addresses = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => `5.${n >> 16}.${(n >> 8) & 255}.${n & 255}`);

/** Stands for a program that takes as long as the test wants. */
class SlowTracker implements ConnectionTracker {
  readonly asked: string[][] = [];
  answer = Promise.withResolvers<void>();

  async forgetServices(stale: readonly StaleConnections[], signal: AbortSignal): Promise<void> {
    this.asked.push(stale.map(({ destination }) => destination.address));
    signal.addEventListener('abort', () => this.answer.reject(new Error('killed')));
    await this.answer.promise;
  }
}

describe('forgetting connections', () => {
  test('goes on beside the work of who asks for it, and what becomes stale meanwhile waits for the next time', async () => {
    const tracker = new SlowTracker();
    await using driver = new ConnectionDriver([tracker]);
    driver.set(owner, [port(['5.5.5.5'])]);
    driver.set(owner, []);
    void driver.forget(0);
    driver.set(owner, [port(['5.5.5.6'])]);
    driver.set(owner, []);
    await expect.poll(() => tracker.asked).toEqual([['5.5.5.5']]);
    tracker.answer.resolve();
    await driver.idle();
    // Nobody said that the data plane is as wanted since.
    expect(tracker.asked).toEqual([['5.5.5.5']]);
    void driver.forget(1);
    await driver.idle();
    expect(tracker.asked).toEqual([['5.5.5.5'], ['5.5.5.6']]);
  });

  test('asks once for what becomes stale again and again', async () => {
    const tracker = new SlowTracker();
    tracker.answer.resolve();
    await using driver = new ConnectionDriver([tracker]);
    for (let round = 0; round < 3; round += 1) {
      driver.set(owner, [port(['5.5.5.5'], 'udp')]);
      driver.set(owner, []);
    }
    void driver.forget(0);
    await driver.idle();
    expect(tracker.asked).toEqual([['5.5.5.5']]);
  });

  test('leaves alone what is served again', async () => {
    const tracker = new SlowTracker();
    await using driver = new ConnectionDriver([tracker]);
    driver.set(owner, [port(['5.5.5.5'])]);
    driver.set(owner, []);
    driver.set(owner, [port(['5.5.5.5'])]);
    void driver.forget(0);
    await driver.idle();
    expect(tracker.asked).toEqual([]);
  });

  test('waits until no packet goes where it went before, and leaves alone what is served again meanwhile', async () => {
    const tracker = new SlowTracker();
    tracker.answer.resolve();
    const settled = Promise.withResolvers<void>();
    await using driver = new ConnectionDriver([tracker], undefined, () => settled.promise);
    driver.set(owner, [port(['5.5.5.5', '5.5.5.6'])]);
    driver.set(owner, []);
    const forgetting = driver.forget(0);
    expect(tracker.asked).toEqual([]);
    driver.set(owner, [port(['5.5.5.6'])]);
    settled.resolve();
    await forgetting;
    expect(tracker.asked).toEqual([['5.5.5.5']]);
  });

  test('is a problem while it is not known whether packets go where they went before', async () => {
    const tracker = new SlowTracker();
    const unknown = async (): Promise<void> => {
      throw new Error('no answer');
    };
    await using driver = new ConnectionDriver([tracker], undefined, unknown);
    driver.set(owner, [port(['5.5.5.5'])]);
    driver.set(owner, []);
    await driver.forget(0);
    expect(tracker.asked).toEqual([]);
    expect(driver.problems()[0]?.message).toMatch(/5\.5\.5\.5 port 80, .*: no answer; clients/);
  });

  test('ends with the daemon', async () => {
    const tracker = new SlowTracker();
    const driver = new ConnectionDriver([tracker]);
    driver.set(owner, [port(['5.5.5.5'])]);
    driver.set(owner, []);
    void driver.forget(0);
    await expect.poll(() => tracker.asked).toHaveLength(1);
    await driver[Symbol.asyncDispose]();
  });

  test('that is refused is one problem, kept within bounds, and ended by the next success', async () => {
    let isRefusing = true;
    let changes = 0;
    const forgotten: string[] = [];
    const tracker: ConnectionTracker = {
      async forgetServices(stale) {
        if (isRefusing) throw new Error('no');
        forgotten.push(...stale.map(({ destination }) => destination.address));
      },
    };
    await using driver = new ConnectionDriver([tracker], () => (changes += 1));
    driver.set(owner, [port(addresses(MOST_STALE + 500))]);
    driver.set(owner, []);
    void driver.forget(0);
    await driver.idle();
    expect(driver.problems().map(({ object, message }) => `${object}: ${message}`)).toEqual([
      expect.stringMatching(
        /^Service blue\/web: connections to 5\.0\.0\.0 port 80 and 9999 others, .*: no; clients/,
      ),
      expect.stringMatching(/are not forgotten, nor are 499 others, as 10000 wait for that/),
    ]);
    expect(changes).toBe(1);
    isRefusing = false;
    void driver.forget(29_999);
    await driver.idle();
    expect(forgotten).toEqual([]);
    void driver.forget(30_000);
    await driver.idle();
    expect(forgotten).toEqual(addresses(MOST_STALE));
    expect(driver.problems()).toEqual([]);
    expect(changes).toBe(2);
  });
});

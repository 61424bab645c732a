/** Connections are forgotten beside the daemon's work, within bounds. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { RowOwner } from '../../../../src/desired/engine.ts';
import type { DesiredRow } from '../../../../src/desired/rows.ts';
import {
  ConnectionDriver,
  MOST_STALE,
  type ConnectionTracker,
} from '../../../../src/node/conntrack/connection-driver.ts';
import type { SourceConnections } from '../../../../src/node/conntrack/egress-connections.ts';
import {
  hopLabels,
  hopMac,
  type HopConnections,
} from '../../../../src/node/conntrack/hop-connections.ts';
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

  async forgetHops(stale: readonly HopConnections[]): Promise<void> {
    this.asked.push(stale.map(({ source, mac }) => `${source} by ${mac}`));
  }

  async forgetSources(stale: readonly SourceConnections[]): Promise<void> {
    this.asked.push(
      stale.map(({ source, via, wrong, nodes }) =>
        [
          source,
          ...(via === undefined ? [] : ['via', via]),
          'as',
          ...wrong,
          'but to',
          ...nodes,
        ].join(' '),
      ),
    );
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
      async forgetHops() {
        throw new Error('nobody asked for it');
      },
      async forgetSources() {
        throw new Error('nobody asked for it');
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

const hop = (source: string, address: string): DesiredRow => ({
  database: CONNECTIONS,
  table: 'hop',
  key: `${source} ${address}`,
  columns: { source, hop: address, device: 'br-ex' },
  containers: [],
  rule: 'forget-hop',
  object: 'AdminPolicyBasedExternalRoute gw',
});

describe('connections by way of a next hop that goes', () => {
  const [POD, OTHER] = ['10.244.0.5', '10.244.0.6'];
  const [FIRST, SECOND] = ['172.18.0.51', '172.18.0.52'];
  let tracker: SlowTracker;
  let macs: Map<string, string>;
  let learned: string[][];
  const driverOf = (learn: () => void = () => undefined): ConnectionDriver =>
    new ConnectionDriver([tracker], undefined, undefined, {
      learn(hops) {
        learned.push([...hops].map((one) => `${one.hop} on ${one.device}`));
        learn();
      },
      macOf: (address) => macs.get(address),
    });

  beforeEach(() => {
    tracker = new SlowTracker();
    tracker.answer.resolve();
    learned = [];
    macs = new Map([
      [FIRST, '02:00:00:00:00:51'],
      [SECOND, '02:00:00:00:00:52'],
    ]);
  });

  test('are forgotten by its MAC address, which was asked for while it was there, and those of other hops and pods live', async () => {
    await using driver = driverOf();
    driver.set(owner, [hop(POD, FIRST), hop(POD, SECOND)]);
    driver.set({ ...owner, id: 'other' }, [hop(OTHER, FIRST)]);
    await driver.forget(0);
    expect(learned).toEqual([[`${FIRST} on br-ex`, `${SECOND} on br-ex`]]);
    driver.set(owner, [hop(POD, SECOND)]);
    await driver.forget(1);
    expect(tracker.asked).toEqual([[`${POD} by 02:00:00:00:00:51`]]);
    driver.set(owner, []);
    await driver.forget(2);
    expect(tracker.asked.slice(1)).toEqual([[`${POD} by 02:00:00:00:00:52`]]);
  });

  test('live where another hop of the pod has its MAC address, where nobody knows that, and where it is there again', async () => {
    await using driver = driverOf();
    macs.set(SECOND, '02:00:00:00:00:51');
    driver.set(owner, [hop(POD, FIRST), hop(POD, SECOND)]);
    await driver.forget(0);
    driver.set(owner, [hop(POD, SECOND)]);
    await driver.forget(1);
    macs.delete(SECOND);
    driver.set(owner, []);
    await driver.forget(2);
    driver.set(owner, [hop(POD, FIRST)]);
    driver.set(owner, []);
    driver.set(owner, [hop(POD, FIRST)]);
    await driver.forget(3);
    expect(tracker.asked).toEqual([]);
  });

  test('are a problem of the policy while nobody can tell who the hops are', async () => {
    let refusal: string | undefined = 'not permitted';
    await using driver = driverOf(() => {
      if (refusal !== undefined) throw new Error(refusal);
    });
    driver.set(owner, [hop(POD, FIRST)]);
    await driver.forget(0);
    expect(driver.problems()).toMatchObject([
      { object: 'AdminPolicyBasedExternalRoute gw', kind: 'refused' },
    ]);
    expect(driver.problems()[0]?.message).toContain('reached: not permitted; when one goes');
    refusal = undefined;
    await driver.forget(1);
    expect(driver.problems()).toEqual([]);
  });
});

describe('connections of pods that come under an EgressIP, or go from one', () => {
  const [POD, NODE, PEER] = ['10.244.0.5', '172.18.0.11', '172.18.0.12'];
  const [FIRST, SECOND] = ['172.18.0.50', '172.18.0.51'];
  const nodes: RowOwner = { ...owner, id: 'nodes' };
  const row = (table: string, columns: object, key = table): DesiredRow => ({
    database: CONNECTIONS,
    table,
    key,
    columns: columns as DesiredRow['columns'],
    containers: [],
    rule: 'forget-source',
    object: 'EgressIP out',
  });
  const served = (right: readonly string[], source: string = POD): DesiredRow =>
    row('source', { source, right }, `${source} `);
  const known = row('nodes', { own: [NODE], all: [NODE, PEER] });
  let tracker: SlowTracker;

  beforeEach(() => {
    tracker = new SlowTracker();
    tracker.answer.resolve();
  });

  test('are compared with what is right: when the daemon starts, then only those of pods that come and go', async () => {
    await using driver = new ConnectionDriver([tracker]);
    driver.set(nodes, [known]);
    driver.set(owner, [served([FIRST])]);
    await driver.forget(0);
    driver.set(owner, [served([FIRST])]);
    // Another address besides, as when there is a mark.
    driver.set(owner, [served([FIRST, '169.254.39.16'])]);
    driver.set(nodes, [row('nodes', { own: [NODE], all: [NODE] })]);
    await driver.forget(1);
    expect(tracker.asked).toEqual([[`${POD} as ${NODE} but to ${NODE} ${PEER}`]]);
    driver.set(owner, []);
    await driver.forget(2);
    expect(tracker.asked.slice(1)).toEqual([[`${POD} as ${FIRST} 169.254.39.16 but to ${NODE}`]]);
  });

  test('have none of the addresses that its EgressIP had before, also where the pod had none in between', async () => {
    await using driver = new ConnectionDriver([tracker]);
    driver.set(nodes, [known]);
    driver.set(owner, [served([FIRST])]);
    await driver.forget(0);
    driver.set(owner, [served([SECOND])]);
    await driver.forget(1);
    driver.set(owner, []);
    driver.set(owner, [served([FIRST])]);
    await driver.forget(2);
    expect(tracker.asked.slice(1)).toEqual(
      [FIRST, SECOND].map((one) => [`${POD} as ${one} ${NODE} but to ${NODE} ${PEER}`]),
    );
  });

  test('stay where the pod is under the EgressIP again before they are forgotten', async () => {
    await using driver = new ConnectionDriver([tracker]);
    driver.set(nodes, [known]);
    driver.set(owner, [served([FIRST])]);
    await driver.forget(0);
    driver.set(owner, []);
    driver.set(owner, [served([FIRST])]);
    await driver.forget(1);
    expect(tracker.asked.slice(1)).toEqual([[`${POD} as ${NODE} but to ${NODE} ${PEER}`]]);
  });

  test('are forgotten as soon as the addresses of nodes are known, and not before', async () => {
    await using driver = new ConnectionDriver([tracker]);
    driver.set(owner, [served([FIRST])]);
    await driver.forget(0);
    expect(tracker.asked).toEqual([]);
    driver.set(nodes, [known]);
    await driver.forget(1);
    expect(tracker.asked).toHaveLength(1);
  });

  test('are a problem of the EgressIP while they can not be forgotten, or are too many', async () => {
    let refusal: string | undefined = 'no';
    tracker.forgetSources = async (): Promise<void> => {
      if (refusal !== undefined) throw new Error(refusal);
    };
    await using driver = new ConnectionDriver([tracker]);
    driver.set(nodes, [known]);
    driver.set(
      owner,
      addresses(MOST_STALE + 2).map((source) => served([FIRST], source)),
    );
    await driver.forget(0);
    expect(driver.problems().map(({ object, message }) => `${object}: ${message}`)).toEqual([
      "EgressIP out: connections of 5.0.0.0 and 9999 others can't be forgotten: no; those that it began before leave with an earlier egress address, or not at all, until they end",
      expect.stringMatching(
        /^EgressIP out: connections of .* are not forgotten, nor are 1 others, as 10000 wait for that: those that it began/,
      ),
    ]);
    refusal = undefined;
    await driver.forget(30_000);
    expect(driver.problems()).toEqual([]);
  });
});

test('the MAC address of a next hop is where OVN keeps it', () => {
  const labels = 0xaabb_0200_0000_0051_0000_0007n;
  expect(hopMac(labels)).toBe('02:00:00:00:00:51');
  expect(hopLabels('02:00:00:00:00:51')).toBe('0x2000000005100000000/0xffffffffffff00000000');
});

/** What a change of very many flows does to the switch and to who waits for it: a real ovs-vswitchd. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RowOwner } from '../../../../src/desired/engine.ts';
import type { DesiredRow } from '../../../../src/desired/rows.ts';
import { FlowDriver } from '../../../../src/node/openflow/flow-driver.ts';
import type { PortNumbers } from '../../../../src/node/openflow/bridge-ports.ts';
import { OfctlProgram } from '../../../../src/node/openflow/ofctl-program.ts';
import { flowKey, matchText, OPENFLOW } from '../../../../src/node/openflow/flow-rows.ts';
import { COOKIE } from '../../../../src/node/openflow/pipeline.ts';
import { ovsProgram } from '../../../support/host/ovs-programs.ts';
import { until } from '../../../support/run/until.ts';
import { bridgeWords, Vswitchd } from '../../../support/host/vswitchd.ts';

const BRIDGE = 'breth0';
const PORTS: ReadonlyMap<string, PortNumbers> = new Map([[BRIDGE, new Map()]]);

describe('a change of very many flows', () => {
  let vswitchd: Vswitchd;
  let driver: FlowDriver;
  /** Bundles that were sent. */
  let bundles: number;

  const owner = (name: string): RowOwner => ({ id: name, rank: 0, order: 0, rowsIn: () => [] });
  const owners = Array.from({ length: 10 }, (_, n) => owner(`["service","${n}"]`));
  const flows = (number: number, count: number, actions = 'output:1'): DesiredRow[] =>
    Array.from({ length: count }, (_, n) => {
      const columns = {
        bridge: BRIDGE,
        table: 1,
        priority: 50,
        cookie: COOKIE,
        match: matchText(['tcp', `nw_dst=5.${number}.${n >> 8}.${n & 255}`, 'tp_dst=80']),
        actions,
      };
      return {
        database: OPENFLOW,
        table: 'flow',
        key: `${BRIDGE} ${flowKey(columns)}`,
        columns,
        containers: [],
        rule: 'r',
        object: `Service blue/s${number}`,
      };
    });

  const make = (timeout?: number, isSwitchDown = (): boolean => false): FlowDriver => {
    const { command, args } = ovsProgram('ovs-ofctl');
    const ofctl = new OfctlProgram({
      program: [command, ...args],
      folder: vswitchd.database.folder,
      ...(timeout === undefined ? {} : { timeout }),
    });
    const bundle = ofctl.bundle.bind(ofctl);
    ofctl.bundle = (...words) => {
      bundles += 1;
      return bundle(...words);
    };
    return new FlowDriver({
      ofctl,
      isSwitchDown,
      ports: { sequence: 1, read: () => PORTS, follow: () => () => undefined },
    });
  };
  let now = 0;
  const pass = async (): Promise<{
    readonly isEmpty: boolean;
    readonly refused: readonly string[];
    readonly problems: readonly string[];
  }> => {
    now += 1;
    await driver.refresh(now);
    const plan = driver.plan(now);
    const { refused } = plan.isEmpty ? { refused: [] } : await driver.apply(plan, now);
    return {
      isEmpty: plan.isEmpty,
      refused: refused.map(({ message }) => message),
      problems: plan.problems.map(({ message }) => message),
    };
  };

  beforeEach(async () => {
    bundles = 0;
    now = 0;
    vswitchd = await Vswitchd.start();
    await vswitchd.vsctl(...bridgeWords(BRIDGE, '02:42:ac:12:00:03', []));
    driver = make();
  });
  afterEach(async () => {
    driver[Symbol.dispose]();
    await vswitchd[Symbol.asyncDispose]();
  });

  test('comes and goes in pieces, between which the switch answers others', async () => {
    for (const [number, one] of owners.entries()) driver.set(one, flows(number, 1000));
    await pass();
    expect(bundles).toBe(10);
    expect(await vswitchd.flows(BRIDGE)).toHaveLength(10_001);
    for (const one of owners) driver.set(one, []);
    const state = { isDone: false };
    let longest = 0;
    const removal = pass().finally(() => (state.isDone = true));
    while (!state.isDone) {
      const began = performance.now();
      await vswitchd.ofctl.ports(BRIDGE);
      longest = Math.max(longest, performance.now() - began);
    }
    expect((await removal).refused).toEqual([]);
    expect(await vswitchd.flows(BRIDGE)).toHaveLength(1);
    // In one bundle, and looked for one by one, they kept it for a minute.
    expect(longest).toBeLessThan(5000);
  });

  test('that the switch refuses is one problem of each object at fault; the others are served', async () => {
    for (const [number, one] of owners.entries())
      driver.set(one, flows(number, 1000, number < 3 ? 'output:nowhere' : 'output:1'));
    const { refused } = await pass();
    expect(refused).toHaveLength(3);
    for (const message of refused)
      expect(message).toMatch(
        /^bridge breth0 refused table=1,.* and 999 more changes of its flows: ovs-ofctl: -:\d+: .*nowhere/,
      );
    expect(await vswitchd.flows(BRIDGE)).toHaveLength(7001);
    const sent = bundles;
    expect(await pass()).toEqual({ isEmpty: true, refused: [], problems: refused });
    expect(bundles).toBe(sent);
    // Another wish is tried at once.
    driver.set(owners[0] as RowOwner, flows(0, 1000));
    expect((await pass()).refused).toEqual([]);
    expect(await vswitchd.flows(BRIDGE)).toHaveLength(8001);
  });

  test('of many objects at fault is looked through a part at a time', async () => {
    const many = Array.from({ length: 64 }, (_, n) => owner(`["many","${n}"]`));
    for (const [number, one] of many.entries())
      driver.set(one, flows(number, 10, number % 2 === 0 ? 'output:nowhere' : 'output:1'));
    await pass();
    expect(bundles).toBeLessThan(130);
    for (let rounds = 0; rounds < 10 && !(await pass()).isEmpty; rounds += 1);
    expect(await vswitchd.flows(BRIDGE)).toHaveLength(32 * 10 + 1);
  });

  test('that nobody answers is one problem, and no search for who is at fault', async () => {
    driver[Symbol.dispose]();
    driver = make(1000);
    for (const [number, one] of owners.entries()) driver.set(one, flows(number, 100));
    await driver.refresh(0);
    const plan = driver.plan(0);
    await vswitchd.kill();
    const { refused } = await driver.apply(plan, 0);
    expect(bundles).toBe(1);
    expect(refused.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^bridge breth0 did not take changes of its flows: .*ovs-vswitchd/),
    ]);
    expect(driver.plan(1)).toMatchObject({ isEmpty: true, problems: refused });
    await vswitchd.launch();
    await until('the bridge', () =>
      vswitchd.flows(BRIDGE).then(
        () => true,
        () => false,
      ),
    );
    now = 20_000;
    await pass();
    expect(await vswitchd.flows(BRIDGE)).toHaveLength(1001);
  });

  test('a switch that is started again is no problem; one that stays away is one of the node, until the node says so itself', async () => {
    const [one] = owners;
    let isToldOfNode = false;
    driver[Symbol.dispose]();
    driver = make(undefined, () => isToldOfNode);
    if (one !== undefined) driver.set(one, flows(1, 10));
    await pass();
    await vswitchd.kill();
    now += 15_000;
    expect(await pass()).toEqual({ isEmpty: true, refused: [], problems: [] });
    now += 15_000;
    await pass();
    now += 15_000;
    await driver.refresh(now);
    const { problems } = driver.plan(now);
    expect(problems).toEqual([
      expect.objectContaining({
        kind: 'refused',
        object: undefined,
        unit: '["unwanted",""]',
        message: expect.stringMatching(
          /^flows of bridge breth0 can't be read: .*ovs-vswitchd runs/,
        ) as string,
      }),
    ]);
    isToldOfNode = true;
    expect(driver.plan(now).problems).toEqual([]);
    await vswitchd.launch();
    now += 15_000;
    await until('its flows', async () => {
      await pass();
      now += 15_000;
      return (await vswitchd.flows(BRIDGE).catch(() => [])).length === 11;
    });
    isToldOfNode = false;
    expect((await pass()).problems).toEqual([]);
  });

  test('ends between two pieces when the daemon stops', async () => {
    for (const [number, one] of owners.entries()) driver.set(one, flows(number, 1000));
    await driver.refresh(0);
    const stop = new AbortController();
    const applied = driver.apply(driver.plan(0), 0, stop.signal);
    stop.abort(new Error('stopped'));
    await expect(applied).rejects.toThrow('stopped');
    expect(bundles).toBeLessThan(2);
  });
});

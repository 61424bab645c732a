/** The fence of egress addresses beside the flows of a bridge: a real ovs-vswitchd. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RowOwner } from '../../../../src/desired/engine.ts';
import type { DesiredRow } from '../../../../src/desired/rows.ts';
import {
  fencedAddressFlows,
  fenceFlows,
} from '../../../../src/node/openflow/bridge-flows-egress.ts';
import { bridgeFence, type BridgeFence } from '../../../../src/node/openflow/egress-fence.ts';
import { firstFlowLines } from '../../../../src/node/openflow/first-flows.ts';
import { FlowDriver } from '../../../../src/node/openflow/flow-driver.ts';
import { FlowRows } from '../../../../src/node/openflow/flow-rows.ts';
import { bridgeWords, Vswitchd } from '../../../support/host/vswitchd.ts';
import { until } from '../../../support/run/until.ts';

const BRIDGE = 'breth0';
const SETTINGS: RowOwner = { id: 'settings', rank: 0, order: 0, rowsIn: () => [] };
const ADDRESS: RowOwner = { id: '["egress","out"]', rank: 0, order: 1, rowsIn: () => [] };
const OPEN =
  / table=12, hard_timeout=30, priority=100 actions=load:0x1->NXM_NX_REG1\[0\],resubmit\(,0\)$/;

let vswitchd: Vswitchd;
let driver: FlowDriver;
let fence: BridgeFence;
let mayOpen = true;
let mayOpenNew = false;
let looks = 0;

const rows = (object: string, build: (rows: FlowRows) => void): DesiredRow[] => {
  const built: DesiredRow[] = [];
  build(new FlowRows({ row: (row: DesiredRow) => built.push(row) } as never, BRIDGE, object));
  return built;
};
let now = 0;
const pass = async (): Promise<boolean> => {
  now += 1;
  await driver.refresh(now);
  const plan = driver.plan(now);
  if (!plan.isEmpty) expect((await driver.apply(plan, now)).refused).toEqual([]);
  return plan.isEmpty;
};
const open = async (): Promise<readonly string[]> =>
  (await vswitchd.flows(BRIDGE)).filter((line) => OPEN.test(line));

beforeEach(async () => {
  vswitchd = await Vswitchd.start();
  await vswitchd.vsctl(...bridgeWords(BRIDGE, '02:42:ac:12:00:03', []));
  fence = bridgeFence(vswitchd.ofctl);
  mayOpen = true;
  mayOpenNew = false;
  looks = 0;
  driver = new FlowDriver({
    ofctl: vswitchd.ofctl,
    ports: {
      sequence: 1,
      read: () => new Map([[BRIDGE, new Map([[':uplink', '1']])]]),
      follow: () => () => undefined,
    },
    onDrift: () => (looks += 1),
    mayOpenFence: (isNew) => mayOpen || (isNew && mayOpenNew),
  });
  driver.set(SETTINGS, rows('cluster', fenceFlows));
});
afterEach(async () => {
  driver[Symbol.dispose]();
  await vswitchd[Symbol.asyncDispose]();
});

test('it opens with the first flow that asks it, where the node may have addresses, and is no difference then', async () => {
  await pass();
  driver.set(
    ADDRESS,
    rows('EgressIP out', (of) => fencedAddressFlows(of, '172.18.0.60')),
  );
  expect(await pass()).toBe(false);
  expect(await open()).toHaveLength(1);
  expect(await pass()).toBe(true);
  await fence.close(BRIDGE);
  expect(await open()).toEqual([]);
  expect(await pass()).toBe(true);
});

test('where the node may not, what asks it is dropped', async () => {
  mayOpen = false;
  driver.set(
    ADDRESS,
    rows('EgressIP out', (of) => fencedAddressFlows(of, 'fd00:172:18::60')),
  );
  await pass();
  expect(await open()).toEqual([]);
  expect(await fence.termOf(BRIDGE)).toBeUndefined();
  await fence.open(BRIDGE, 'timed');
  expect(await fence.termOf(BRIDGE)).toBe('timed');
  // Each takes the other's place.
  for (const term of ['lasting', 'timed'] as const) {
    await fence.open(BRIDGE, term);
    expect(await fence.termOf(BRIDGE)).toBe(term);
    expect(await open()).toHaveLength(term === 'timed' ? 1 : 0);
  }
  await fence.open(BRIDGE, 'lasting');
  await fence.close(BRIDGE);
  expect(await fence.termOf(BRIDGE)).toBeUndefined();
});

test('before that is known it opens where flows without it were left, and stays shut on a bridge that was just made', async () => {
  mayOpen = false;
  mayOpenNew = true;
  driver.set(
    ADDRESS,
    rows('EgressIP out', (of) => fencedAddressFlows(of, '172.18.0.60')),
  );
  await vswitchd.ofctl.bundle(BRIDGE, [...firstFlowLines('02:42:ac:12:00:03')]);
  await pass();
  expect(await open()).toEqual([]);
  const left = 'priority=100,in_port=LOCAL,ip,cookie=0xdeff105,actions=NORMAL';
  await vswitchd.ofctl.bundle(BRIDGE, ['delete', `add ${left}`]);
  await driver.refresh((now += 100));
  await pass();
  expect(await open()).toHaveLength(1);
});

test('opened again it makes nobody look at the flows of the bridge; removed, they are put back, and it is open', async () => {
  driver.set(
    ADDRESS,
    rows('EgressIP out', (of) => fencedAddressFlows(of, '172.18.0.60')),
  );
  driver.start();
  await pass();
  await until('its own changes to be seen', () => looks > 0);
  while (!(await pass()));
  looks = 0;
  for (let time = 0; time < 5; time += 1) await fence.open(BRIDGE, 'timed');
  await vswitchd.ofctl.bundle(BRIDGE, ['delete table=12', 'delete table=0']);
  await until('the removal to be seen', () => looks > 0);
  expect(looks).toBe(1);
  while (!(await pass()));
  expect(await open()).toHaveLength(1);
});

/** Which objects a zone says to be in force. */
import { expect, test } from 'vitest';
import { egressFirewalls } from '../../../src/api/kinds.ts';
import { Informers } from '../../../src/store/informers.ts';
import { AppliedObjects } from '../../../src/zone/applied-objects.ts';
import { apply, silent } from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';
import { rounds } from '../../support/run/rounds.ts';

const NOTHING: ReadonlySet<string> = new Set();
const firewall = (namespace: string) => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressFirewall',
  metadata: { namespace, name: 'default' },
  spec: { egress: [{ type: 'Deny', to: { cidrSelector: '0.0.0.0/0' } }] },
});

async function started(...namespaces: readonly string[]) {
  return startedWith({}, ...namespaces);
}

async function startedWith(
  heeded: { readonly revalidated?: () => Promise<void> },
  ...namespaces: readonly string[]
) {
  const store = new MemoryStore();
  await apply(store, ...namespaces.map(firewall));
  const informers = new Informers({ store, log: silent });
  const state = { isComplete: true, isHostSet: true, changes: 0 };
  const applied = new AppliedObjects({
    ...heeded,
    informers,
    onChange: () => (state.changes += 1),
    isComplete: () => state.isComplete,
    isHostSet: () => state.isHostSet,
  });
  const stop = new AbortController();
  const run = informers.run(stop.signal);
  const seen = (): Promise<void> => informers.refresh([egressFirewalls], stop.signal);
  await informers.synced([egressFirewalls], stop.signal);
  return {
    store,
    state,
    applied,
    seen,
    list: (unfinished = NOTHING) =>
      applied.list(unfinished)?.map(({ object, generation }) => `${object} ${generation}`),
    async [Symbol.asyncDispose]() {
      stop.abort(new Error('stopped'));
      await run;
    },
  };
}

test('objects are in force once the data plane has what they were sent with', async () => {
  await using zone = await started('b', 'a');
  const { applied, list } = zone;
  expect(list()).toBeUndefined();
  applied.sent(applied.built, 5);
  applied.reached(4);
  expect(list()).toBeUndefined();
  applied.reached(5);
  expect(list()).toEqual(['EgressFirewall a/default 1', 'EgressFirewall b/default 1']);
  expect(list(new Set(['EgressFirewall a/default']))).toEqual(['EgressFirewall b/default 1']);
});

test('they are in force when Open vSwitch has looked at what it had cached, which is told', async () => {
  const { revalidated, end } = rounds();
  await using zone = await startedWith({ revalidated }, 'a');
  const { applied, list, state } = zone;
  applied.sent(applied.built, 5);
  applied.reached(5);
  expect([list(), state.changes]).toEqual([undefined, 0]);
  await end();
  expect([list(), state.changes]).toEqual([['EgressFirewall a/default 1'], 1]);
});

test('what is changed while it is sent is in force as it was, until the newer one is', async () => {
  await using zone = await started('a');
  const { applied, list, store, seen } = zone;
  applied.sent(applied.built, 1);
  applied.reached(1);
  const change = async (egress: readonly object[]): Promise<void> => {
    await store.patch(egressFirewalls, 'a/default', { spec: { egress } }, { fieldManager: 'user' });
    await seen();
  };
  await change([]);
  const { built } = applied;
  expect(built?.size).toBe(1);
  await change(firewall('a').spec.egress);
  applied.sent(built, 2);
  applied.reached(2);
  expect(list()).toEqual(['EgressFirewall a/default 1']);
  applied.sent(applied.built, 3);
  applied.reached(3);
  expect(list()).toEqual(['EgressFirewall a/default 3']);
});

test('a status that is written changes nothing, and one object that changed is one that is built', async () => {
  await using zone = await started(...Array.from({ length: 200 }, (_, n) => `n${n}`));
  const { applied, store, seen } = zone;
  expect(applied.built?.size).toBe(200);
  applied.sent(applied.built, 1);
  applied.reached(1);
  await store.patchStatus(
    egressFirewalls,
    'n7/default',
    { status: { status: 'EgressFirewall Rules applied' } },
    { fieldManager: 'manager' },
  );
  await seen();
  expect(applied.built?.size).toBe(0);
  await store.patch(
    egressFirewalls,
    'n7/default',
    { spec: { egress: [] } },
    { fieldManager: 'user' },
  );
  await seen();
  expect(applied.built?.size).toBe(1);
});

test('an object that went is in force no longer, also when it was on its way', async () => {
  await using zone = await started('a', 'b');
  const { applied, list, store, seen } = zone;
  applied.sent(applied.built, 1);
  await store.delete(egressFirewalls, 'a/default');
  await seen();
  applied.reached(1);
  expect(list()).toEqual(['EgressFirewall b/default 1']);
  await store.delete(egressFirewalls, 'b/default');
  await seen();
  expect(list()).toEqual([]);
});

test('nothing is known before the facts are complete, and nothing new comes into force while the host is not set', async () => {
  await using zone = await started('a');
  const { applied, list, state } = zone;
  state.isComplete = false;
  applied.sent(applied.built, 1);
  applied.reached(1);
  expect(list()).toBeUndefined();
  state.isComplete = true;
  state.isHostSet = false;
  applied.sent(applied.built, 2);
  applied.reached(2);
  expect(list()).toBeUndefined();
  state.isHostSet = true;
  applied.reached(2);
  expect(list()).toEqual(['EgressFirewall a/default 1']);
});

test('that there is none is known, too, and costs nothing while the data plane is silent', async () => {
  await using zone = await started();
  const { applied, list } = zone;
  for (let sequence = 1; sequence <= 3; sequence += 1) applied.sent(applied.built, sequence);
  expect(list()).toBeUndefined();
  applied.reached(1);
  expect(list()).toEqual([]);
});

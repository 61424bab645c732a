/** Which egress addresses a node says to be ready for. */
import { expect, test } from 'vitest';
import { PreparedEgress } from '../../../src/zone/prepared-egress.ts';
import { rounds } from '../../support/run/rounds.ts';
import { exampleZone, factsOf } from '../../support/zone/zones.ts';

function started() {
  const state = { isHostSet: true, changes: 0 };
  const { revalidated, end } = rounds();
  const prepared = new PreparedEgress({
    facts: factsOf(exampleZone),
    isHostSet: () => state.isHostSet,
    onChange: () => (state.changes += 1),
    revalidated,
  });
  return { state, prepared, end };
}

test('an address is ready for when packets heed its rows, and the host has the rest', async () => {
  const { state, prepared, end } = started();
  prepared.sent(['172.18.0.200'], 5);
  prepared.reached(4);
  state.isHostSet = false;
  prepared.reached(5);
  await end();
  expect(prepared.addresses).toEqual([]);
  state.isHostSet = true;
  prepared.reached(5);
  // Confirmed, but what was cached before may decide yet.
  expect(prepared.addresses).toEqual([]);
  await end();
  expect([prepared.addresses, state.changes]).toEqual([['172.18.0.200'], 1]);
});

test('what is no longer to come is not ready for from the moment at which that is sent, also while it is looked at', async () => {
  const { state, prepared, end } = started();
  prepared.sent(['172.18.0.200', '172.18.0.201'], 1);
  prepared.reached(1);
  await end();
  prepared.sent(['172.18.0.201'], 2);
  expect([prepared.addresses, state.changes]).toEqual([['172.18.0.201'], 2]);
  prepared.sent(['172.18.0.201', '172.18.0.202'], 3);
  prepared.reached(3);
  prepared.sent([], 4);
  await end();
  expect(prepared.addresses).toEqual([]);
});

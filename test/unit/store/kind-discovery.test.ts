import { describe, expect, test } from 'vitest';
import { egressIPs } from '../../../src/api/kinds.ts';
import { systemClock } from '../../../src/store/clock.ts';
import { Informers } from '../../../src/store/informers.ts';
import { startApiStub } from '../../support/cluster/api-stub.ts';
import { silent } from '../../support/cluster/cluster.ts';

const LIST = '/apis/k8s.ovn.org/v1/egressips';
const GROUP = '/apis/k8s.ovn.org/v1';

interface Answer {
  readonly status: number;
  readonly body: unknown;
}
const served: Answer = { status: 200, body: { metadata: { resourceVersion: '1' }, items: [] } };
const unknown: Answer = { status: 404, body: '404 page not found' };
const starting: Answer = { status: 500, body: '[-]poststarthook/crd-informer-synced failed' };
const group = (...plurals: readonly string[]): Answer => ({
  status: 200,
  body: { kind: 'APIResourceList', resources: plurals.map((name) => ({ name })) },
});

/** Informers of a kind whose list is answered with 404, and what else the server says; waits pass at once. */
async function asked(answers: {
  readonly ready: () => Answer;
  readonly discovery: () => Answer;
  readonly list?: () => Answer;
}): Promise<
  AsyncDisposable & { informers: Informers; lists: () => number; isKnown: () => boolean }
> {
  const api = await startApiStub({
    clock: { ...systemClock, after: (_milliseconds, run) => systemClock.after(0, run) },
  });
  api.answers.set(LIST, answers.list ?? (() => unknown));
  api.answers.set(GROUP, answers.discovery);
  api.answers.set('/readyz', answers.ready);
  const informers = new Informers({ store: api.store, log: silent });
  const informer = informers.of(egressIPs);
  const stop = new AbortController();
  const running = informers.run(stop.signal);
  return {
    informers,
    lists: () => api.asked.filter(({ pathname }) => pathname === LIST).length,
    isKnown: () => informer.isSynced,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      await api[Symbol.asyncDispose]();
    },
  };
}

describe('a kind whose list is answered with 404', () => {
  const uncertain: Readonly<
    Record<string, { readonly ready: () => Answer; readonly discovery: () => Answer }>
  > = {
    'the server is not ready': { ready: () => starting, discovery: () => unknown },
    'discovery names it': {
      ready: () => served,
      discovery: () => group('egressips', 'userdefinednetworks'),
    },
    'its group can not be asked': {
      ready: () => served,
      discovery: () => ({ status: 503, body: {} }),
    },
    'what discovery says is no list': { ready: () => served, discovery: () => served },
  };
  for (const [why, answers] of Object.entries(uncertain))
    test(`is waited for however often that is, while ${why}`, async () => {
      await using bed = await asked(answers);
      await expect.poll(bed.lists).toBeGreaterThan(6);
      expect(bed.isKnown()).toBe(false);
      expect(bed.informers.unread([egressIPs])).toEqual([
        expect.stringMatching(/^egressips .*answered with 404, and it is not certain yet/),
      ]);
    });

  test('is waited for when the server stops being ready, and when only one of several says so', async () => {
    let looks = 0;
    await using bed = await asked({
      // Ready before discovery is asked, and not after.
      ready: () => ((looks += 1) % 2 === 1 ? served : starting),
      discovery: () => unknown,
    });
    await expect.poll(bed.lists).toBeGreaterThan(4);
    expect(bed.isKnown()).toBe(false);
    let turn = 0;
    await using behindOne = await asked({
      ready: () => served,
      discovery: () => ((turn += 1) % 2 === 1 ? unknown : group('egressips')),
    });
    await expect.poll(behindOne.lists).toBeGreaterThan(4);
    expect(behindOne.isKnown()).toBe(false);
  });

  for (const [what, discovery] of Object.entries({
    'its group': () => unknown,
    'its group without it': () => group('userdefinednetworks'),
  }))
    test(`is not installed when a ready server has ${what === 'its group' ? 'not its group' : what}, twice`, async () => {
      await using bed = await asked({ ready: () => served, discovery });
      await expect.poll(bed.isKnown).toBe(true);
      expect(bed.informers.of(egressIPs).isInstalled).toBe(false);
      expect(bed.lists()).toBeGreaterThanOrEqual(2);
    });

  test('is not installed by discovery alone where nobody may ask whether the server is ready', async () => {
    const forbidden = { status: 403, body: { reason: 'Forbidden' } };
    await using bed = await asked({ ready: () => forbidden, discovery: () => unknown });
    await expect.poll(bed.isKnown).toBe(true);
  });

  test('is read as soon as it is served', async () => {
    let isServed = false;
    await using bed = await asked({
      ready: () => served,
      discovery: () => unknown,
      list: () => (isServed ? served : unknown),
    });
    await expect.poll(() => bed.informers.of(egressIPs).isInstalled).toBe(false);
    isServed = true;
    await expect.poll(() => bed.informers.of(egressIPs).isInstalled).toBe(true);
  });
});

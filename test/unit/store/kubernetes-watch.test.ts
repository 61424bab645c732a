import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { pods } from '../../../src/api/kinds.ts';
import { systemClock, type Clock } from '../../../src/store/clock.ts';
import { startApiStub } from '../../support/cluster/api-stub.ts';

const EXPIRED = {
  kind: 'Status',
  code: 410,
  reason: 'Expired',
  message: 'too old resource version',
};

/** A clock whose waits pass at once and are noted; `age` milliseconds have gone by beside them. */
function notingClock(): { clock: Clock; waits: number[]; age: (milliseconds: number) => void } {
  let passed = 0;
  const waits: number[] = [];
  const clock: Clock = {
    ...systemClock,
    monotonic: () => passed,
    after(milliseconds, run) {
      waits.push(milliseconds);
      passed += milliseconds;
      return systemClock.after(0, run);
    },
  };
  return { clock, waits, age: (milliseconds) => (passed += milliseconds) };
}

const REFUSALS: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'is refused with 410': (response) => response.writeHead(410).end(JSON.stringify(EXPIRED)),
  'is opened and told 410': (response) =>
    response.writeHead(200).end(`${JSON.stringify({ type: 'ERROR', object: EXPIRED })}\n`),
  'ends as soon as it is opened': (response) => response.writeHead(200).end(),
  'is told one thing, and ends': (response) =>
    response
      .writeHead(200)
      .end(
        `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '2' } } })}\n`,
      ),
  'is refused with 500': (response) => response.writeHead(500).end('{}'),
};

describe('a watch that again and again', () => {
  for (const [what, answer] of Object.entries(REFUSALS))
    test(`${what} is begun anew with the waits of client-go's reflector`, async () => {
      for (const random of [0, 0.5]) {
        const { clock, waits, age } = notingClock();
        let watches = 0;
        await using api = await startApiStub({
          clock,
          random: () => random,
          onWatch: (response) => {
            watches += 1;
            // The server is well for longer than two minutes, as far as anybody can tell.
            if (watches === 9) age(120_001);
            answer(response);
            return true;
          },
        });
        const stop = new AbortController();
        const watching = api.store.watch(pods, () => undefined, stop.signal);
        await expect.poll(() => waits.length).toBeGreaterThanOrEqual(10);
        stop.abort();
        await watching;
        const steps = [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000, 800, 1600];
        expect(waits.slice(0, 10)).toEqual(steps.map((step) => step * (1 + random)));
      }
    });

  test('is refused for its version stalls its readers from the second time on', async () => {
    const { clock, waits } = notingClock();
    const seen: string[] = [];
    await using api = await startApiStub({
      clock,
      onWatch: (response) => {
        if (waits.length >= 3) return false;
        response.writeHead(410).end(JSON.stringify(EXPIRED));
        return true;
      },
    });
    const stop = new AbortController();
    const watching = api.store.watch(pods, ({ type }) => seen.push(type), stop.signal);
    await expect.poll(() => api.asked.length).toBe(8);
    expect(seen).toEqual(['synced', 'synced', 'stalled', 'synced', 'stalled', 'synced']);
    stop.abort();
    await watching;
  });
});

test('after a failure everything is read anew where the server has gone back behind what is known, and nothing else', async () => {
  const { clock } = notingClock();
  const podOf = (name: string, node: string): object => ({
    metadata: { namespace: 'a', name, uid: name, resourceVersion: '7' },
    spec: { nodeName: node },
  });
  const lists = [
    { metadata: { resourceVersion: '10' }, items: [podOf('x', 'n1'), podOf('y', 'n1')] },
    // The first failure: it is where it was, or further.
    { metadata: { resourceVersion: '11' }, items: [podOf('x', 'n1')] },
    // The second one: a backup. One of them is another one with the same version, as seldom as that is.
    { metadata: { resourceVersion: '9' }, items: [podOf('x', 'n2')] },
    { metadata: { resourceVersion: '9' }, items: [podOf('x', 'n2')] },
  ];
  let watches = 0;
  await using api = await startApiStub({
    clock,
    onWatch: (response) => {
      watches += 1;
      if (watches > 2) return false;
      response.writeHead(500).end('{}');
      return true;
    },
  });
  api.answers.set('/api/v1/pods', () => ({ status: 200, body: lists.shift() }));
  const seen: string[] = [];
  const stop = new AbortController();
  const watching = api.store.watch(
    pods,
    (event) =>
      seen.push(
        'object' in event
          ? `${event.type} ${event.object.metadata.name} ${event.object.spec?.nodeName}`
          : event.type,
      ),
    stop.signal,
  );
  await expect.poll(() => watches).toBe(3);
  expect(seen).toEqual([
    'added x n1',
    'added y n1',
    'synced',
    'stalled',
    'stalled',
    'modified x n2',
    'deleted y undefined',
    'synced',
  ]);
  expect(api.asked.map(({ searchParams }) => searchParams.get('resourceVersion'))).toEqual([
    null,
    '10',
    null,
    '10',
    null,
    null,
    '9',
  ]);
  stop.abort();
  await watching;
});

test('where nobody listened for a while, everything is read anew: others may have written past what is known since a backup came back', async () => {
  const { clock, waits, age } = notingClock();
  const podOf = (name: string, node: string): object => ({
    metadata: { namespace: 'a', name, uid: name, resourceVersion: '7' },
    spec: { nodeName: node },
  });
  await using api = await startApiStub({ clock });
  const lists = [
    { metadata: { resourceVersion: '10' }, items: [podOf('x', 'n1'), podOf('y', 'n1')] },
    { metadata: { resourceVersion: '12' }, items: [podOf('x', 'n2')] },
  ];
  api.answers.set('/api/v1/pods', () => ({ status: 200, body: lists.shift() }));
  const seen: string[] = [];
  const waitsAtStalls: number[] = [];
  const stop = new AbortController();
  const watching = api.store.watch(
    pods,
    (event) => {
      if (event.type === 'stalled') waitsAtStalls.push(waits.length);
      else
        seen.push(
          'object' in event
            ? `${event.type} ${event.object.metadata.name} ${event.object.spec?.nodeName}`
            : event.type,
        );
    },
    stop.signal,
  );
  await expect.poll(() => seen).toEqual(['added x n1', 'added y n1', 'synced']);
  await expect.poll(() => api.asked.length).toBe(2);
  age(1000);
  await api.whileAway(() => expect.poll(() => waitsAtStalls.length).toBeGreaterThan(2));
  // It asks at once: later the server may be back.
  expect(waitsAtStalls.slice(0, 3)).toEqual([0, 0, 1]);
  await expect
    .poll(() => seen.slice(3))
    .toEqual(['modified x n2', 'deleted y undefined', 'synced']);
  stop.abort();
  await watching;
});

describe('an API server that answers with the data of another cluster', () => {
  const podOf = (name: string): object => ({
    metadata: { namespace: 'a', name, uid: name, resourceVersion: '7' },
    spec: { nodeName: 'n1' },
  });
  const cluster = (uid: string): object => ({ metadata: { name: 'kube-system', uid } });

  test.each<[string, readonly object[]]>([
    ['or with none', []],
    ['that it made anew', [cluster('B')]],
  ])('%s takes nothing away, and is told, until its own is back', async (_what, others) => {
    const { clock, age } = notingClock();
    const state = { cluster: [cluster('A')] as readonly object[], pods: [podOf('x'), podOf('y')] };
    let version = '10';
    const asked: string[] = [];
    await using api = await startApiStub({
      clock,
      cluster() {
        asked.push('cluster');
        return state.cluster;
      },
    });
    api.answers.set('/api/v1/pods', () => ({
      status: 200,
      body: { metadata: { resourceVersion: version }, items: state.pods },
    }));
    const seen: string[] = [];
    const stalls: string[] = [];
    const stop = new AbortController();
    const watching = api.store.watch(
      pods,
      (event) => {
        if (event.type === 'stalled') stalls.push(event.error.message);
        else
          seen.push('object' in event ? `${event.type} ${event.object.metadata.name}` : event.type);
      },
      stop.signal,
    );
    const told = (): readonly string[] =>
      stalls.filter((text) => text.includes("answers with another cluster's data"));
    await expect.poll(() => seen).toEqual(['added x', 'added y', 'synced']);
    expect(asked).toHaveLength(1);
    age(1000);
    await api.whileAway(async () => {
      await expect.poll(() => stalls.length).toBeGreaterThan(1);
      Object.assign(state, { cluster: others, pods: [] });
      version = '3';
    });
    await expect.poll(() => told().length).toBeGreaterThan(2);
    expect(told()[0]).toContain(
      others.length === 0
        ? 'it has no namespace kube-system, and had one with uid A when'
        : 'its namespace kube-system has uid B, and had A when',
    );
    await expect(api.store.list(pods)).rejects.toThrow("answers with another cluster's data");
    expect(seen).toHaveLength(3);

    Object.assign(state, { cluster: [cluster('A')], pods: [podOf('x')] });
    version = '12';
    // Of x there is another one perhaps: versions say nothing after a restore.
    await expect.poll(() => seen.slice(3)).toEqual(['modified x', 'deleted y', 'synced']);
    stop.abort();
    await watching;
  });

  test('takes nothing away either where its own is back between its list and the question whose list that was', async () => {
    const { clock, age } = notingClock();
    const state = { cluster: 'A', pods: [podOf('x')] };
    let version = '10';
    // Whatever B is asked is the last that it answers.
    const answering = <T>(answer: T): T => {
      if (state.cluster === 'B') {
        Object.assign(state, { cluster: 'A', pods: [podOf('x')] });
        version = '12';
      }
      return answer;
    };
    await using api = await startApiStub({
      clock,
      cluster: () => answering([cluster(state.cluster)]),
    });
    api.answers.set('/api/v1/pods', () =>
      answering({
        status: 200,
        body: { metadata: { resourceVersion: version }, items: state.pods },
      }),
    );
    const seen: string[] = [];
    const stop = new AbortController();
    const watching = api.store.watch(
      pods,
      (event) => seen.push('object' in event ? `${event.type} x` : event.type),
      stop.signal,
    );
    await expect.poll(() => seen).toEqual(['added x', 'synced']);
    age(10_000);
    await api.whileAway(async () => {
      await expect.poll(() => seen).toContain('stalled');
      Object.assign(state, { cluster: 'B', pods: [] });
    });
    await expect.poll(() => seen.filter((event) => event !== 'stalled')).toHaveLength(4);
    expect(seen.filter((event) => event !== 'stalled').slice(2)).toEqual(['modified x', 'synced']);
    stop.abort();
    await watching;
  });

  test('is not known where namespaces may not be read, or none is there: its answers count', async () => {
    for (const answer of [[], undefined]) {
      const { clock, age } = notingClock();
      let asked = 0;
      await using api = await startApiStub({
        clock,
        cluster() {
          asked += 1;
          return answer;
        },
      });
      api.answers.set('/api/v1/pods', [podOf('x')]);
      expect(await api.store.list(pods)).toHaveLength(1);
      age(1);
      expect(await api.store.list(pods)).toHaveLength(1);
      expect(asked).toBe(answer === undefined ? 1 : 2);
    }
  });

  test('is asked for once by kinds that are read together', async () => {
    const { clock, age } = notingClock();
    let asked = 0;
    await using api = await startApiStub({
      clock,
      cluster() {
        asked += 1;
        return [cluster('A')];
      },
    });
    await Promise.all(Array.from({ length: 10 }, () => api.store.list(pods)));
    expect(asked).toBe(1);
    age(1);
    await api.store.list(pods);
    expect(asked).toBe(2);
  });
});

test('a list whose token expires is asked for once more, in one piece', async () => {
  let asked = 0;
  await using api = await startApiStub();
  api.answers.set('/api/v1/pods', () => {
    asked += 1;
    return asked === 2
      ? { status: 410, body: EXPIRED }
      : {
          status: 200,
          body: { metadata: { resourceVersion: '1', ...(asked === 1 ? { continue: 'x' } : {}) } },
        };
  });
  await expect(api.store.list(pods)).resolves.toEqual([]);
  expect(api.asked.map(({ search }) => search)).toEqual([
    '?limit=100',
    '?limit=100&continue=x',
    '',
  ]);
});

test('who takes in a long list gives way to others between its objects', async () => {
  await using api = await startApiStub();
  const items = Array.from({ length: 200 }, (_, index) => ({
    metadata: { namespace: 'a', name: `p${index}`, uid: `u${index}`, resourceVersion: '1' },
    spec: {},
  }));
  api.answers.set('/api/v1/pods', () => ({
    status: 200,
    body: { metadata: { resourceVersion: '1' }, items },
  }));
  const stop = new AbortController();
  let turns = 0;
  const turn = (): void => {
    turns += 1;
    if (!stop.signal.aborted) setImmediate(turn);
  };
  const at: number[] = [];
  const taken = Promise.withResolvers<void>();
  const watching = api.store.watch(
    pods,
    ({ type }) => {
      if (at.length === 0) turn();
      at.push(turns);
      if (type === 'synced') taken.resolve();
      const from = performance.now();
      while (performance.now() - from < 1) continue;
    },
    stop.signal,
  );
  await taken.promise;
  stop.abort();
  await watching;
  expect(at).toHaveLength(201);
  expect(new Set(at).size).toBeGreaterThan(5);
});

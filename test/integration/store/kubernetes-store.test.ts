import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { namespaces } from '../../../src/api/kinds.ts';
import type { KubeObject, ResourceKind } from '../../../src/api/objects.ts';
import type { KubernetesConnection } from '../../../src/store/kubernetes/kubernetes-connection.ts';
import { systemClock, type Clock } from '../../../src/store/clock.ts';
import { Informers } from '../../../src/store/informers.ts';
import { KubernetesStore } from '../../../src/store/kubernetes/kubernetes-store.ts';
import type { StoreError, WatchEvent } from '../../../src/store/store.ts';
import { silent } from '../../support/cluster/cluster.ts';
import { startApiProxy, type ApiProxy } from '../../support/cluster/api-proxy.ts';
import { startKubeApi, type KubeApi } from '../../support/cluster/kube-api.ts';
import { WIDGETS } from '../../support/cluster/plain-rules.ts';
import { storeContract } from '../../support/cluster/store-contract.ts';
import { widgetDefinition } from '../../support/cluster/widget-crd.ts';

interface Widget extends KubeObject {
  readonly spec: { readonly size: number };
}

const widgets = WIDGETS as ResourceKind<Widget>;
const WRITER = { fieldManager: 'test' };
const WATCH_TIMING = { backoff: { first: 20, longest: 200 } };
const LEASE_TIMING = { lease: 3000, renew: 2000, retry: 100 };

const SOON = { timeout: 20_000, interval: 100 };

const started = await startKubeApi();
if (typeof started === 'string')
  console.warn(`the Kubernetes store is not tested against a real API server: ${started}`);

describe.skipIf(typeof started === 'string')('Kubernetes store', () => {
  const api = started as KubeApi;
  beforeAll(() => api.install([widgetDefinition]));
  afterAll(() => api[Symbol.asyncDispose]());

  const freshNamespace = async (): Promise<string> => {
    const name = `test-${randomUUID().slice(0, 8)}`;
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    expect((await api.call('POST', '/api/v1/namespaces', namespace)).status).toBe(201);
    return name;
  };
  const openStore = (
    connection: KubernetesConnection = api.connection,
    clock: Clock = systemClock,
  ): KubernetesStore =>
    new KubernetesStore({
      connection,
      clock,
      namespace: 'default',
      watchTiming: WATCH_TIMING,
      leaseTiming: LEASE_TIMING,
    });

  storeContract('Kubernetes', async () => {
    const stores = [openStore(), openStore()] as const;
    return {
      stores,
      namespace: await freshNamespace(),
      async [Symbol.asyncDispose]() {
        await Promise.all(stores.map((store) => store.close()));
      },
    };
  });

  test('objects that go back to a backup are followed: what it does not know goes, what was deleted since is there again', async () => {
    const name = await freshNamespace();
    const path = `/apis/example.org/v1/namespaces/${name}/widgets`;
    const create = (widget: string, size: number): Promise<{ status: number }> =>
      api.call('POST', path, {
        apiVersion: 'example.org/v1',
        kind: 'Widget',
        metadata: { name: widget, namespace: name },
        spec: { size },
      });
    for (const [widget, size] of [
      ['kept', 1],
      ['changed', 2],
      ['deleted', 3],
    ] as const)
      expect((await create(widget, size)).status).toBe(201);
    await api.backup();
    const store = openStore();
    const informers = new Informers({ store, log: silent });
    const followed = informers.of(widgets);
    const stop = new AbortController();
    const running = informers.run(stop.signal);
    const sizes = (): readonly string[] =>
      followed
        .inNamespace(name)
        .map(({ metadata, spec }) => `${metadata.name} ${spec.size}`)
        .sort();
    await expect.poll(sizes, SOON).toEqual(['changed 2', 'deleted 3', 'kept 1']);
    await api.call('PATCH', `${path}/changed`, { spec: { size: 20 } });
    await api.call('DELETE', `${path}/deleted`);
    for (let size = 4; size < 40; size += 1) await create(`new-${size}`, size);
    await expect.poll(() => sizes().length, SOON).toBe(38);
    await api.restore();
    await expect.poll(sizes, SOON).toEqual(['changed 2', 'deleted 3', 'kept 1']);
    await create('after', 5);
    await expect.poll(sizes, SOON).toEqual(['after 5', 'changed 2', 'deleted 3', 'kept 1']);
    stop.abort();
    await running;
    await store.close();
  });

  test('an API server whose etcd is empty takes nothing along, and says so, until its data is back', async () => {
    const system = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system' } };
    expect([201, 409]).toContain((await api.call('POST', '/api/v1/namespaces', system)).status);
    const name = await freshNamespace();
    await api.backup();
    const store = openStore();
    const informers = new Informers({ store, log: silent });
    const [spaces, things] = [informers.of(namespaces), informers.of(widgets)];
    const changes: string[] = [];
    const stop = new AbortController();
    const running = informers.run(stop.signal);
    await informers.synced([namespaces, widgets]);
    for (const informer of [spaces, things])
      informer.onChange(({ key }) => changes.push(key), 'now');
    const count = spaces.list().length;
    expect(count).toBeGreaterThan(1);
    await api.empty();
    await expect
      .poll(() => spaces.stalled?.message, SOON)
      .toContain("answers with another cluster's data, or with none");
    await expect.poll(() => things.stalled?.message, SOON).toBeDefined();
    expect(informers.unreadable()).toBeDefined();
    await expect(store.list(namespaces)).rejects.toThrow('give the API server its own etcd back');
    expect(spaces.list()).toHaveLength(count);
    await api.restore();
    await expect.poll(() => informers.unreadable(), SOON).toBeUndefined();
    expect(spaces.list()).toHaveLength(count);
    expect(spaces.get(name)).toBeDefined();
    expect(changes).toEqual([]);
    stop.abort();
    await running;
    await store.close();
  });

  test('a kind whose definition is not there is not installed, also while the server starts, and is followed once it is', async () => {
    await api.stop();
    const store = openStore();
    const informers = new Informers({ store, log: silent });
    const gadgets: ResourceKind = {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'Gadget',
      plural: 'gadgets',
      namespaced: true,
    };
    const [there, missing] = [informers.of(widgets), informers.of(gadgets)];
    const stop = new AbortController();
    const running = informers.run(stop.signal);
    await api.start();
    await informers.synced([widgets, gadgets], AbortSignal.timeout(60_000));
    expect([there.isInstalled, missing.isInstalled]).toEqual([true, false]);
    stop.abort();
    await running;
    await store.close();
  });

  describe('on an unreliable network', () => {
    let proxy: ApiProxy;
    let viaProxy: KubernetesStore;
    const direct = openStore();
    let namespace: string;
    beforeAll(async () => {
      proxy = await startApiProxy(api);
      // Watches have lasted for long when their connection is cut.
      const fast = { ...systemClock, monotonic: () => 1000 * systemClock.monotonic() };
      viaProxy = openStore({ ...api.connection, server: proxy.url }, fast);
    });
    beforeEach(async () => {
      namespace = await freshNamespace();
    });
    afterEach(() => {
      proxy.mangle = (line) => [line];
      proxy.intercept = () => false;
    });
    afterAll(async () => {
      await viaProxy.close();
      await direct.close();
      await proxy[Symbol.asyncDispose]();
    });

    const create = (name: string, size = 1): Promise<Widget> =>
      direct.create(
        widgets,
        {
          apiVersion: 'example.org/v1',
          kind: 'Widget',
          metadata: { name, namespace },
          spec: { size },
        },
        WRITER,
      );
    const resize = (name: string, size: number): Promise<Widget> =>
      direct.patch(widgets, `${namespace}/${name}`, { spec: { size } }, WRITER);
    const remove = (name: string): Promise<void> => direct.delete(widgets, `${namespace}/${name}`);

    /** A watch through the proxy: what it told, and the objects as its reader now knows them. */
    function follow(): { seen: string[]; known: Map<string, number>; stop: () => Promise<void> } {
      const seen: string[] = [];
      const known = new Map<string, number>();
      const stopping = new AbortController();
      const handler = (event: WatchEvent<Widget>): void => {
        if (event.type === 'synced') seen.push('synced');
        else if (event.type === 'stalled') seen.push(`stalled ${event.error.code}`);
        else if ('object' in event && event.object.metadata.namespace === namespace) {
          const { name } = event.object.metadata;
          if (event.type === 'deleted') known.delete(name);
          else known.set(name, event.object.spec.size);
          seen.push(`${event.type} ${name}`);
        }
      };
      const watching = viaProxy.watch(widgets, handler, stopping.signal);
      return {
        seen,
        known,
        stop: () => {
          stopping.abort();
          return watching;
        },
      };
    }
    /** Until its watch is open, which comes after it is synced. */
    const isOpen = async ({ known }: Pick<ReturnType<typeof follow>, 'known'>): Promise<void> => {
      await create('open');
      await until(() => known.get('open')).toEqual(1);
      await remove('open');
      await until(() => known.has('open')).toEqual(false);
    };
    const until = (check: () => unknown): { toEqual: (value: unknown) => Promise<void> } =>
      expect.poll(check, { timeout: 20_000 });

    test('a cut watch goes on where it was, without telling anything twice', async () => {
      await create('cut');
      const { seen, known, stop } = follow();
      await until(() => seen.at(-1)).toEqual('synced');
      await isOpen({ known });
      const lists = (): number =>
        proxy.requests.filter((line) => /widgets\?limit=\d\d/.test(line)).length;
      const listsBefore = lists();
      proxy.cut();
      await resize('cut', 2);
      await until(() => known.get('cut')).toEqual(2);
      expect(lists()).toBe(listsBefore);
      expect(seen.filter((line) => line === 'added cut')).toHaveLength(1);
      expect(seen.filter((line) => line === 'modified cut')).toHaveLength(1);
      await stop();
      await remove('cut');
    });

    test('repeated and late events change nothing', async () => {
      proxy.mangle = (line) => [line, line];
      const { seen, stop } = follow();
      await until(() => seen.at(-1)).toEqual('synced');
      await create('twice');
      await resize('twice', 2);
      await remove('twice');
      await create('end');
      await until(() => seen.at(-1)).toEqual('added end');
      expect(seen).toEqual([
        'synced',
        'added twice',
        'modified twice',
        'deleted twice',
        'added end',
      ]);
      await stop();
    });

    test('an expired version: everything is read again, told as differences', async () => {
      await create('stays');
      await create('goes');
      await create('replaced');
      const { seen, known, stop } = follow();
      await until(() => seen.at(-1)).toEqual('synced');
      await isOpen({ known });
      const before = seen.length;
      let isAway = true;
      let answered = 0;
      proxy.intercept = (target, response) => {
        if (!target.includes('watch=1')) return false;
        if (isAway) {
          response.writeHead(503).end('gone for the moment');
          return true;
        }
        answered += 1;
        if (answered > 1) return false;
        const status = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' };
        response.end(`${JSON.stringify({ type: 'ERROR', object: status })}\n`);
        return true;
      };
      proxy.cut();
      await until(() => seen.at(-1)).toEqual('stalled unavailable');
      await remove('goes');
      await remove('replaced');
      await create('replaced', 5);
      await create('new', 7);
      isAway = false;
      await until(() => Object.fromEntries(known)).toEqual({ stays: 1, replaced: 5, new: 7 });
      expect(seen.slice(before).filter((line) => line.endsWith('stays'))).toEqual([]);
      await stop();
      for (const name of ['stays', 'replaced', 'new']) await remove(name);
    });

    test('the server compacts away what a watch would continue from', async () => {
      await create('old');
      const { seen, known, stop } = follow();
      await until(() => seen.at(-1)).toEqual('synced');
      proxy.intercept = (target, response) => {
        if (!target.includes('watch=1')) return false;
        response.writeHead(503).end('gone for the moment');
        return true;
      };
      proxy.cut();
      await until(() => seen.at(-1)).toEqual('stalled unavailable');
      for (let size = 2; size < 12; size += 1) await resize('old', size);
      await remove('old');
      await create('young');
      await api.stop(); // its watch cache would still know the versions
      await api.compact();
      await api.start();
      proxy.intercept = () => false;
      await until(() => Object.fromEntries(known)).toEqual({ young: 1 });
      await until(() => seen.at(-1)).toEqual('synced');
      expect(seen).toContain('deleted old');
      await stop();
      await remove('young');
    });

    test('a restarted API server: stalled, with the reason, then synced', async () => {
      await create('a');
      const { seen, known, stop } = follow();
      await until(() => seen.at(-1)).toEqual('synced');
      await api.stop();
      await until(() => seen.at(-1)).toEqual('stalled unavailable');
      const refused = await direct.get(widgets, `${namespace}/a`).catch((error: unknown) => error);
      expect((refused as StoreError).code).toBe('unavailable');
      expect((refused as StoreError).message).toMatch(
        /Widget .*\/a: https:.*connect .*: nobody listens there/,
      );
      await api.start();
      await until(() => seen.at(-1)).toEqual('synced');
      await resize('a', 4);
      await until(() => known.get('a')).toEqual(4);
      await stop();
      await remove('a');
    });

    test('a silent connection is given up', async () => {
      const impatient = new KubernetesStore({
        connection: { ...api.connection, server: proxy.url },
        watchTiming: { ...WATCH_TIMING, silence: 300 },
      });
      const watches = (): number =>
        proxy.requests.filter((line) => line.includes('watch=1')).length;
      const before = watches();
      const stopping = new AbortController();
      const watching = impatient.watch(widgets, () => undefined, stopping.signal);
      await until(() => watches() >= before + 3).toEqual(true);
      stopping.abort();
      await watching;
      await impatient.close();
    });

    test('large lists come in pages', async () => {
      const names = Array.from({ length: 12 }, (_, index) => `many-${index}`);
      await Promise.all(names.map((name) => create(name)));
      const paging = new KubernetesStore({
        connection: { ...api.connection, server: proxy.url },
        watchTiming: { page: 5 },
      });
      const before = proxy.requests.length;
      const listed = await paging.list(widgets);
      expect(listed.filter(({ metadata }) => metadata.namespace === namespace)).toHaveLength(12);
      expect(listed[0]).toMatchObject({ apiVersion: 'example.org/v1', kind: 'Widget' });
      const pages = proxy.requests.slice(before).filter((line) => line.includes('/widgets?'));
      expect(pages).toHaveLength(Math.ceil(listed.length / 5));
      expect(pages.slice(1).every((line) => line.includes('continue='))).toBe(true);
      await paging.close();
      await Promise.all(names.map(remove));
    });
  });

  test('a kind that is not installed says what to do, and is found once it is', async () => {
    const store = openStore();
    const parts = {
      apiVersion: 'late.example.org/v1',
      kind: 'Part',
      plural: 'parts',
      namespaced: true,
    };
    const seen: string[] = [];
    const stopping = new AbortController();
    const watching = store.watch(
      parts,
      (event) => seen.push(event.type === 'stalled' ? event.error.message : event.type),
      stopping.signal,
    );
    await expect.poll(() => seen.at(-1)).toMatch(/parts: .*install the CRDs/);
    const { spec } = widgetDefinition;
    await api.install([
      {
        ...widgetDefinition,
        metadata: { name: 'parts.late.example.org' },
        spec: {
          ...spec,
          group: 'late.example.org',
          names: { kind: 'Part', listKind: 'PartList', plural: 'parts', singular: 'part' },
        },
      },
    ]);
    await expect.poll(() => seen.at(-1), { timeout: 10_000 }).toBe('synced');
    stopping.abort();
    await watching;
    await store.close();
  });

  test('leadership is lost when it can not be renewed, before another one may take it', async () => {
    const proxy = await startApiProxy(api);
    const isolated = openStore({ ...api.connection, server: proxy.url });
    const other = openStore();
    const signal = new AbortController().signal;
    const name = `lease-${randomUUID().slice(0, 8)}`;
    const first = await isolated.lead(name, 'one', signal);
    const lostAt = new Promise<number>((resolve) => {
      first.signal.addEventListener('abort', () => resolve(performance.now()));
    });
    const secondAt = other.lead(name, 'two', signal).then((leadership) => ({
      leadership,
      at: performance.now(),
    }));
    proxy.intercept = (_target, response) => {
      response.destroy();
      return true;
    };
    const lost = await lostAt;
    const second = await secondAt;
    expect(lost).toBeLessThan(second.at);
    expect(String(first.signal.reason)).toMatch(/could not be renewed for 2 s/);
    await second.leadership[Symbol.asyncDispose]();
    await Promise.all([isolated.close(), other.close()]);
    await proxy[Symbol.asyncDispose]();
  });
});

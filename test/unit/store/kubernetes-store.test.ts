/** How a store speaks with an API server; what it says is tested with a real one. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { namespaces } from '../../../src/api/kinds.ts';
import { KubernetesStore } from '../../../src/store/kubernetes/kubernetes-store.ts';

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/heddle/leases/manager';

test('a lease is renewed on a connection of its own that stays open, whatever else is under way', async () => {
  /** Whence requests came: each port is a connection. */
  const [ofLease, ofOthers] = [new Set<number>(), new Set<number>()];
  let renewals = 0;
  let version = 1;
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const port = request.socket.remotePort ?? 0;
    if (request.url?.startsWith(LEASE) !== true) {
      // Nothing else gets an answer.
      ofOthers.add(port);
      return;
    }
    ofLease.add(port);
    if (request.method === 'PATCH') renewals += 1;
    request.resume().on('end', () => {
      const metadata = {
        name: 'manager',
        namespace: 'heddle',
        resourceVersion: `${(version += 1)}`,
      };
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: {} }),
      );
    });
  };
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const store = new KubernetesStore({
    connection: {
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      namespace: 'heddle',
      source: 'test',
      credentials: async () => ({ tls: {} }),
    },
    leaseTiming: { lease: 120_000, renew: 60_000, retry: 5 },
  });
  const stop = new AbortController();
  const leadership = await store.lead('manager', 'one', stop.signal);
  const others = Array.from({ length: 100 }, async (_, index) =>
    store.patch(namespaces, `n${index}`, {}, { fieldManager: 'test', signal: stop.signal }),
  );
  const ended = Promise.allSettled(others);
  await expect.poll(() => ofOthers.size).toBe(100);
  const before = renewals;
  await expect.poll(() => renewals).toBeGreaterThan(before + 10);
  expect(leadership.signal.aborted).toBe(false);
  expect(ofLease.size).toBe(1);
  expect([...ofLease].filter((port) => ofOthers.has(port))).toEqual([]);
  stop.abort();
  await ended;
  await leadership[Symbol.asyncDispose]();
  await store.close();
  server.closeAllConnections();
  server.close();
});

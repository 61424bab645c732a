import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import {
  KubernetesStore,
  type KubernetesStoreOptions,
} from '../../../src/store/kubernetes/kubernetes-store.ts';

/** What is answered this time. */
type AnswerNow = () => { readonly status: number; readonly body: unknown };

/** A server that answers what the test says, however odd; no API server would. */
export interface ApiStub extends AsyncDisposable {
  readonly store: KubernetesStore;
  /** Paths with queries in the order in which they were asked for. */
  readonly asked: readonly URL[];
  /** Items of the list at a path, the object at it, or an `AnswerNow`. */
  readonly answers: Map<string, unknown>;
  /** Sends an event to the watches at a path. */
  send(path: string, event: unknown): void;
  /** Nobody listens at its address until it has returned. */
  whileAway(run: () => Promise<void>): Promise<void>;
}

/** `onWatch` answers a watch in place of the stub when it returns true. `cluster` has the namespace by which clusters are known, which is not noted as asked; undefined where it may not be read. */
export async function startApiStub({
  onWatch = () => false,
  cluster = () => [],
  ...options
}: Partial<Omit<KubernetesStoreOptions, 'connection'>> & {
  readonly onWatch?: (response: ServerResponse) => boolean;
  readonly cluster?: () => readonly object[] | undefined;
} = {}): Promise<ApiStub> {
  const asked: URL[] = [];
  const answers = new Map<string, unknown>();
  const watches = new Map<string, Set<ServerResponse>>();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://stub');
    if (url.searchParams.get('fieldSelector') === 'metadata.name=kube-system') {
      const items = cluster();
      response.writeHead(items === undefined ? 403 : 200).end(JSON.stringify({ items }));
      return;
    }
    asked.push(url);
    const answer = answers.get(url.pathname) ?? [];
    if (url.searchParams.has('watch')) {
      if (onWatch(response)) return;
      response.writeHead(200).flushHeaders();
      const open = watches.get(url.pathname) ?? new Set();
      watches.set(url.pathname, open.add(response));
    } else if (typeof answer === 'function') {
      const { status, body } = (answer as AnswerNow)();
      response.writeHead(status).end(JSON.stringify(body));
    } else
      response
        .writeHead(200)
        .end(
          JSON.stringify(
            Array.isArray(answer)
              ? { metadata: { resourceVersion: '1' }, items: answer as unknown[] }
              : answer,
          ),
        );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  const store = new KubernetesStore({
    ...options,
    connection: {
      server: `http://127.0.0.1:${port}`,
      namespace: undefined,
      source: 'test',
      credentials: async () => ({ tls: {} }),
    },
  });
  return {
    store,
    asked,
    answers,
    send: (path, event) => {
      for (const response of watches.get(path) ?? []) response.write(`${JSON.stringify(event)}\n`);
    },
    async whileAway(run) {
      server.close();
      server.closeAllConnections();
      await run();
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    async [Symbol.asyncDispose]() {
      await store.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

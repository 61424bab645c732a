/** Stands between a client and an API server, and does to watches what networks do. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { request } from 'node:https';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeApi } from './kube-api.ts';

export interface ApiProxy extends AsyncDisposable {
  readonly url: string;
  /** Method and path with query of every request so far. */
  readonly requests: string[];
  /** Those of them that roles forbade or an admission policy refused, each with what the server said. */
  readonly forbidden: string[];
  /** Cuts every open connection. */
  cut(): void;
  /** Changes the lines of watches on their way: several for one, or none. */
  mangle: (line: string) => readonly string[];
  /** Milliseconds that the next events of a watch are late; they stay in order. */
  lag: () => number;
  /** Answers a request itself, instead of the server. */
  intercept: (target: string, response: ServerResponse) => boolean;
  /** What an answer waits for before it goes back. */
  hold: (request: string) => Promise<void> | undefined;
}

export async function startApiProxy(api: KubeApi): Promise<ApiProxy> {
  const requests: string[] = [];
  const forbidden: string[] = [];
  const server = createServer((incoming, response) => {
    const target = incoming.url ?? '/';
    requests.push(`${incoming.method} ${target}`);
    if (proxy.intercept(target, response)) return;
    const outgoing = request(
      `${api.url}${target}`,
      { method: incoming.method, headers: incoming.headers, ca: api.ca, agent: false },
      (answer) => {
        const asked = `${incoming.method} ${target}`;
        const held = proxy.hold(asked);
        if (held === undefined) give(answer, asked, response);
        else void held.then(() => give(answer, asked, response));
      },
    );
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  const give = (answer: IncomingMessage, asked: string, response: ServerResponse): void => {
    const target = asked.slice(asked.indexOf(' ') + 1);
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    response.flushHeaders();
    if (answer.statusCode === 403 || answer.statusCode === 422) {
      let said = '';
      answer.on('data', (chunk: Buffer) => (said += chunk.toString()));
      answer.on('end', () => forbidden.push(`${asked}: ${said}`));
    }
    if (!target.includes('watch=1')) {
      answer.pipe(response);
      return;
    }
    let rest = '';
    let before: Promise<void> = Promise.resolve();
    const inTurn = (act: () => void, late = 0): void => {
      before = before.then(() => (late > 0 ? sleep(late) : undefined)).then(act);
    };
    answer.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      inTurn(() => {
        for (const line of lines)
          for (const changed of proxy.mangle(line)) response.write(`${changed}\n`);
      }, proxy.lag());
    });
    answer.on('end', () => inTurn(() => response.end())).on('error', () => response.destroy());
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const proxy: ApiProxy = {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    forbidden,
    cut: () => server.closeAllConnections(),
    mangle: (line) => [line],
    lag: () => 0,
    intercept: () => false,
    hold: () => undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}

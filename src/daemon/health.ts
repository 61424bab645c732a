/** The daemon's HTTP side: /metrics for Prometheus, /healthz (alive) and /readyz (its zone is programmed). */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { ConfigurationError } from './configuration.ts';

export interface HealthOptions {
  /** `HOST:PORT`; port 0 takes a free one; empty serves nothing. */
  readonly address: string;
  readonly registry: Registry;
  /** Why the daemon is not ready, or undefined when it is. */
  readonly notReady: () => string | undefined;
}

export interface HealthServer extends AsyncDisposable {
  /** `http://127.0.0.1:9476`. */
  readonly url: string;
}

/** Starts to serve; rejects with a ConfigurationError when the address can't be used. */
export async function serveHealth(options: HealthOptions): Promise<HealthServer> {
  const { host, port } = parseBindAddress(options.address);
  const server = createServer((request, response) => {
    const answer = (status: number, body: string, type = 'text/plain; charset=utf-8'): void => {
      response.writeHead(status, { 'content-type': type }).end(body);
    };
    switch (request.url) {
      case '/healthz':
        answer(200, 'ok\n');
        break;
      case '/readyz': {
        const reason = options.notReady();
        answer(reason === undefined ? 200 : 503, `${reason ?? 'ok'}\n`);
        break;
      }
      case '/metrics':
        options.registry.metrics().then(
          (text) => answer(200, text, options.registry.contentType),
          (error: unknown) => answer(500, `${String(error)}\n`),
        );
        break;
      default:
        answer(404, 'known: /metrics, /healthz, /readyz\n');
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new ConfigurationError('--metrics-bind-address', `${options.address}: ${error.message}`),
      ),
    );
    server.listen(port, host, resolve);
  });
  const bound = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

/** `HOST:PORT`, `[IPV6]:PORT` or `:PORT`; throws a ConfigurationError that names `option`. */
export function parseBindAddress(
  address: string,
  option = '--metrics-bind-address',
): { host: string; port: number } {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(address);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535)
    throw new ConfigurationError(
      option,
      `"${address}" is not HOST:PORT such as 127.0.0.1:9476 or [::1]:9476`,
    );
  return { host: match[1] ?? (match[2] || '0.0.0.0'), port };
}

/**
 * The daemon's HTTP side: /metrics for Prometheus, /healthz (alive) and /readyz (its zone is programmed). Metrics name networks: beyond
 * loopback they are for those alone whom the API server lets in, and go over TLS, which bearer tokens need.
 */
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import type { Registry } from 'prom-client';
import { isLoopback, parseBindAddress } from './bind-address.ts';
import { limitConnections } from './connection-limit.ts';
import { ConfigurationError } from './configuration-error.ts';

import type { Logger } from './logger.ts';
import type { Verdict } from './metrics-access.ts';
import { selfSigned, type TlsIdentity } from './self-signed.ts';
import { errorText } from '../api/error-text.ts';

/** Where a daemon serves its metrics. */
export interface MetricsServing {
  /** `HOST:PORT`; no host: all addresses; port 0 takes a free one. */
  readonly address: string;
  /** Files (PEM), both or none; without them a certificate is made at each start where one is needed. */
  readonly certificate?: string;
  readonly privateKey?: string;
}

/** What a daemon is not ready for; never the name of an object: anybody may ask. */
export type ReadinessCheck =
  | 'start'
  | 'objects'
  | 'northbound'
  | 'southbound'
  | 'open-vswitch'
  | 'allocations'
  | 'zone'
  | 'host'
  | 'data-plane'
  | 'cni'
  | 'tunnels';

export interface HealthOptions {
  readonly serving: MetricsServing;
  readonly registry: Pick<Registry, 'contentType' | 'metrics'>;
  readonly log: Pick<Logger, 'warn'>;
  /** The check that fails, or undefined when the daemon is ready. */
  readonly notReady: () => ReadinessCheck | undefined;
  /** The loop of the daemon that hangs, if one does: the daemon is ended then, and started again. */
  readonly hung?: () => string | undefined;
  /** Judges an `Authorization` header; undefined where there is nobody to ask: then only loopback is served. */
  readonly judge: ((authorization: string | undefined) => Promise<Verdict>) | undefined;
}

export interface HealthServer extends AsyncDisposable {
  /** `http://127.0.0.1:9476`. */
  readonly url: string;
}

/** Anybody may connect: of more than these the oldest goes, so that who holds many keeps nobody out. */
const MOST_CONNECTIONS = 64;
/** Milliseconds for a TLS handshake, and for a request. */
const REQUEST_LIMIT = 10_000;
/** How often the files of a certificate are looked at. */
const REREAD = 60_000;
/** Of a certificate that nobody can verify anyway: a token's way to us is what it keeps from listeners. */
const SELF_SIGNED_DAYS = 3650;

const REFUSALS: Readonly<Record<Exclude<Verdict, 'allowed'>, readonly [number, string]>> = {
  unauthenticated: [401, 'metrics need a bearer token that the API server knows'],
  forbidden: [
    403,
    'who has this token may not get /metrics: bind ClusterRole heddle-metrics-reader',
  ],
  busy: [429, 'too many new tokens'],
  unavailable: [503, 'the API server could not be asked who may read metrics'],
};

/** Starts to serve; rejects with a ConfigurationError when the address or the certificate can't be used. */
export async function serveHealth(options: HealthOptions): Promise<HealthServer> {
  const { serving, judge, log } = options;
  const { host, port } = parseBindAddress(serving.address);
  const isOpen = !isLoopback(host);
  if (isOpen && judge === undefined)
    throw new ConfigurationError(
      '--metrics-bind-address',
      `${serving.address} is more than loopback, and without an API server nobody says who may read metrics, which name all networks: bind 127.0.0.1 or [::1], and let a proxy in front ask for a password`,
    );
  const isTls = isOpen || serving.certificate !== undefined;
  const server = isTls
    ? createHttpsServer({
        handshakeTimeout: REQUEST_LIMIT,
        ...secureContext(await identity(serving)),
      })
    : createHttpServer();
  server.headersTimeout = REQUEST_LIMIT;
  server.requestTimeout = REQUEST_LIMIT;
  server.on('request', (request, response) => {
    void answer(request, options, isOpen).then(({ status, body, type, headers }) => {
      response.writeHead(status, {
        'content-type': type ?? 'text/plain; charset=utf-8',
        ...headers,
      });
      response.end(request.method === 'HEAD' ? undefined : body);
      return undefined;
    });
  });
  const connections = limitConnections(server, MOST_CONNECTIONS);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new ConfigurationError('--metrics-bind-address', `${serving.address}: ${error.message}`),
      ),
    );
    server.listen(port, host, resolve);
  });
  const renewing =
    serving.certificate === undefined ? undefined : renewed(server as HttpsServer, serving, log);
  const bound = server.address() as AddressInfo;
  const named = host === '' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return {
    url: `http${isTls ? 's' : ''}://${named}:${bound.port}`,
    async [Symbol.asyncDispose]() {
      clearInterval(renewing);
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      for (const socket of connections) socket.destroy();
      await closed;
    },
  };
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Never rejects. */
async function answer(
  { url, method, headers }: IncomingMessage,
  { registry, notReady, hung, judge, log }: HealthOptions,
  isOpen: boolean,
): Promise<Answer> {
  if (method !== 'GET' && method !== 'HEAD')
    return { status: 405, body: 'GET alone\n', headers: { allow: 'GET, HEAD' } };
  switch (url?.split('?')[0]) {
    case '/healthz': {
      const loop = hung?.();
      return loop === undefined
        ? { status: 200, body: 'ok\n' }
        : { status: 503, body: `a pass of the daemon hangs: ${loop}\n` };
    }
    case '/readyz': {
      const check = notReady();
      return check === undefined
        ? { status: 200, body: 'ok\n' }
        : {
            status: 503,
            body: `not ready: ${check}; the daemon's log and heddle status say why\n`,
          };
    }
    case '/metrics': {
      const verdict =
        isOpen && judge !== undefined ? await judge(headers.authorization) : 'allowed';
      if (verdict !== 'allowed') {
        const [status, why] = REFUSALS[verdict];
        return {
          status,
          body: `${why}\n`,
          ...(status === 401 ? { headers: { 'www-authenticate': 'Bearer' } } : {}),
        };
      }
      try {
        return { status: 200, body: await registry.metrics(), type: registry.contentType };
      } catch (error) {
        log.warn({ component: 'metrics', error }, 'metrics could not be collected');
        return { status: 500, body: 'metrics could not be collected; the log says why\n' };
      }
    }
    default:
      return { status: 404, body: 'known: /metrics, /healthz, /readyz\n' };
  }
}

async function identity({ certificate, privateKey }: MetricsServing): Promise<TlsIdentity> {
  if (certificate === undefined || privateKey === undefined)
    return selfSigned('metrics', hostname(), SELF_SIGNED_DAYS);
  const read = (option: string, file: string): Promise<string> =>
    readFile(file, 'utf8').catch((error: unknown) => {
      throw new ConfigurationError(option, `${file}: ${errorText(error)}`);
    });
  return {
    certificate: await read('--metrics-certificate', certificate),
    key: await read('--metrics-private-key', privateKey),
  };
}

const secureContext = ({ certificate, key }: TlsIdentity): { cert: string; key: string } => ({
  cert: certificate,
  key,
});

/** Takes up a certificate that was replaced in its files; one that can't be used leaves the old one. */
function renewed(
  server: HttpsServer,
  serving: MetricsServing,
  log: HealthOptions['log'],
): NodeJS.Timeout {
  let complaint: string | undefined;
  const reread = async (): Promise<void> => {
    try {
      server.setSecureContext(secureContext(await identity(serving)));
      complaint = undefined;
    } catch (error) {
      if (errorText(error) !== complaint)
        log.warn({ component: 'metrics', error }, 'the certificate could not be read again');
      complaint = errorText(error);
    }
  };
  return setInterval(() => void reread(), REREAD).unref();
}

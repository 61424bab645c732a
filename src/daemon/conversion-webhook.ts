/** Converts UserDefinedNetworks and ClusterUserDefinedNetworks between their versions for the API server. */
import { createServer } from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerConversionReview } from '../api/conversion/conversion-review.ts';
import { backoffDelay, pause, type Clock } from '../store/clock.ts';
import { definitions } from '../api/validation/catalog.ts';
import type { Store } from '../store/store.ts';
import type { TlsIdentity } from './self-signed.ts';
import { publishAuthority, sharedIdentity } from './webhook-certificate.ts';

export interface ConversionWebhookOptions {
  readonly store: Pick<Store, 'get' | 'create' | 'patch'>;
  /** Address to listen at, empty for all; port 0 takes a free one. */
  readonly host: string;
  readonly port: number;
  /** Name that the API server calls us by: `heddle-cluster.heddle.svc`. */
  readonly name: string;
  /** Namespace of the Secret that the replicas share their certificate through. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called when the certificate or the definitions could not be reconciled; that is retried. */
  readonly onFailure: (error: unknown) => void;
}

export interface ConversionWebhook extends AsyncDisposable {
  readonly port: number;
}

/** Definitions that convert through us. */
const CONVERTED = definitions
  .filter(({ spec }) => spec.conversion?.webhook !== undefined)
  .map(({ metadata }) => metadata.name);

/** The Service that the definitions name: the API server reaches us through it. */
export function conversionService(): { readonly name: string; readonly namespace: string } {
  for (const { spec } of definitions) {
    const { service } = spec.conversion?.webhook?.clientConfig ?? {};
    if (service !== undefined) return service;
  }
  throw new Error('no definition in schemas/crds has a conversion webhook');
}

/** Between reconciles of certificate and definitions, in milliseconds. */
const INTERVAL = 60_000;
const BACKOFF = { first: 1000, longest: INTERVAL };
/** A list of all networks may be converted in one review. */
const LARGEST_REVIEW = 64 * 1024 * 1024;

/** Serves until disposed; resolves when the port is open and the API server knows the certificate. */
export async function serveConversions(
  options: ConversionWebhookOptions,
  signal: AbortSignal,
): Promise<ConversionWebhook> {
  const { store, namespace, name: host, clock, random } = options;
  const stop = new AbortController();
  const until = AbortSignal.any([signal, stop.signal]);
  const lookAfter = async (): Promise<TlsIdentity> => {
    const identity = await sharedIdentity(store, { namespace, host, now: clock.now() }, until);
    await publishAuthority(store, CONVERTED, identity.certificate, until);
    return identity;
  };
  let failures = 0;
  const tried = async (): Promise<TlsIdentity | undefined> => {
    try {
      const identity = await lookAfter();
      failures = 0;
      return identity;
    } catch (error) {
      if (until.aborted) return undefined;
      failures += 1;
      options.onFailure(error);
      return undefined;
    }
  };
  const wait = (): Promise<void> =>
    pause(clock, failures === 0 ? INTERVAL : backoffDelay(BACKOFF, failures, random), until);

  let identity = await tried();
  while (identity === undefined) {
    await wait();
    until.throwIfAborted();
    identity = await tried();
  }
  const server = createServer(
    { cert: identity.certificate, key: identity.key },
    (request, response) => {
      void answer(request).then(([status, body]) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(body);
        return undefined;
      });
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  const maintaining = (async () => {
    for (;;) {
      await wait();
      if (until.aborted) return;
      const current = await tried();
      if (current !== undefined && current.certificate !== identity.certificate) {
        server.setSecureContext({ cert: current.certificate, key: current.key });
        identity = current;
      }
    }
  })();
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      stop.abort();
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      await maintaining;
    },
  };
}

/** Status and body of the answer to one request; never rejects. */
async function answer(request: IncomingMessage): Promise<readonly [number, string]> {
  const refuse = (status: number, message: string): readonly [number, string] => [
    status,
    JSON.stringify({ message }),
  ];
  if (request.method !== 'POST' || request.url?.split('?')[0] !== '/convert')
    return refuse(404, 'known: POST /convert');
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > LARGEST_REVIEW) return refuse(413, `more than ${LARGEST_REVIEW} bytes`);
      chunks.push(chunk);
    }
    const review = answerConversionReview(JSON.parse(Buffer.concat(chunks).toString('utf8')));
    return review === undefined
      ? refuse(400, 'the body is no ConversionReview')
      : [200, JSON.stringify(review)];
  } catch (error) {
    return refuse(400, error instanceof Error ? error.message : String(error));
  }
}

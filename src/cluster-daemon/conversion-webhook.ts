/** Converts UserDefinedNetworks and ClusterUserDefinedNetworks between their versions for the API server. */
import { Worker } from 'node:worker_threads';
import { errorText } from '../api/error-text.ts';
import { backoffDelay } from '../store/backoff.ts';
import { pause, type Clock } from '../store/clock.ts';
import { definitions } from '../api/validation/catalog.ts';
import type { Store } from '../store/store.ts';
import type { ServerData, ServerMessage } from './conversion-server.ts';
import type { TlsIdentity } from '../process/self-signed.ts';
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
  /** Called when the certificate or the definitions could not be reconciled, once for each reason; that is retried. */
  readonly onFailure: (error: unknown) => void;
  readonly timing?: ConversionTiming;
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

/** Milliseconds. */
interface ConversionTiming {
  /** Between reconciles of certificate and definitions. */
  readonly interval: number;
  /** From the moment when definitions name a new certificate until it is shown: API servers have to read it. */
  readonly beforeSwitch: number;
  /** For which definitions name an old certificate beside the new one: other replicas show it until they read that. */
  readonly overlap: number;
}

const TIMING: ConversionTiming = { interval: 60_000, beforeSwitch: 30_000, overlap: 300_000 };
const FIRST_RETRY = 1000;
/** A review of the largest size has a few times that as values. */
const HEAP_MIB = 512;
/** Milliseconds until a server that ended is started again. */
const RESTART = 500;

/** The server's thread; one that ended, as it had no memory left, is started again. */
class ConversionServer implements AsyncDisposable {
  readonly #options: ConversionWebhookOptions;
  #identity: TlsIdentity;
  #worker: Worker | undefined;
  #port: number;
  readonly #stop = new AbortController();

  private constructor(options: ConversionWebhookOptions, identity: TlsIdentity) {
    this.#options = options;
    this.#identity = identity;
    this.#port = options.port;
  }

  /** Resolves when the port is open; rejects when it can't be. */
  static async start(
    options: ConversionWebhookOptions,
    identity: TlsIdentity,
  ): Promise<ConversionServer> {
    const server = new ConversionServer(options, identity);
    await server.#start();
    return server;
  }

  get port(): number {
    return this.#port;
  }

  get identity(): TlsIdentity {
    return this.#identity;
  }

  /** Shows another certificate from now on. */
  show(identity: TlsIdentity): void {
    this.#identity = identity;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#worker?.postMessage(identity);
  }

  async #start(): Promise<void> {
    const { host } = this.#options;
    const data: ServerData = { host, port: this.#port, identity: this.#identity };
    // Beside this file, whether it is the source or what a build made of it.
    const file = `./conversion-server${import.meta.url.slice(import.meta.url.lastIndexOf('.'))}`;
    const worker = new Worker(new URL(file, import.meta.url), {
      workerData: data,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
    });
    worker.on('error', (error) => this.#options.onFailure(error));
    worker.once('exit', () => this.#ended(worker));
    this.#worker = worker;
    const opened = Promise.withResolvers<void>();
    worker.once('exit', () => opened.reject(new Error('the conversion server ended')));
    worker.on('message', (message: ServerMessage) => {
      if (message.kind === 'listening') {
        this.#port = message.port;
        opened.resolve();
      } else opened.reject(new Error(`conversion webhook: ${message.message}`));
    });
    await opened.promise;
  }

  #ended(worker: Worker): void {
    if (this.#worker !== worker || this.#stop.signal.aborted) return;
    this.#worker = undefined;
    const { clock, onFailure } = this.#options;
    void pause(clock, RESTART, this.#stop.signal)
      .then(() => (this.#stop.signal.aborted ? undefined : this.#start()))
      .catch(onFailure);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#worker?.terminate();
  }
}

/** Serves until disposed; resolves when the port is open and the API server knows the certificate. */
export async function serveConversions(
  options: ConversionWebhookOptions,
  signal: AbortSignal,
): Promise<ConversionWebhook> {
  const { store, namespace, name: host, clock, random, timing = TIMING } = options;
  const stop = new AbortController();
  const until = AbortSignal.any([signal, stop.signal]);
  const backoff = { first: Math.min(FIRST_RETRY, timing.interval), longest: timing.interval };
  let server: ConversionServer | undefined;
  let shownSince = clock.monotonic();
  /** Sees to it that a certificate is trusted before it is shown, and as long as some replica may show it. */
  const lookAfter = async (): Promise<TlsIdentity> => {
    const identity = await sharedIdentity(store, { namespace, host, now: clock.now() }, until);
    const isShown = server?.identity.certificate === identity.certificate;
    const isAlone = isShown && clock.monotonic() - shownSince >= timing.overlap;
    await publishAuthority(
      store,
      CONVERTED,
      { certificate: identity.certificate, isAlone, now: clock.now() },
      until,
    );
    if (server !== undefined && !isShown) {
      await pause(clock, timing.beforeSwitch, until);
      until.throwIfAborted();
      server.show(identity);
      shownSince = clock.monotonic();
    }
    return identity;
  };
  let failures = 0;
  let told: string | undefined;
  const tried = async (): Promise<TlsIdentity | undefined> => {
    try {
      const identity = await lookAfter();
      failures = 0;
      told = undefined;
      return identity;
    } catch (error) {
      if (until.aborted) return undefined;
      failures += 1;
      const text = errorText(error);
      if (text !== told) options.onFailure(error);
      told = text;
      return undefined;
    }
  };
  const wait = (): Promise<void> =>
    pause(clock, failures === 0 ? timing.interval : backoffDelay(backoff, failures, random), until);

  let identity = await tried();
  while (identity === undefined) {
    await wait();
    until.throwIfAborted();
    identity = await tried();
  }
  const running = await ConversionServer.start(options, identity);
  server = running;
  shownSince = clock.monotonic();
  const maintaining = (async () => {
    for (;;) {
      await wait();
      if (until.aborted) return;
      await tried();
    }
  })();
  return {
    get port() {
      return running.port;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running[Symbol.asyncDispose]();
      await maintaining;
    },
  };
}

/**
 * Leadership by a coordination.k8s.io/v1 Lease. How old it is each candidate tells by when it saw it change, on its own monotonic clock:
 * clocks of machines may differ and be set. What is written of the time of day is for people.
 */
import { LEASES, microTime, type Lease } from '../../api/node-lease.ts';
import { pause, type Clock } from '../clock.ts';
import { isRetryable, StoreError, type Leadership, type Store } from '../store.ts';

/** All in milliseconds; lease > renew > retry. */
export interface LeaseTiming {
  /** Others take over when the lease was not renewed for this long. */
  readonly lease: number;
  /** The leader steps down when it could not renew for this long. */
  readonly renew: number;
  readonly retry: number;
}

/** As Kubernetes' own components have it. ovn-kubernetes takes 137, 107 and 26 s (reference/api.md §12), which outlast an API server that restarts. */
export const LEASE_TIMING: LeaseTiming = { lease: 15_000, renew: 10_000, retry: 2000 };

/** Longest time, in milliseconds, between two polls of a candidate: a leader that steps down is replaced within it. */
const LOOK = 1000;

/** With fewer milliseconds left than these there is no other attempt. */
const LAST_ATTEMPT = 200;

export interface Candidate {
  readonly store: Pick<Store, 'get' | 'create' | 'patch'>;
  readonly namespace: string;
  readonly name: string;
  /** Unique among the candidates. */
  readonly identity: string;
  readonly timing: LeaseTiming;
  readonly clock: Clock;
}

/** One life of a candidate: waits, leads, gives up. */
class Election {
  readonly #candidate: Candidate;
  /** The lease as last seen, and when it was first seen so. */
  #observed: { readonly version: string | undefined; readonly at: number } | undefined;
  /** Version of the lease as we wrote it last: while nobody else writes, it is renewed by one request. */
  #written: string | undefined;

  constructor(candidate: Candidate) {
    this.#candidate = candidate;
  }

  /** True when the lease is ours now. Rejects when that can't be known. */
  async attempt(signal: AbortSignal | undefined): Promise<boolean> {
    if (this.#written === undefined) return this.#lookAndTake(signal);
    try {
      await this.#write(this.#written, {}, signal);
      return true;
    } catch (error) {
      if (!(error instanceof StoreError) || !['conflict', 'not-found'].includes(error.code))
        throw error;
      // Somebody wrote it: perhaps we did, by a request whose answer was lost.
      this.#written = undefined;
      return this.#lookAndTake(signal);
    }
  }

  get #key(): string {
    const { namespace, name } = this.#candidate;
    return `${namespace}/${name}`;
  }

  #mine(): NonNullable<Lease['spec']> {
    const { identity, clock, timing } = this.#candidate;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(timing.lease / 1000),
      renewTime: microTime(clock.now()),
    };
  }

  async #write(
    version: string | undefined,
    taken: NonNullable<Lease['spec']>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { store, identity } = this.#candidate;
    const written = await store.patch(
      LEASES,
      this.#key,
      { spec: { ...this.#mine(), ...taken } },
      {
        fieldManager: identity,
        ...(signal === undefined ? {} : { signal }),
        ...(version === undefined ? {} : { resourceVersion: version }),
      },
    );
    this.#written = written.metadata.resourceVersion;
  }

  async #lookAndTake(signal: AbortSignal | undefined): Promise<boolean> {
    const { store, namespace, name, identity, clock } = this.#candidate;
    const lease = await store.get(LEASES, this.#key, signal);
    // After the answer: what it shows may have been written while it was on its way.
    const [now, today] = [clock.monotonic(), clock.now()];
    if (lease === undefined) {
      const { apiVersion, kind } = LEASES;
      const spec = { ...this.#mine(), acquireTime: microTime(today), leaseTransitions: 0 };
      const created = await store.create(
        LEASES,
        { apiVersion, kind, metadata: { name, namespace }, spec },
        { fieldManager: identity, ...(signal === undefined ? {} : { signal }) },
      );
      this.#written = created.metadata.resourceVersion;
      return true;
    }
    const { resourceVersion: version } = lease.metadata;
    if (this.#observed === undefined || this.#observed.version !== version)
      this.#observed = { version, at: now };
    const {
      holderIdentity: holder = '',
      leaseDurationSeconds,
      leaseTransitions = 0,
    } = lease.spec ?? {};
    const life = Math.max((leaseDurationSeconds ?? 0) * 1000, holder === '' ? 0 : 1000);
    if (holder !== '' && holder !== identity && now - this.#observed.at < life) return false;
    const taken =
      holder === identity
        ? {}
        : { acquireTime: microTime(today), leaseTransitions: leaseTransitions + 1 };
    await this.#write(version, taken, signal);
    return true;
  }

  /** Lets the next one begin without waiting for the lease to run out. */
  async giveUp(): Promise<void> {
    const { store, namespace, name, identity } = this.#candidate;
    const key = `${namespace}/${name}`;
    const lease = await store.get(LEASES, key);
    const version = lease?.metadata.resourceVersion;
    if (lease?.spec?.holderIdentity !== identity || version === undefined) return;
    const spec = { holderIdentity: '', leaseDurationSeconds: 1 };
    await store.patch(LEASES, key, { spec }, { fieldManager: identity, resourceVersion: version });
  }
}

/** True when an attempt failed in a way that the next one may not. */
const isPassing = (error: unknown): boolean =>
  isRetryable(error) || (error instanceof StoreError && error.code === 'already-exists');

/** Resolves when `candidate` leads; rejects when `signal` aborts first or leading is not allowed. */
export async function leadByLease(
  candidate: Candidate,
  signal: AbortSignal,
  onWaiting: () => void = () => undefined,
): Promise<Leadership> {
  const { clock, timing, name } = candidate;
  const election = new Election(candidate);
  let since = clock.monotonic();
  const isLeader = async (): Promise<boolean> => {
    since = clock.monotonic();
    try {
      const isOurs = await election.attempt(signal);
      if (!isOurs) onWaiting();
      return isOurs;
    } catch (error) {
      signal.throwIfAborted();
      if (isPassing(error)) return false;
      throw error;
    }
  };
  while (!(await isLeader())) {
    await pause(clock, Math.min(timing.retry, LOOK), signal);
    signal.throwIfAborted();
  }
  const lost = new AbortController();
  const stop = new AbortController();
  const renewal = new Renewal(election, candidate, since);
  const renewing = renewal.run(stop.signal).then((reason) => lost.abort(reason));
  return {
    signal: lost.signal,
    assert() {
      if (renewal.left <= 0) lost.abort(renewal.late);
      lost.signal.throwIfAborted();
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await renewing;
      lost.abort(new StoreError('unavailable', `${name}: leadership was given up`));
      // Best effort: without it the others wait for the lease to run out.
      await election.giveUp().catch(() => undefined);
    },
  };
}

/** Keeps a lease that was just taken. */
class Renewal {
  readonly #election: Election;
  readonly #candidate: Candidate;
  #renewed: number;

  constructor(election: Election, candidate: Candidate, since: number) {
    this.#election = election;
    this.#candidate = candidate;
    this.#renewed = since;
  }

  /** Milliseconds for which leadership is certain. */
  get left(): number {
    const { clock, timing } = this.#candidate;
    return timing.renew - (clock.monotonic() - this.#renewed);
  }

  /** Milliseconds until the next attempt: where little time is left, half of it is for that attempt. */
  get #wait(): number {
    const left = Math.max(this.left, 0);
    return Math.min(this.#candidate.timing.retry, left < LAST_ATTEMPT ? left : left / 2);
  }

  get late(): StoreError {
    const { name, timing } = this.#candidate;
    const seconds = timing.renew / 1000;
    return new StoreError(
      'unavailable',
      `${name}: leadership is lost: the lease could not be renewed for ${seconds} s`,
    );
  }

  /** Renews until stopped or until the lease is lost; resolves with the reason. */
  async run(stop: AbortSignal): Promise<StoreError> {
    const { clock, timing, name } = this.#candidate;
    for (;;) {
      await pause(clock, this.#wait, stop);
      if (stop.aborted) return new StoreError('unavailable', `${name}: leadership was given up`);
      if (this.left <= 0) return this.late;
      const began = clock.monotonic();
      try {
        const limit = new AbortController();
        // A request that gets no answer leaves time for another one.
        const longest = Math.min(this.left, timing.renew / 2);
        const cancel = clock.after(longest, () => limit.abort(this.late));
        try {
          const kept = await this.#election.attempt(AbortSignal.any([limit.signal, stop]));
          if (!kept)
            return new StoreError('conflict', `${name}: leadership is lost: another one has it`);
          this.#renewed = began;
        } finally {
          cancel();
        }
      } catch (error) {
        if (!isPassing(error) && !stop.aborted && this.left > 0 && error instanceof StoreError)
          return error;
      }
    }
  }
}

/**
 * Leadership by a coordination.k8s.io/v1 Lease. How old it is each candidate tells by when it saw it change, on its own monotonic clock:
 * clocks of machines may differ and be set. What is written of the time of day is for people.
 */
import { errorText } from '../../api/error-text.ts';
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

/** Milliseconds: an API server that begins refuses everybody until it has read its roles. */
const ROLES_READ = 30_000;

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
  /** The lease as we wrote it last. */
  lease: Lease | undefined;
  /** A write of ours that may be done: its answer did not come in time. */
  #unanswered:
    | { readonly version: string | undefined; readonly renewTime: string; readonly began: number }
    | undefined;

  constructor(candidate: Candidate) {
    this.#candidate = candidate;
  }

  /**
   * From when on the lease is ours for its whole duration, on the monotonic clock: a moment before it was written. Undefined when another
   * one has it; rejects when that can't be known.
   */
  async attempt(signal: AbortSignal): Promise<number | undefined> {
    if (this.#written === undefined) return this.#lookAndTake(signal);
    try {
      return await this.#write(this.#written, {}, signal);
    } catch (error) {
      if (signal.aborted) this.#written = undefined;
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

  #mine(): NonNullable<Lease['spec']> & { readonly renewTime: string } {
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
    signal: AbortSignal,
  ): Promise<number> {
    const { store, identity, clock } = this.#candidate;
    const began = clock.monotonic();
    const mine = this.#mine();
    this.#unanswered = { version, renewTime: mine.renewTime, began };
    const written = await store
      .patch(
        LEASES,
        this.#key,
        { spec: { ...mine, ...taken } },
        {
          fieldManager: identity,
          signal,
          ...(version === undefined ? {} : { resourceVersion: version }),
        },
      )
      .catch((error: unknown) => {
        if (!signal.aborted) this.#unanswered = undefined;
        throw error;
      });
    this.#unanswered = undefined;
    this.lease = written;
    this.#written = written.metadata.resourceVersion;
    return began;
  }

  async #lookAndTake(signal: AbortSignal): Promise<number | undefined> {
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
        { fieldManager: identity, signal },
      );
      this.lease = created;
      this.#written = created.metadata.resourceVersion;
      return now;
    }
    const { resourceVersion: version } = lease.metadata;
    if (this.#observed === undefined || this.#observed.version !== version)
      this.#observed = { version, at: now };
    const {
      holderIdentity: holder = '',
      leaseDurationSeconds,
      leaseTransitions = 0,
      renewTime,
    } = lease.spec ?? {};
    const life = Math.max((leaseDurationSeconds ?? 0) * 1000, holder === '' ? 0 : 1000);
    if (holder !== '' && holder !== identity && now - this.#observed.at < life) return undefined;
    const sent = this.#unanswered;
    if (
      sent !== undefined &&
      holder === identity &&
      renewTime === sent.renewTime &&
      version !== sent.version
    ) {
      this.#unanswered = undefined;
      this.lease = lease;
      this.#written = version;
      return sent.began;
    }
    const taken =
      holder === identity
        ? {}
        : { acquireTime: microTime(today), leaseTransitions: leaseTransitions + 1 };
    return this.#write(version, taken, signal);
  }

  /** Lets the next one begin without waiting for the lease to run out. */
  async giveUp(signal: AbortSignal): Promise<void> {
    const { store, identity } = this.#candidate;
    const key = this.#key;
    const lease = await store.get(LEASES, key, signal);
    const version = lease?.metadata.resourceVersion;
    if (lease?.spec?.holderIdentity !== identity || version === undefined) return;
    const spec = { holderIdentity: '', leaseDurationSeconds: 1 };
    const write = { fieldManager: identity, resourceVersion: version, signal };
    await store.patch(LEASES, key, { spec }, write);
  }
}

const isOf = (error: unknown, code: StoreError['code']): boolean =>
  error instanceof StoreError && error.code === code;

/** True when an attempt failed in a way that the next one may not. */
const isPassing = (error: unknown): boolean => isRetryable(error) || isOf(error, 'already-exists');

/** What `act` resolves with; its signal aborts with `signal`, and `longest` milliseconds after the start. */
async function within<T>(
  { clock, name }: Candidate,
  longest: number,
  signal: AbortSignal | undefined,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  // In a process that was busy or stood still timers come before sockets: an answer that is here by then counts.
  const cancel = clock.after(longest, () =>
    setImmediate(() => {
      const seconds = longest / 1000;
      limit.abort(new StoreError('unavailable', `Lease ${name}: no answer within ${seconds} s`));
    }),
  );
  try {
    return await act(signal === undefined ? limit.signal : AbortSignal.any([limit.signal, signal]));
  } finally {
    cancel();
  }
}

/** Resolves when `candidate` leads; rejects when `signal` aborts first, or leading is not allowed and was not for a while. */
export async function leadByLease(
  candidate: Candidate,
  signal: AbortSignal,
  onWaiting: () => void = () => undefined,
  onFailure: (error: unknown) => void = () => undefined,
): Promise<Leadership> {
  const { clock, timing, name } = candidate;
  const election = new Election(candidate);
  let forbiddenSince: number | undefined;
  const maySoon = (error: unknown): boolean => {
    if (!isOf(error, 'forbidden')) {
      forbiddenSince = undefined;
      return isPassing(error);
    }
    forbiddenSince ??= clock.monotonic();
    return clock.monotonic() - forbiddenSince < ROLES_READ;
  };
  const attempt = async (): Promise<number | undefined> => {
    try {
      // What takes longer is late as soon as it is done.
      const since = await within(candidate, timing.renew, signal, (until) =>
        election.attempt(until),
      );
      if (since === undefined) onWaiting();
      return since;
    } catch (error) {
      signal.throwIfAborted();
      if (!maySoon(error)) throw error;
      onFailure(error);
      return undefined;
    }
  };
  let since = await attempt();
  while (since === undefined) {
    await pause(clock, Math.min(timing.retry, LOOK), signal);
    signal.throwIfAborted();
    since = await attempt();
  }
  const lost = new AbortController();
  const stop = new AbortController();
  const renewal = new Renewal(election, candidate, since);
  // A process that wakes up past the deadline learns it before its sockets send what waits for them.
  const expire = (): void => {
    if (renewal.left <= 0) lost.abort(renewal.late);
    else cancelExpiry = clock.after(renewal.left, expire);
  };
  let cancelExpiry = clock.after(renewal.left, expire);
  const renewing = renewal.run(stop.signal).then((reason) => lost.abort(reason));
  return {
    signal: lost.signal,
    lease: election.lease,
    assert() {
      if (renewal.left <= 0) lost.abort(renewal.late);
      lost.signal.throwIfAborted();
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      cancelExpiry();
      await renewing;
      lost.abort(new StoreError('unavailable', `${name}: leadership was given up`));
      // Best effort: without it the others wait for the lease to run out. One that was late has little left of it by then.
      await within(candidate, timing.lease - timing.renew, undefined, (until) =>
        election.giveUp(until),
      ).catch(() => undefined);
    },
  };
}

/** Keeps a lease that was just taken. */
class Renewal {
  readonly #election: Election;
  readonly #candidate: Candidate;
  #renewed: number;
  /** Why the last attempt failed, if it did. */
  #failure: string | undefined;

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

  /** Milliseconds until the attempt after one that began then, however long that took: where little time is left, half of it is for the next one. */
  #wait(began: number): number {
    const { clock, timing } = this.#candidate;
    const left = Math.max(this.left, 0);
    const due = Math.max(timing.retry - (clock.monotonic() - began), 0);
    return left < LAST_ATTEMPT ? left : Math.min(due, left / 2);
  }

  get late(): StoreError {
    const { name, timing } = this.#candidate;
    const seconds = timing.renew / 1000;
    return new StoreError(
      'unavailable',
      `${name}: leadership is lost: the lease could not be renewed for ${seconds} s${this.#failure === undefined ? '' : `: ${this.#failure}`}`,
    );
  }

  /** Renews until stopped or until the lease is lost; resolves with the reason. */
  async run(stop: AbortSignal): Promise<StoreError> {
    const { clock, timing, name } = this.#candidate;
    for (let began = this.#renewed; ;) {
      await pause(clock, this.#wait(began), stop);
      if (stop.aborted) return new StoreError('unavailable', `${name}: leadership was given up`);
      if (this.left <= 0) return this.late;
      began = clock.monotonic();
      try {
        // A request that gets no answer leaves time for another one.
        const longest = Math.min(this.left, timing.renew / 2);
        const since = await within(this.#candidate, longest, stop, (until) =>
          this.#election.attempt(until),
        );
        if (since === undefined)
          return new StoreError('conflict', `${name}: leadership is lost: another one has it`);
        this.#renewed = since;
        this.#failure = undefined;
      } catch (error) {
        if (!stop.aborted) this.#failure = errorText(error);
        if (isPassing(error) || isOf(error, 'forbidden') || stop.aborted || this.left <= 0)
          continue;
        if (error instanceof StoreError) return error;
      }
    }
  }
}

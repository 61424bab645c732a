/** The life cycle of a connection to one of several remotes, without I/O: the caller passes the time and performs the effects. */

/** Milliseconds of a monotonic clock. */
export type Millis = number;

export interface LinkTiming {
  /** Pause after the first round of failures; doubles up to `maxBackoff`. */
  readonly minBackoff: Millis;
  readonly maxBackoff: Millis;
  /** How long an attempt to connect may take, with TLS the handshake included; does not count while we listen for the server. */
  readonly connectTimeout: Millis;
  /** Silence after which a probe is sent, and after which the connection is given up; 0: never. */
  readonly probeInterval: Millis;
}

/** Timing of the remote in use. */
export interface StepTiming extends LinkTiming {
  /** The server connects to us, when it likes: after a connection we listen again at once. */
  readonly isPassive?: boolean;
}

/** Defaults of Open vSwitch. */
export const DEFAULT_TIMING: LinkTiming = {
  minBackoff: 1000,
  maxBackoff: 8000,
  connectTimeout: 20_000,
  probeInterval: 5000,
};

interface Attempts {
  /** Tries left that need no pause: one for each remote. */
  readonly freeTries: number;
  readonly backoff: Millis;
}

interface Connected extends Attempts {
  readonly since: Millis;
  readonly lastHeard: Millis;
  /** The database was loaded. */
  readonly isSettled: boolean;
}

export type LinkState =
  | ({ readonly kind: 'waiting'; readonly until: Millis } & Attempts)
  | ({ readonly kind: 'connecting'; readonly since: Millis } & Attempts)
  | ({ readonly kind: 'active' } & Connected)
  | ({ readonly kind: 'probing'; readonly probedAt: Millis } & Connected)
  | { readonly kind: 'stopped' };

export type LinkInput =
  | { readonly kind: 'tick' }
  /** The transport is open. */
  | { readonly kind: 'opened' }
  /** Bytes arrived. */
  | { readonly kind: 'heard' }
  /** The database behind it is loaded: this remote is good. If it stays so for a while, later failures start counting anew. */
  | { readonly kind: 'settled' }
  /** The attempt or the connection failed. */
  | { readonly kind: 'failed' }
  /** Leave this remote for the next at once: it is not the leader any more. */
  | { readonly kind: 'move-on' }
  /** Somebody asked for a connection, or gave other remotes: no more waiting. */
  | { readonly kind: 'retry' }
  | { readonly kind: 'stop' };

export type LinkEffect = 'connect' | 'send-probe' | 'disconnect' | 'none';

/** Before the first attempt; `remotes` is how many there are to try without a pause. */
export const initialLink = (now: Millis, remotes: number): LinkState => ({
  kind: 'waiting',
  until: now,
  freeTries: remotes,
  backoff: 0,
});

const isConnected = (state: LinkState): state is Extract<LinkState, Connected> =>
  state.kind === 'active' || state.kind === 'probing';

/** One try more than there are remotes: the one that was just good may be tried again at once. */
const anew = (remotes: number): Attempts => ({ freeTries: remotes + 1, backoff: 0 });

/**
 * The back-off after a connection. One that was good for as long as the last pause resets it; a briefer one does not, or a server that ends after
 * each load would be connected to without end.
 */
function afterConnection(
  state: Connected,
  now: Millis,
  timing: StepTiming,
  remotes: number,
): Attempts {
  if (timing.isPassive === true) return anew(remotes);
  if (state.isSettled) {
    return now - state.since >= Math.max(timing.minBackoff, state.backoff) ? anew(remotes) : state;
  }
  return state.lastHeard - state.since >= state.backoff ? { ...state, backoff: 0 } : state;
}

function afterLoss(
  state: Exclude<LinkState, { readonly kind: 'stopped' | 'waiting' }>,
  now: Millis,
  timing: StepTiming,
  remotes: number,
): LinkState {
  const attempts = isConnected(state) ? afterConnection(state, now, timing, remotes) : state;
  return afterFailure(attempts, now, timing);
}

function afterFailure(state: Attempts, now: Millis, timing: LinkTiming): LinkState {
  if (state.freeTries > 1) {
    return { kind: 'waiting', until: now, freeTries: state.freeTries - 1, backoff: state.backoff };
  }
  const backoff = Math.min(Math.max(timing.minBackoff, state.backoff * 2), timing.maxBackoff);
  return { kind: 'waiting', until: now + backoff, freeTries: 0, backoff };
}

/** One step of the connection's life. `remotes`: how many there are now. Opens nothing: the caller performs the effect. */
export function step(
  state: LinkState,
  input: LinkInput,
  now: Millis,
  timing: StepTiming,
  remotes: number,
): [LinkState, LinkEffect] {
  if (state.kind === 'stopped') return [state, 'none'];
  switch (input.kind) {
    case 'stop':
      return [{ kind: 'stopped' }, state.kind === 'waiting' ? 'none' : 'disconnect'];
    case 'failed':
      return state.kind === 'waiting'
        ? [state, 'none']
        : [afterLoss(state, now, timing, remotes), 'disconnect'];
    case 'move-on': {
      if (state.kind === 'waiting') return [state, 'none'];
      const attempts =
        isConnected(state) && state.isSettled
          ? anew(remotes)
          : { freeTries: Math.max(state.freeTries, 2), backoff: state.backoff };
      return [afterFailure(attempts, now, timing), 'disconnect'];
    }
    case 'retry':
      return state.kind === 'waiting'
        ? tick(
            { kind: 'waiting', until: now, freeTries: remotes, backoff: 0 },
            now,
            timing,
            remotes,
          )
        : [state, 'none'];
    case 'opened':
      return state.kind === 'connecting'
        ? [{ ...state, kind: 'active', since: now, lastHeard: now, isSettled: false }, 'none']
        : [state, 'none'];
    case 'heard':
      if (!isConnected(state)) return [state, 'none'];
      return [
        {
          kind: 'active',
          since: state.since,
          lastHeard: now,
          isSettled: state.isSettled,
          freeTries: state.freeTries,
          backoff: state.backoff,
        },
        'none',
      ];
    case 'settled':
      return [isConnected(state) ? { ...state, isSettled: true } : state, 'none'];
    case 'tick':
      return tick(state, now, timing, remotes);
  }
}

function tick(
  state: LinkState,
  now: Millis,
  timing: StepTiming,
  remotes: number,
): [LinkState, LinkEffect] {
  const due = deadline(state, timing);
  if (due === undefined || now < due) return [state, 'none'];
  switch (state.kind) {
    case 'waiting':
      return [
        { kind: 'connecting', since: now, freeTries: state.freeTries, backoff: state.backoff },
        'connect',
      ];
    case 'active':
      return [{ ...state, kind: 'probing', probedAt: now }, 'send-probe'];
    case 'connecting':
    case 'probing':
      return [afterLoss(state, now, timing, remotes), 'disconnect'];
    case 'stopped':
      return [state, 'none'];
  }
}

/** When the next `tick` has something to do; undefined: never. */
export function deadline(state: LinkState, timing: LinkTiming): Millis | undefined {
  switch (state.kind) {
    case 'waiting':
      return state.until;
    case 'connecting':
      return state.since + timing.connectTimeout;
    case 'active':
      return timing.probeInterval === 0 ? undefined : state.lastHeard + timing.probeInterval;
    case 'probing':
      return timing.probeInterval === 0 ? undefined : state.probedAt + timing.probeInterval;
    case 'stopped':
      return undefined;
  }
}

export type BackoffTiming = Pick<LinkTiming, 'minBackoff' | 'maxBackoff'>;

/** Keeps a client from loading without end what a broken server sends: after the first reloads each pause is twice as long as the last. */
export class ReloadBackoff {
  readonly #timing: BackoffTiming;
  readonly #now: () => number;
  readonly #free: number;
  /** Reloads since the back-off was reset. */
  #count = 0;
  /** When the last pause was over. */
  #end = 0;

  /** `free`: reloads without a pause. */
  constructor(timing: BackoffTiming, now: () => number, free: number) {
    this.#timing = timing;
    this.#now = now;
    this.#free = free;
  }

  /** Milliseconds to wait before the next reload. Without one for as long as the longest pause, the back-off is reset. */
  next(): number {
    const { minBackoff, maxBackoff } = this.#timing;
    const now = this.#now();
    if (now - this.#end >= maxBackoff) this.#count = 0;
    const paused = this.#count++ - this.#free;
    const pause = paused < 0 ? 0 : Math.min(minBackoff * 2 ** paused, maxBackoff);
    this.#end = now + pause;
    return pause;
  }
}

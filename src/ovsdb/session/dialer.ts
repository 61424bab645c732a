import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { OvsdbError } from '../data/error.ts';
import type { Uuid } from '../data/value.ts';
import {
  deadline,
  DEFAULT_TIMING,
  initialLink,
  step,
  type LinkInput,
  type LinkState,
  type LinkTiming,
  type StepTiming,
} from './link.ts';
import { parseRemotes, remoteText, type Remote, type Remotes } from './remote.ts';
import type { TlsSettings } from './tls.ts';
import {
  isPassive,
  openSocket,
  type Attempt,
  type OpenHandlers,
  type OpenSocket,
} from './transport.ts';

/** Whoever uses the socket. */
export interface DialerOwner {
  /** A remote is tried. */
  connecting(remote: string): void;
  /** A socket is open, with TLS completely. */
  opened(socket: Duplex): void;
  /** The socket, or the attempt to open one, was given up; another will be opened. */
  lost(error: OvsdbError): void;
  /** It has been silent for long: asks whether the peer lives. */
  probe(): void;
  /** A large reply is awaited: a silent server is then no dead one. */
  isAwaiting(): boolean;
  warn(text: string): void;
}

export interface DialerOptions {
  readonly remotes: string | Remotes;
  readonly tls: TlsSettings | undefined;
  readonly timing: Partial<LinkTiming> | undefined;
  readonly openSocket: OpenSocket | undefined;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
  readonly random: () => number;
}

/** Silence that is allowed to a server that composes a large reply. */
const LOADING_PROBE = 60_000;

const parse = (remotes: string | Remotes): Remotes =>
  typeof remotes === 'string' ? parseRemotes(remotes) : remotes;

function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [result[i], result[j]] = [result[j] as T, result[i] as T];
  }
  return result;
}

/** Keeps a socket to one of the remotes open: tries them in turn, waits in between, probes silent peers, and begins again. */
export class Dialer {
  readonly #options: DialerOptions;
  readonly #owner: DialerOwner;
  #remotes: readonly Remote[];
  #cluster: Uuid | undefined;
  #next = 0;
  #remote: Remote | undefined;
  #link: LinkState;
  #timer: NodeJS.Timeout | undefined;
  #late: NodeJS.Immediate | undefined;
  /** To open a socket, while it is under way. */
  #attempt: Attempt | undefined;
  #isOpen = false;
  #isStarted = false;

  /** Throws `bad remote` for remotes that can't be understood. Opens nothing. */
  constructor(options: DialerOptions, owner: DialerOwner) {
    this.#options = options;
    this.#owner = owner;
    const { remotes, cluster } = parse(options.remotes);
    this.#remotes = shuffled(remotes, options.random);
    this.#cluster = cluster;
    this.#link = initialLink(options.now(), remotes.length);
  }

  /** The remote in use or tried last, in the usual notation. */
  get remote(): string | undefined {
    return this.#remote === undefined ? undefined : remoteText(this.#remote);
  }

  /** The cluster that the remotes belong to, where they say so. */
  get cluster(): Uuid | undefined {
    return this.#cluster;
  }

  get isConnecting(): boolean {
    return this.#link.kind === 'connecting';
  }

  /** True when there is another remote to go to. */
  get hasOthers(): boolean {
    return this.#remotes.length > 1;
  }

  /** Begins to connect. */
  start(): void {
    if (this.#isStarted || this.#link.kind === 'stopped') return;
    this.#isStarted = true;
    // Later: listeners may use the client, which `start` has yet to return.
    process.nextTick(() => {
      this.#input({ kind: 'tick' });
    });
  }

  #timing(): StepTiming {
    const timing = this.#usualTiming();
    if (timing.probeInterval === 0 || !this.#owner.isAwaiting()) return timing;
    return { ...timing, probeInterval: Math.max(timing.probeInterval, LOADING_PROBE) };
  }

  #usualTiming(): StepTiming {
    const kind = this.#remote?.kind;
    const isLocal = kind === 'unix' || kind === 'punix';
    const timing: { -readonly [K in keyof StepTiming]: StepTiming[K] } = {
      ...DEFAULT_TIMING,
      ...(isLocal ? { probeInterval: 0 } : {}),
      ...this.#options.timing,
    };
    if (this.#remote !== undefined && isPassive(this.#remote)) {
      timing.isPassive = true;
      timing.connectTimeout = Infinity;
    }
    return timing;
  }

  #input(input: LinkInput): void {
    if (!this.#isStarted) return;
    const [before, timing] = [this.#link, this.#timing()];
    const [state, effect] = step(before, input, this.#options.now(), timing, this.#remotes.length);
    this.#link = state;
    const late =
      before.kind === 'connecting'
        ? `no connection within ${timing.connectTimeout} ms (timing.connectTimeout)`
        : 'no answer in time';
    if (effect === 'connect') this.#connect();
    else if (effect === 'send-probe') this.#owner.probe();
    else if (effect === 'disconnect') this.drop(new OvsdbError('disconnected', late));
    this.#schedule();
  }

  #unschedule(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#late);
    this.#timer = undefined;
    this.#late = undefined;
  }

  #schedule(): void {
    this.#unschedule();
    // What is awaited may begin to arrive, and then stop: the usual interval counts from then on.
    const due = deadline(this.#link, this.#usualTiming());
    if (due === undefined || due === Infinity) return;
    const now = this.#options.now();
    const patient = deadline(this.#link, this.#timing()) ?? due;
    const { probeInterval } = this.#usualTiming();
    const next = Math.max(due, Math.min(patient, now + probeInterval));
    this.#timer = setTimeout(
      () => {
        const tick = (): void => {
          this.#input({ kind: 'tick' });
        };
        // What came while the process was busy or stopped is read first.
        if (this.#isOpen) this.#late = setImmediate(tick);
        else tick();
      },
      Math.max(0, Math.ceil(next - now)),
    );
  }

  #connect(): void {
    const remote = this.#remotes[this.#next % this.#remotes.length] as Remote;
    this.#next = (this.#next + 1) % this.#remotes.length;
    this.#remote = remote;
    const mine = this.#link;
    this.#owner.connecting(remoteText(remote));
    // A listener may have ended it.
    if (this.#link !== mine) return;
    this.#attempt = this.#open(remote, {
      opened: (socket) => {
        this.#attempt = undefined;
        this.#opened(socket);
      },
      failed: (error) => {
        this.#attempt = undefined;
        this.#failed(error);
      },
    });
  }

  #open(remote: Remote, handlers: OpenHandlers): Attempt {
    try {
      return (this.#options.openSocket ?? openSocket)(remote, this.#options.tls, handlers);
    } catch (error) {
      // Later, as every failure: a listener may ask for a new connection.
      const failing = setImmediate(() => {
        handlers.failed(error);
      });
      return {
        cancel() {
          clearImmediate(failing);
        },
      };
    }
  }

  #failed(error: unknown): void {
    const text = error instanceof Error ? error.message : 'the connection was closed';
    this.drop(
      error instanceof OvsdbError ? error : new OvsdbError('disconnected', text, { cause: error }),
    );
  }

  #opened(socket: Duplex): void {
    const { tls } = this.#options;
    if (socket instanceof TLSSocket && tls?.isBootstrapping === true) {
      this.#bootstrap(socket, tls);
      return;
    }
    this.#isOpen = true;
    this.#input({ kind: 'opened' });
    this.#owner.opened(socket);
  }

  #bootstrap(socket: TLSSocket, tls: TlsSettings): void {
    try {
      tls.bootstrap(socket);
    } catch (error) {
      this.#failed(error);
      return;
    } finally {
      socket.destroy();
    }
    this.#owner.warn('the CA certificate was taken from the server; connecting again to verify it');
    this.#next = (this.#next + this.#remotes.length - 1) % this.#remotes.length;
    this.drop(new OvsdbError('disconnected', 'the CA certificate was stored'), true);
  }

  /** Bytes arrived. They do so often: the timer is only moved when it fires too early. */
  heard(): void {
    const now = this.#options.now();
    [this.#link] = step(this.#link, { kind: 'heard' }, now, DEFAULT_TIMING, this.#remotes.length);
  }

  /** The database behind the socket is loaded: this remote is good. */
  settled(): void {
    this.#input({ kind: 'settled' });
  }

  /** Gives up the socket, or the attempt to open one, and goes on to the next remote. `atOnce`: without a pause. */
  drop(error: OvsdbError, atOnce = false): void {
    if (!this.#isOpen && this.#attempt === undefined && !this.isConnecting) return;
    this.#isOpen = false;
    this.#attempt?.cancel();
    this.#attempt = undefined;
    // First: a listener may ask for a new connection.
    this.#input({ kind: atOnce ? 'move-on' : 'failed' });
    this.#owner.lost(error);
  }

  /** Ends a pause between two attempts. */
  retry(): void {
    this.#input({ kind: 'retry' });
  }

  /** Uses other remotes from now on. A connection to one that is still among them is kept. Throws `bad remote`. */
  setRemotes(given: string | Remotes): void {
    const { remotes, cluster } = parse(given);
    this.#cluster = cluster;
    this.#remotes = shuffled(remotes, this.#options.random);
    this.#next = 0;
    const isKept = remotes.some((remote) => remoteText(remote) === this.remote);
    if (!isKept && this.#isStarted)
      this.drop(new OvsdbError('disconnected', 'the remote was removed'), true);
    this.retry();
  }

  /** Opens nothing any more. An open socket is the owner's to close. */
  stop(): void {
    this.#unschedule();
    this.#link = { kind: 'stopped' };
    this.#isOpen = false;
    this.#attempt?.cancel();
    this.#attempt = undefined;
  }
}

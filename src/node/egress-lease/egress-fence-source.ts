/**
 * Keeps the fence of egress addresses open while this node may have them, and the leases of those at other network cards (docs/decisions/egress-health.md): where
 * another node could have one, so that they end by themselves, else for good. A loop of its own: it waits for nothing but the one program that writes a flow, and so
 * ends with the daemon, and with nothing else.
 */
import { MalformedMessage, NetlinkError } from 'rtnetlink-ts';
import type { ZoneProblem } from '../../api/zone-status.ts';
import { asHost } from '../../allocators/addresses.ts';
import { exitsOf } from '../../model/read/egress-ips.ts';
import { EGRESS_FENCE } from '../../model/rules/egress-health.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { pause, type Clock } from '../../store/clock.ts';
import type { Log } from '../../store/log.ts';
import type { FactSource } from '../fact-source.ts';
import type { BridgeFence, FenceTerm } from '../openflow/egress-fence.ts';
import { OfctlError } from '../openflow/ofctl-program.ts';
import type { EgressCardLeases } from './card-leases.ts';

/** What the lease says of now. `left`: since the start no manager was heard, and none is there; what a daemon before left open may stay so. */
export type FenceRight = 'open' | 'left' | 'closed' | 'unknown';

/** Where this node has egress addresses. */
export interface FencedPlaces {
  /** The external bridge. */
  readonly bridge: string | undefined;
  /** It has some, or is ready to. */
  readonly isUsed: boolean;
  /** Those that it answers for, with prefix length: at the bridge, or at another network card. */
  readonly held: readonly string[];
}

/** By what EgressIPs say: whether this node may have their addresses is another question, and one that a daemon that starts can't answer for a while. */
export function fencedPlaces(facts: ZoneFacts): FencedPlaces {
  const exits = facts.egressIps.keysBy('here').flatMap((name) => {
    const egressIp = facts.egressIps.peek(name);
    return egressIp === undefined ? [] : exitsOf(egressIp);
  });
  const here = exits.filter(({ node }) => node === facts.nodeName);
  return {
    bridge: facts.self.peek(facts.nodeName)?.gateway?.bridge,
    isUsed: here.length > 0,
    held: here.flatMap(({ address, role }) => (role === 'holder' ? [asHost(address)] : [])),
  };
}

export interface EgressFenceOptions {
  readonly node: string;
  readonly places: () => FencedPlaces;
  readonly fence: BridgeFence;
  readonly cards: EgressCardLeases;
  readonly right: () => FenceRight;
  /** True while another node could have an address that is here. */
  readonly mayMove: () => boolean;
  /** True if the manager that leads has heard all that was answered until then. */
  readonly isHeardSince: (at: number) => boolean;
  /** True while it is written down that the data plane lets go by itself. */
  readonly isWritten: () => boolean;
  /** True while all that was built is on the host, what is fenced among it. */
  readonly isHostSet: () => boolean;
  readonly log: Log;
  /** Called when `seconds`, or problems, are others. */
  readonly onChange: () => void;
}

/** That Open vSwitch, or the kernel, does not do as it is asked. */
const isTrouble = (error: unknown): error is Error =>
  error instanceof OfctlError || error instanceof NetlinkError || error instanceof MalformedMessage;

const AGAIN = EGRESS_FENCE / 3;
/** Milliseconds after which it is tried again when it failed, or was not yet all there. */
const SOON = 1000;

export class EgressFenceSource implements FactSource {
  readonly #options: EgressFenceOptions;
  #rest = new AbortController();
  /** Whether it is fenced whatever is on the bridge; before that addresses may be there without. */
  #isWhole = false;
  #openedAt = -Infinity;
  #mayBeOpen = true;
  /** What this daemon wrote last, or found. */
  #term: FenceTerm | undefined;
  /** When somebody was told last, or may have been, that it shuts by itself. */
  #saidAt = Infinity;
  #failure: { readonly since: number; readonly why: string } | undefined;
  #told: string | undefined;
  #problems: readonly ZoneProblem[] = [];

  constructor(options: EgressFenceOptions) {
    this.#options = options;
  }

  async start(_facts: ZoneFacts, clock: Clock, signal: AbortSignal): Promise<void> {
    this.#saidAt = clock.monotonic();
    while (!signal.aborted) {
      this.#rest = new AbortController();
      const until = AbortSignal.any([signal, this.#rest.signal]);
      const isKept = await this.#keep(clock);
      this.#say(clock.monotonic());
      await pause(clock, isKept ? AGAIN : SOON, until);
    }
  }

  /** The lease is another. */
  wake(): void {
    this.#rest.abort();
  }

  /** Of what is on the bridge now, as long as this daemon says so: milliseconds until it would be gone without it. Whoever asks is told. */
  lasts(now: number): number | undefined {
    if (!this.#isTimed || now - this.#openedAt >= EGRESS_FENCE) return undefined;
    this.#saidAt = now;
    return EGRESS_FENCE;
  }

  /** The same to be written down; 0 where addresses stay without this daemon, undefined while it is not known. */
  get seconds(): number | undefined {
    if (!this.#isWhole) return undefined;
    return this.#isTimed ? EGRESS_FENCE / 1000 : 0;
  }

  get #isTimed(): boolean {
    return this.#isWhole && this.#term === 'timed' && this.#options.mayMove();
  }

  /** It lasts only where nobody counts on its end any more: neither by what he was answered, nor by what he can read, or is about to. */
  #wantedTerm(now: number): FenceTerm {
    const { mayMove, isHeardSince, isWritten } = this.#options;
    if (mayMove()) return 'timed';
    const isKnown = now - this.#saidAt >= AGAIN && isHeardSince(this.#saidAt) && !isWritten();
    return this.#term === 'lasting' || isKnown ? 'lasting' : 'timed';
  }

  problems(): readonly ZoneProblem[] {
    return this.#problems;
  }

  /** True if there is nothing more to do for a while. */
  async #keep(clock: Clock): Promise<boolean> {
    const { fence, cards, places, right, mayMove, isHostSet, isHeardSince } = this.#options;
    const { bridge, isUsed, held } = places();
    if (bridge === undefined) return false;
    const now = clock.monotonic();
    const mayBe = right();
    try {
      if (mayBe === 'closed') {
        cards.release();
        if (this.#mayBeOpen) await fence.close(bridge);
        this.#mayBeOpen = false;
        this.#term = undefined;
        this.#openedAt = -Infinity;
      } else if (isUsed || !this.#mayBeOpen) {
        if (mayBe === 'unknown') return false;
        if (mayBe === 'left' || this.#term === undefined) this.#term = await fence.termOf(bridge);
        // It may have taken long to ask. What lasts by itself needs nobody.
        if (right() !== mayBe || (mayBe === 'left' && this.#term !== 'timed')) return false;
        this.#mayBeOpen = true;
        const term = this.#wantedTerm(now);
        // Nobody is told that it ends from the moment at which it may not.
        if (term === 'lasting') this.#term = term;
        cards.renew(held, bridge, term);
        await fence.open(bridge, term);
        this.#term = term;
        this.#openedAt = now;
        this.#failure = undefined;
        this.#isWhole ||= mayBe === 'open' && isHostSet();
        const isToLast = term === 'timed' && !mayMove() && isHeardSince(-Infinity);
        if (!this.#isWhole || isToLast) return false;
      }
      this.#failure = undefined;
      // Addresses may be known any moment: what is open for them may be what a daemon before left.
      return isUsed || mayBe === 'closed';
    } catch (error) {
      if (!isTrouble(error)) throw error;
      this.#failure = { since: this.#failure?.since ?? now, why: error.message };
      return false;
    }
  }

  #say(now: number): void {
    const { node, log, onChange } = this.#options;
    const why =
      this.#failure !== undefined && now - this.#failure.since >= AGAIN
        ? this.#failure.why
        : undefined;
    const told = `${this.seconds} ${why}`;
    if (told === this.#told) return;
    this.#told = told;
    if (why !== undefined) log.warn({ node }, `the fence of egress addresses stays shut: ${why}`);
    this.#problems =
      why === undefined
        ? []
        : [
            {
              object: `Node ${node}`,
              message: `egress addresses of this node end within ${EGRESS_FENCE / 1000} s, as they can't be renewed: ${why}; is ovs-vswitchd busy, or gone?`,
            },
          ];
    onChange();
  }
}

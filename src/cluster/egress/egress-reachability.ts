/**
 * Which nodes are reached, as far as egress addresses go (reference/egress.md §1.5). Each node is asked at its own pace, whatever the others do.
 * A question acknowledges the answer before, and the node keeps its addresses for a time after an answer that was acknowledged: once that is over, and the
 * manager has heard at least half of the egress nodes all the time, one that is silent is known to have let them go.
 */
import { annotationOf } from '../../api/annotations/annotations.ts';
import {
  BRIDGE_EGRESS_ADDRESSES,
  CARD_EGRESS_ADDRESSES,
  egressFence,
} from '../../api/annotations/node-annotations.ts';
import type { Node } from '../../api/types.ts';
import {
  EGRESS_FENCE,
  egressFenceTimes,
  egressHealthTimes,
  healthAddresses,
  type EgressFenceTimes,
  type EgressHealthTimes,
} from '../../model/rules/egress-health.ts';
import { pause, type Clock } from '../../store/clock.ts';
import type { ObjectView } from '../../store/informer.ts';
import type { Log } from '../../store/log.ts';

/** What a node answered; `metadata` of one that has its addresses only for so long as it is heard. */
export type NodeAnswer =
  | {
      readonly kind: 'serving';
      readonly metadata:
        | { readonly token: string; readonly age: number; readonly fence?: number | undefined }
        | undefined;
    }
  /** It is there, and nobody serves the port; or nothing came in time. */
  | { readonly kind: 'refused' | 'silent'; readonly why: string };

interface AskedNode extends Disposable {
  /** `seen`: the token of the answer that is acknowledged. `mayMove`: others could have what the node has. `timeout` in milliseconds. */
  check(
    question: { readonly seen: string | undefined; readonly mayMove: boolean },
    timeout: number,
  ): Promise<NodeAnswer>;
}

export interface EgressProbing {
  /** Milliseconds that a node may be silent (egressip-reachability-total-timeout). */
  readonly timeout: number;
  /** Opens what a node is asked by, at its management addresses. `onThere`: called when its host took a connection. */
  readonly connect: (addresses: readonly string[], onThere: () => void) => AskedNode;
}

/**
 * `reached`: it may get addresses. `unknown`: it keeps what it has and gets none. `unreached`: it is to have none, and answers for those that it had until
 * it says otherwise. `gone`: it has none any more. `fenced`: likewise, as its data plane lets go by itself, while its host works without its daemon.
 */
export type Reachability = 'reached' | 'unknown' | 'unreached' | 'gone' | 'fenced';

export interface EgressReachabilityOptions extends EgressProbing {
  readonly nodes: ObjectView<Node>;
  /** Whether an object may have addresses there, or the node has the label. */
  readonly isEgressNode: (node: Node) => boolean;
  /** Nodes that are asked besides those of egress addresses, and are none of them. */
  readonly isAskedToo: (node: Node) => boolean;
  /** False for a node that may keep nothing: it has been taken for gone, and does not know it yet. */
  readonly mayAcknowledge: (node: string) => boolean;
  /** True while another node could have an address that this one has: then its data plane is to let go by itself. */
  readonly mayMove: (node: string) => boolean;
  /** The process that was the daemon of a node last. */
  readonly daemonOf: (node: string) => string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly onChange: () => void;
}

/** It has no egress addresses any more. */
export const hasLetGo = (state: Reachability | undefined): boolean =>
  state === 'gone' || state === 'fenced';

/** It is left by whoever can. */
export const isLost = (state: Reachability | undefined): boolean =>
  hasLetGo(state) || state === 'unreached';

interface Probed {
  readonly addresses: string;
  readonly asked: AskedNode;
  readonly ended: AbortController;
  readonly since: number;
  isCounted: boolean;
  token: string | undefined;
  answeredAt: number | undefined;
  refusedAt: number | undefined;
  /** When its host took a connection last, or refused one. */
  thereAt: number | undefined;
  /** It has its addresses only while it is heard. */
  lets: boolean;
  /** Milliseconds for which its data plane has them without its daemon, by its last answer. */
  fence: number | undefined;
  /** Since when it has been heard without a gap; it is one of those that are sure of a manager. */
  steadySince: number | undefined;
  /** The same with gaps that fences outlive. */
  heardSince: number | undefined;
  state: Reachability;
}

export class EgressReachability {
  readonly #options: EgressReachabilityOptions;
  readonly #times: EgressHealthTimes;
  readonly #fence: EgressFenceTimes;
  readonly #probed = new Map<string, Probed>();
  #signal = AbortSignal.abort();
  #lost = 0;

  constructor(options: EgressReachabilityOptions) {
    this.#options = options;
    this.#times = egressHealthTimes(options.timeout);
    this.#fence = egressFenceTimes(this.#times, EGRESS_FENCE);
  }

  /** Asks until the signal aborts. */
  follow(signal: AbortSignal): void {
    this.#signal = signal;
    const stop = this.#options.nodes.onChange(({ key, after }) => this.#take(key, after));
    signal.addEventListener(
      'abort',
      () => {
        stop();
        for (const name of this.#probed.keys()) this.#end(name);
      },
      { once: true },
    );
  }

  /** Other nodes are egress nodes. */
  selectorsChanged(): void {
    for (const node of this.#options.nodes.list()) this.#take(node.metadata.name, node);
  }

  of(node: string): Reachability {
    return this.#probed.get(node)?.state ?? 'unknown';
  }

  /** It is asked for the first time, and can answer yet. */
  isNew(node: string): boolean {
    const probed = this.#probed.get(node);
    return (
      probed !== undefined &&
      probed.answeredAt === undefined &&
      probed.refusedAt === undefined &&
      this.#options.clock.monotonic() - probed.since < this.#times.gone
    );
  }

  /** Its data plane lets go of egress addresses by itself, by what it answered, or wrote down. */
  hasFence(node: string): boolean {
    const probed = this.#probed.get(node);
    return probed !== undefined && this.#fenceOf(node, probed) !== undefined;
  }

  /** How often nodes were found not to be reached. */
  get lost(): number {
    return this.#lost;
  }

  #take(name: string, node: Node | undefined): void {
    if (this.#signal.aborted) return;
    const addresses = node === undefined ? [] : healthAddresses(node);
    const isCounted = node !== undefined && this.#options.isEgressNode(node);
    const known = this.#probed.get(name);
    // One that has addresses is asked until it has let them go, and one that was lost until it is there again.
    const isAsked =
      isCounted ||
      (node !== undefined && (this.#options.isAskedToo(node) || isLost(known?.state))) ||
      (node !== undefined &&
        [BRIDGE_EGRESS_ADDRESSES, CARD_EGRESS_ADDRESSES].some(
          (key) => annotationOf(node, key) !== undefined,
        ));
    if (known !== undefined) {
      known.isCounted = isCounted;
      if (isAsked && known.addresses === addresses.join()) return;
      this.#end(name);
    }
    if (!isAsked || addresses.length === 0) return;
    const { clock, connect } = this.#options;
    const probed: Probed = {
      addresses: addresses.join(),
      asked: connect(addresses, () => {
        probed.thereAt = clock.monotonic();
      }),
      ended: new AbortController(),
      since: clock.monotonic(),
      isCounted,
      token: undefined,
      answeredAt: undefined,
      refusedAt: undefined,
      thereAt: undefined,
      lets: true,
      fence: undefined,
      steadySince: undefined,
      heardSince: undefined,
      state: 'unknown',
    };
    this.#probed.set(name, probed);
    void this.#run(name, probed);
  }

  #end(name: string): void {
    const probed = this.#probed.get(name);
    this.#probed.delete(name);
    probed?.ended.abort();
    probed?.asked[Symbol.dispose]();
  }

  /** Questions go out at their pace whether or not those before are answered yet. */
  async #run(name: string, probed: Probed): Promise<void> {
    const { clock } = this.#options;
    const { signal } = probed.ended;
    while (!signal.aborted) {
      void this.#ask(name, probed);
      await pause(clock, this.#times.interval, signal);
      if (!signal.aborted) this.#judge(name, probed);
    }
  }

  async #ask(name: string, probed: Probed): Promise<void> {
    const { clock, mayAcknowledge, mayMove } = this.#options;
    const seen = mayAcknowledge(name) ? probed.token : undefined;
    const question = { seen, mayMove: mayMove(name) };
    const answer = await probed.asked.check(question, this.#times.recent);
    if (probed.ended.signal.aborted) return;
    const now = clock.monotonic();
    if (answer.kind === 'serving') {
      const { metadata } = answer;
      probed.token = metadata?.token;
      probed.lets = metadata !== undefined;
      probed.fence = metadata?.fence;
      // Where others would find that it is not asked it is not counted on.
      const since = (before: number | undefined, gap: number): number | undefined => {
        if (metadata === undefined || metadata.age > gap) return undefined;
        return now - (probed.answeredAt ?? -Infinity) > gap ? now : (before ?? now);
      };
      probed.steadySince = since(probed.steadySince, this.#times.gap);
      probed.heardSince = since(probed.heardSince, this.#fence.gap);
      probed.answeredAt = now;
      this.#judge(name, probed);
    } else if (answer.kind === 'refused') {
      probed.refusedAt = now;
      probed.thereAt = now;
    }
  }

  #judge(name: string, probed: Probed): void {
    const { clock, log, onChange } = this.#options;
    const state = this.#stateOf(name, probed, clock.monotonic());
    const before = probed.state;
    if (state === before) return;
    probed.state = state;
    if (isLost(state) && !isLost(before)) this.#lost += 1;
    if (state === 'fenced')
      log.warn({ node: name }, 'the daemon of a node is away: its data plane has let go');
    else if (isLost(state)) log.warn({ node: name, state }, 'node not reached');
    else log.info({ node: name, state }, 'reachability of a node');
    onChange();
  }

  #stateOf(name: string, probed: Probed, now: number): Reachability {
    const { answeredAt, thereAt = -Infinity, since, lets } = probed;
    const { lease, gone } = this.#times;
    // One that is not acknowledged uses nothing that it is given.
    if (answeredAt !== undefined && now - answeredAt < lease) {
      if (this.#options.mayAcknowledge(name)) return 'reached';
      return probed.state === 'fenced' ? 'fenced' : 'unknown';
    }
    const heardAt = answeredAt ?? since;
    // Its daemon is gone, stands still, or starts: whoever was to let go of addresses can't. What it has stays, as long as its data plane lets it.
    if (thereAt > heardAt) return this.#isFenced(name, probed, now) ? 'fenced' : 'unknown';
    if (now - heardAt < gone) return probed.state === 'reached' ? 'reached' : 'unknown';
    if (!lets) return 'unreached';
    // Who has no egress addresses lets go of none: it is enough that the manager is not itself the one that is cut off.
    const isSure = probed.isCounted ? this.#hearsHalf(now) : this.#hearsOthers(probed, now);
    return isSure ? 'gone' : 'unknown';
  }

  /** Nobody opened its fence, and there was no time in which it could have thought that there is no manager. */
  #isFenced(name: string, probed: Probed, now: number): boolean {
    const { answeredAt, since } = probed;
    const lasts = this.#fenceOf(name, probed);
    if (lasts === undefined) return false;
    const { over } = egressFenceTimes(this.#times, lasts);
    if (now - (answeredAt ?? since) < over) return false;
    const { gap } = this.#fence;
    return this.#isHalf(
      ({ answeredAt: at = -Infinity, heardSince = Infinity }) =>
        now - at <= gap && now - heardSince >= over,
    );
  }

  /** Milliseconds for which its data plane has its addresses without its daemon; undefined where it keeps them, or may. */
  #fenceOf(name: string, { answeredAt, fence }: Probed): number | undefined {
    const node = this.#options.nodes.get(name);
    if (node === undefined) return answeredAt === undefined ? undefined : fence;
    if (answeredAt !== undefined) return fence;
    // Before it was heard there is only what it has written down: of the daemon that was there last, and no other.
    const { value } = egressFence(node);
    return value !== undefined && value.daemon === this.#options.daemonOf(name)
      ? 1000 * value.seconds
      : undefined;
  }

  /** Half of the other nodes that are asked, if there are any. */
  #hearsOthers(probed: Probed, now: number): boolean {
    const others = [...this.#probed.values()].filter((other) => other !== probed);
    const heard = others.filter(
      ({ answeredAt = -Infinity }) => now - answeredAt <= this.#times.gap,
    );
    return 2 * heard.length >= others.length;
  }

  /** Of the egress nodes, and for so long that none of them can have found itself not asked. */
  #hearsHalf(now: number): boolean {
    const { lease, gap } = this.#times;
    return this.#isHalf(
      ({ answeredAt = -Infinity, steadySince = Infinity }) =>
        now - answeredAt <= gap && now - steadySince >= lease,
    );
  }

  /** At least half of the egress nodes are such. */
  #isHalf(isOne: (probed: Probed) => boolean): boolean {
    const counted = [...this.#probed.values()].filter(({ isCounted }) => isCounted);
    return 2 * counted.filter(isOne).length >= counted.length;
  }
}

/**
 * Keeps the facts of which MAC addresses the next hops of the host's default routes have, as the kernel learns them. The kernel is asked for each again and
 * again, as if the host had something to send there: a host that sends nothing would not hear of another router.
 */
import { askNeighbour, NEIGHBOUR_STATE, routes, type NetlinkSocket } from 'rtnetlink-ts';
import { FAMILIES } from '../../allocators/addresses.ts';
import { errorText } from '../../api/error-text.ts';
import type { ZoneProblem } from '../../api/zone-status.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { Clock } from '../../store/clock.ts';
import type { Log } from '../../store/log.ts';
import { WorkQueue } from '../../store/work-queue.ts';
import type { FactSource } from '../fact-source.ts';
import { MAIN_TABLE } from '../numbers.ts';
import type { NetworkMonitor } from './network-monitor.ts';
import { linkOf, neighbourOf, openRouteSocket } from './network-socket.ts';
import { isDefaultRoute } from './stale.ts';

export interface NextHopSourceOptions {
  readonly node: string;
  /** Path of the network namespace; that of the process, if none is named. */
  readonly namespace: string | undefined;
  /** Of the same namespace. */
  readonly monitor: NetworkMonitor;
  /** False where the host is looked at alone. */
  readonly mayAsk: boolean;
  readonly log: Log;
  /** Called when facts or problems are others. */
  readonly onChange: () => void;
}

/** Milliseconds: changes within this time of each other are one. */
const DEBOUNCE = 50;
/** Milliseconds until the kernel is asked again. It gives a router that does not answer up after some ten seconds, and finds another one when it is asked next. */
const ASK_AGAIN = 30_000;
const HOPS = 'next hops';

interface Hop {
  /** Number of the device. */
  readonly device: number;
  readonly address: string;
}

const textOf = ({ device, address }: Hop): string => `${device} ${address}`;

/** Next hops of the default routes of the main table, each once. */
function defaultHops(socket: NetlinkSocket): readonly Hop[] {
  const all = FAMILIES.flatMap((family) => socket.dump(routes({ family, table: MAIN_TABLE })))
    .filter(isDefaultRoute)
    .flatMap(({ hops }) => hops)
    .flatMap(({ device, via }): Hop[] =>
      device === undefined || via === undefined ? [] : [{ device, address: via }],
    );
  return [...new Map(all.map((hop) => [textOf(hop), hop])).values()];
}

export class NextHopSource implements FactSource {
  readonly #options: NextHopSourceOptions;
  /** MAC addresses by device and address; undefined of a next hop of which none is known yet. */
  #known: ReadonlyMap<string, string | undefined> = new Map();
  #problem: string | undefined;

  constructor(options: NextHopSourceOptions) {
    this.#options = options;
  }

  async start(facts: ZoneFacts, clock: Clock, signal: AbortSignal): Promise<void> {
    const { monitor } = this.#options;
    const queue = new WorkQueue({
      reconcile: async () => {
        monitor.listen();
        this.#read(facts);
        return { after: ASK_AGAIN };
      },
      onFailure: ({ error }) => this.#failed(error),
      clock,
    });
    const look = (): void => queue.addAfter(HOPS, DEBOUNCE);
    const unfollow = monitor.follow({
      onStale: ({ kind }) => {
        if (kind === 'all') look();
      },
      onRoute: (route) => {
        if (isDefaultRoute(route)) look();
      },
      onNeighbour: ({ mac, ...hop }) => {
        const text = textOf(hop);
        if (mac !== undefined && this.#known.has(text) && this.#known.get(text) !== mac) look();
      },
    });
    try {
      monitor.listen();
      this.#read(facts);
      queue.addAfter(HOPS, ASK_AGAIN);
    } catch (error) {
      this.#failed(error);
      queue.add(HOPS);
    }
    try {
      await queue.run(signal);
    } finally {
      unfollow();
    }
  }

  problems(): readonly ZoneProblem[] {
    const object = `Node ${this.#options.node}`;
    return this.#problem === undefined ? [] : [{ object, message: this.#problem }];
  }

  #read(facts: ZoneFacts): void {
    using socket = openRouteSocket(this.#options.namespace);
    const known = new Map<string, string | undefined>();
    const gone = new Map([...facts.nextHops.keys()].map((key) => [key.join(' '), key]));
    let hasChanged = false;
    for (const { device: index, address } of defaultHops(socket)) {
      const place = { device: index, address };
      const device = linkOf(socket, index)?.name;
      if (device === undefined) continue;
      const found = neighbourOf(socket, place);
      const mac = found?.state === NEIGHBOUR_STATE.noArp ? undefined : found?.mac;
      known.set(textOf(place), mac);
      // One that is silent keeps the address that it had: nobody else answers for it.
      gone.delete(`${device} ${address}`);
      if (mac !== undefined && facts.nextHops.put([device, address], { mac })) hasChanged = true;
      if (this.#options.mayAsk && found?.state !== NEIGHBOUR_STATE.permanent)
        socket.change(askNeighbour(place));
    }
    for (const key of gone.values()) if (facts.nextHops.delete(key)) hasChanged = true;
    this.#known = known;
    const isNew = this.#say(undefined);
    if (hasChanged || isNew) this.#options.onChange();
  }

  #failed(error: unknown): void {
    const isNew = this.#say(
      `the neighbours of the host can't be read; networks know its next hops as they were read last, and ask for the others: ${errorText(error)}`,
    );
    if (!isNew) return;
    this.#options.log.warn({ node: this.#options.node, error }, this.#problem ?? '');
    this.#options.onChange();
  }

  /** True if it is another than before. */
  #say(problem: string | undefined): boolean {
    const isNew = this.#problem !== problem;
    this.#problem = problem;
    return isNew;
  }
}

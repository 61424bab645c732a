/** Keeps the facts of which routes and network cards the host has, as the kernel announces them. */
import { addresses, links, routes } from 'rtnetlink-ts';
import { FAMILIES } from '../../allocators/addresses.ts';
import { errorText } from '../../api/error-text.ts';
import type { ZoneProblem } from '../../api/zone-status.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { Clock } from '../../store/clock.ts';
import type { Log } from '../../store/log.ts';
import { WorkQueue } from '../../store/work-queue.ts';
import type { FactSource } from '../fact-source.ts';
import { isManagementDevice } from '../names.ts';
import { MAIN_TABLE, PROTOCOLS_OF_HOST } from '../numbers.ts';
import { chooseHostCards, chooseHostRoutes, isCardRoute, MOST_HOST_ROUTES } from './host-routes.ts';
import type { NetworkMonitor } from './network-monitor.ts';
import { openRouteSocket } from './network-socket.ts';
import type { Stale } from './stale.ts';

export interface HostRouteSourceOptions {
  readonly node: string;
  /** Path of the network namespace; that of the process, if none is named. */
  readonly namespace: string | undefined;
  /** Of the same namespace. */
  readonly monitor: NetworkMonitor;
  readonly log: Log;
  /** Called when facts or problems are others. */
  readonly onChange: () => void;
}

/** Changes within this time of each other are one. */
const DEBOUNCE = 250;
/** Without any event everything is looked at again after this time, as the network stack is. */
const RESYNC = 60_000;
const MAIN = 'main table';

/** Devices take their routes along without a word. Pods' links have none. */
const mayTakeRoutes = (stale: Stale): boolean =>
  stale.kind === 'all' ||
  (stale.kind === 'link' && stale.isOutward === undefined && !isManagementDevice(stale.dev));

export class HostRouteSource implements FactSource {
  readonly #options: HostRouteSourceOptions;
  #problem: string | undefined;

  constructor(options: HostRouteSourceOptions) {
    this.#options = options;
  }

  async start(facts: ZoneFacts, clock: Clock, signal: AbortSignal): Promise<void> {
    const { monitor } = this.#options;
    const queue = new WorkQueue({
      reconcile: async () => {
        monitor.listen();
        this.#read(facts);
        return { after: RESYNC };
      },
      onFailure: ({ error }) => this.#failed(facts, error),
      clock,
    });
    const look = (): void => queue.addAfter(MAIN, DEBOUNCE);
    const unfollow = monitor.follow({
      onStale: (stale) => {
        if (mayTakeRoutes(stale)) look();
      },
      onRoute: (route) => {
        if (isCardRoute(route)) look();
      },
    });
    try {
      // What happens while routes are read is not missed.
      monitor.listen();
      this.#read(facts);
      queue.addAfter(MAIN, RESYNC);
    } catch (error) {
      this.#failed(facts, error);
      queue.add(MAIN);
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
    const devices = socket.dump(links());
    const read = FAMILIES.map((family) => {
      const all = PROTOCOLS_OF_HOST.flatMap((protocol) =>
        socket.dump(routes({ family, protocol, table: MAIN_TABLE })),
      );
      return { family, all, ...chooseHostRoutes(all, devices) };
    });
    const cards = chooseHostCards(
      devices,
      socket.dump(addresses()),
      read.flatMap(({ all }) => all),
    );
    let hasChanged = false;
    const gone = new Set([...facts.hostCards.keys()].map(([device]) => device));
    for (const card of cards) {
      gone.delete(card.device);
      if (facts.hostCards.put(card.device, card)) hasChanged = true;
    }
    for (const device of gone) if (facts.hostCards.delete(device)) hasChanged = true;
    for (const { family, routes: chosen } of read)
      if (facts.hostRoutes.put(family, { routes: chosen })) hasChanged = true;
    const tooMany = read.find(({ found }) => found > MOST_HOST_ROUTES);
    const isNew = this.#say(
      tooMany &&
        `the main routing table of the host has ${tooMany.found} IP${tooMany.family} routes beside its default routes, and networks with a VRF have ${MOST_HOST_ROUTES} of them at most: what the others lead to is sent to the default next hop; replace many routes by few wide ones`,
    );
    if (hasChanged || isNew) this.#options.onChange();
  }

  #failed(facts: ZoneFacts, error: unknown): void {
    const reason = errorText(error);
    for (const family of FAMILIES)
      if (facts.hostRoutes.peek(family) === undefined)
        facts.hostRoutes.put(family, { routes: [], unreadable: reason });
    const isNew = this.#say(
      `the routes of the host can't be read, those that networks have of it stay as they are: ${reason}`,
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

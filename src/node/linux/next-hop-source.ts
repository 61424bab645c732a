/**
 * Keeps the facts of which MAC addresses the next hops of the host's default routes have, as the kernel learns them. The kernel is asked for each again and
 * again, as if the host had something to send there: a host that sends nothing would not hear of another router.
 */
import { askNeighbour, NEIGHBOUR_STATE, routes, type NetlinkSocket } from 'rtnetlink-ts';
import { FAMILIES } from '../../allocators/addresses.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { MAIN_TABLE } from '../numbers.ts';
import {
  KernelFactSource,
  type KernelReading,
  type KernelSourceOptions,
} from './kernel-fact-source.ts';
import type { NetworkFollower } from './network-monitor.ts';
import { linkOf, neighbourOf, openRouteSocket } from './network-socket.ts';
import { isDefaultRoute } from './stale.ts';

export interface NextHopSourceOptions extends KernelSourceOptions {
  /** False where the host is looked at alone. */
  readonly mayAsk: boolean;
}

const DEBOUNCE = 50;
/** It is asked again then. It gives a router that does not answer up after some ten seconds, and finds another one when it is asked next. */
const ASK_AGAIN = 30_000;

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

export class NextHopSource extends KernelFactSource<NextHopSourceOptions> {
  /** MAC addresses by device and address; undefined of a next hop of which none is known yet. */
  #known: ReadonlyMap<string, string | undefined> = new Map();

  constructor(options: NextHopSourceOptions) {
    super(options, { debounce: DEBOUNCE, resync: ASK_AGAIN });
  }

  protected follower(look: () => void): NetworkFollower {
    return {
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
    };
  }

  protected read(facts: ZoneFacts): KernelReading {
    using socket = openRouteSocket(this.options.namespace);
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
      if (this.options.mayAsk && found?.state !== NEIGHBOUR_STATE.permanent)
        socket.change(askNeighbour(place));
    }
    for (const key of gone.values()) if (facts.nextHops.delete(key)) hasChanged = true;
    this.#known = known;
    return { hasChanged, problem: undefined };
  }

  protected unreadable(_facts: ZoneFacts, reason: string): string {
    return `the neighbours of the host can't be read; networks know its next hops as they were read last, and ask for the others: ${reason}`;
  }
}

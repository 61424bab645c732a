/** Keeps the facts of which routes and network cards the host has, as the kernel announces them. */
import { addresses, links, routes } from 'rtnetlink-ts';
import { FAMILIES } from '../../allocators/addresses.ts';
import type { FactTable } from '../../facts/fact-table.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { isManagementDevice } from '../names.ts';
import { MAIN_TABLE, PROTOCOLS_OF_HOST } from '../numbers.ts';
import {
  chooseHostCards,
  chooseHostRoutes,
  chooseHostVrfs,
  isCardRoute,
  MOST_HOST_ROUTES,
} from './host-routes.ts';
import {
  KernelFactSource,
  type KernelReading,
  type KernelSourceOptions,
} from './kernel-fact-source.ts';
import type { NetworkFollower } from './network-monitor.ts';
import { openRouteSocket } from './network-socket.ts';
import type { Stale } from './stale.ts';

const DEBOUNCE = 250;
/** As the network stack is. */
const RESYNC = 60_000;

/** Devices take their routes along without a word. Pods' links have none. */
const mayTakeRoutes = (stale: Stale): boolean =>
  stale.kind === 'all' ||
  (stale.kind === 'link' && stale.isOutward === undefined && !isManagementDevice(stale.dev));

/** Has a table hold these facts and no others. Returns true if it is another than before. */
function replaceAll<V extends { readonly device: string }>(
  table: FactTable<[device: string], V>,
  found: readonly V[],
): boolean {
  const devices = new Set(found.map(({ device }) => device));
  const gone = [...table.keys()].flatMap(([device]) => (devices.has(device) ? [] : [device]));
  const changes = [
    ...gone.map((device) => table.delete(device)),
    ...found.map((value) => table.put(value.device, value)),
  ];
  return changes.includes(true);
}

export class HostRouteSource extends KernelFactSource {
  constructor(options: KernelSourceOptions) {
    super(options, { debounce: DEBOUNCE, resync: RESYNC });
  }

  protected follower(look: () => void): NetworkFollower {
    return {
      onStale: (stale) => {
        if (mayTakeRoutes(stale)) look();
      },
      onRoute: (route) => {
        if (isCardRoute(route)) look();
      },
    };
  }

  protected read(facts: ZoneFacts): KernelReading {
    using socket = openRouteSocket(this.options.namespace);
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
    const changes = [
      replaceAll(facts.hostCards, cards),
      replaceAll(facts.hostVrfs, chooseHostVrfs(devices)),
    ];
    let hasChanged = changes.includes(true);
    for (const { family, routes: chosen } of read)
      if (facts.hostRoutes.put(family, { routes: chosen })) hasChanged = true;
    const tooMany = read.find(({ found }) => found > MOST_HOST_ROUTES);
    const problem =
      tooMany &&
      `the main routing table of the host has ${tooMany.found} IP${tooMany.family} routes beside its default routes, and networks with a VRF have ${MOST_HOST_ROUTES} of them at most: what the others lead to is sent to the default next hop; replace many routes by few wide ones`;
    return { hasChanged, problem };
  }

  protected unreadable(facts: ZoneFacts, reason: string): string {
    for (const family of FAMILIES)
      if (facts.hostRoutes.peek(family) === undefined)
        facts.hostRoutes.put(family, { routes: [], unreadable: reason });
    return `the routes of the host can't be read, those that networks have of it stay as they are: ${reason}`;
  }
}

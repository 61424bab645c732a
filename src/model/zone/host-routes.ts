/** Routes, network cards and next hops of this node's host, as its kernel has them, routes in the main table. They come from no object: a `FactSource` of the host keeps them (src/node/fact-source.ts). */
import { contains, familyOf, prefixLength, type Family } from '../../allocators/addresses.ts';
import { FactTable } from '../../facts/fact-table.ts';
import { Unreadable } from '../../facts/unreadable.ts';
import type { PerFamily } from '../model.ts';
import type { ZoneBasis } from './zone-basis.ts';

export interface HostRoute {
  /** With prefix length. */
  readonly dst: string;
  /** What is sent there is refused. */
  readonly type?: 'unreachable';
  /** Next hop of the same family; absent for what is on the device itself. */
  readonly via?: string;
  readonly dev?: string;
  /** The next hop is on the device whatever routes say. */
  readonly onlink?: boolean;
  readonly metric?: number;
  /** Bytes; absent where the route says nothing. */
  readonly mtu?: number;
}

export interface HostRoutes {
  /** In a fixed order, of bounded number; no default route. */
  readonly routes: readonly HostRoute[];
  /** Why they are not known: they could not be read since the start. */
  readonly unreadable?: string;
}

/** A device that pods may leave by with addresses of its networks, and not by the gateway: it is up, leads out of the host, and is in no VRF. */
export interface HostCard {
  readonly device: string;
  /** Its number: another one when it is made anew. */
  readonly index: number;
  /** Networks of its addresses, with prefix length, in a fixed order. */
  readonly networks: readonly string[];
  /** Over it, also default ones (`default`); in a fixed order, of bounded number. */
  readonly routes: PerFamily<readonly HostRoute[]>;
}

/** A VRF of the host that is none of a network. */
export interface HostVrf {
  readonly device: string;
  /** Number of its routing table. */
  readonly table: number;
}

/** A next hop of the host's default routes, on a device of the host. */
export interface NextHop {
  /** As the kernel learnt it last. */
  readonly mac: string;
}

export type HostRouteTables = ReturnType<typeof hostRouteTables>;

/** All tables are empty where nobody follows the host. */
export function hostRouteTables({ recorder }: ZoneBasis) {
  const hostRoutes = new FactTable<[family: Family], HostRoutes>('hostRoutes', recorder);
  const hostCards = new FactTable<[device: string], HostCard>('hostCards', recorder);
  const hostVrfs = new FactTable<[device: string], HostVrf>('hostVrfs', recorder);
  return {
    hostRoutes,
    hostCards,
    hostVrfs,
    /** Those whose MAC address is known. */
    nextHops: new FactTable<[device: string, address: string], NextHop>('nextHops', recorder),

    /** Number of the routing table of a VRF; undefined where the host has none of that name. Throws `Unreadable` where that can't be known. */
    tableOfVrf(device: string): number | undefined {
      const reason = hostRoutes.part('v4', 'unreadable');
      if (reason !== undefined) throw new Unreadable(`VRFs of the host: ${reason}`);
      return hostVrfs.part(device, 'table');
    },

    /** The card in whose network an address is: of several the longest. Throws `Unreadable` where that can't be known. */
    hostCardOf(address: string): string | undefined {
      const reason = hostRoutes.part(familyOf(address), 'unreadable');
      if (reason !== undefined) throw new Unreadable(`network cards of the host: ${reason}`);
      const found = hostCards
        .all()
        .flatMap(({ device, networks }) =>
          networks
            .filter((cidr) => familyOf(cidr) === familyOf(address) && contains(cidr, address))
            .map((cidr) => ({ device, length: prefixLength(cidr) })),
        );
      return found.toSorted((a, b) => b.length - a.length)[0]?.device;
    },
  };
}

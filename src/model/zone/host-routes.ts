/** Routes of this node's host, as its kernel has them in the main table. They come from no object: a `FactSource` of the host keeps them (src/node/fact-source.ts). */
import type { Family } from '../../allocators/addresses.ts';
import { FactTable } from '../../facts/fact-table.ts';
import type { ZoneBasis } from './zone-basis.ts';

export interface HostRoute {
  /** With prefix length; never that of a default route. */
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
  /** In a fixed order, of bounded number. */
  readonly routes: readonly HostRoute[];
  /** Why they are not known: they could not be read since the start. */
  readonly unreadable?: string;
}

export function hostRouteTables({ recorder }: ZoneBasis) {
  /** Nothing where nobody follows the host. */
  return { hostRoutes: new FactTable<[family: Family], HostRoutes>('hostRoutes', recorder) };
}

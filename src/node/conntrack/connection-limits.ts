/** How full tables of connections are, and what people are told of it. */
import type { ZoneProblem } from '../../api/zone-status.ts';

/** Who holds the connections of a node: its kernel, or Open vSwitch's userspace datapath itself. */
type ConnectionTable = 'kernel' | 'userspace';

/** Connections that there are, and how many there may be; `limit` Infinity where there is none. */
export interface Usage {
  readonly entries: number;
  readonly limit: number;
}

export interface TableUsage extends Usage {
  readonly table: ConnectionTable;
}

/** Of a conntrack zone that has a limit of its own. */
export interface ZoneUsage extends Usage {
  readonly zone: number;
}

export type Fullness = 'nearly' | 'full';

/** Of the limit. Entries end while they are counted, so a table that takes nothing more is seldom seen with its last one. */
const FULL = 0.99;
const NEARLY = 0.9;
/** What was fuller stays reported until it is below this: who is at a limit goes up and down there. */
const OVER = 0.8;

/** How full it is to be called, after it was called `before`. */
export function fullnessOf(
  { entries, limit }: Usage,
  before: Fullness | undefined,
): Fullness | undefined {
  if (entries >= FULL * limit) return 'full';
  if (entries < OVER * limit) return undefined;
  return entries >= NEARLY * limit ? (before ?? 'nearly') : before;
}

const ZONE_LIMIT = /^zone=(\d+),limit=(\d+),count=(\d+)$/gm;

/** What `dpctl/ct-get-limits` (ovs-vswitchd(8)) lists. A limit of 0 is none. */
export const zoneUsages = (text: string): readonly ZoneUsage[] =>
  [...text.matchAll(ZONE_LIMIT)].flatMap(([, zone, limit, entries]) =>
    limit === '0' ? [] : [{ zone: Number(zone), limit: Number(limit), entries: Number(entries) }],
  );

const TABLES: Readonly<
  Record<ConnectionTable, { text: string; raise: string; consequence: string }>
> = {
  kernel: {
    text: "the kernel's table of connections",
    raise: 'net.netfilter.nf_conntrack_max',
    consequence: 'packets of new connections of all pods, and of the host, are dropped',
  },
  userspace: {
    text: "the table of connections of Open vSwitch's userspace datapath",
    raise: 'ovs-appctl dpctl/ct-set-maxconns',
    consequence: 'new connections of all pods are not tracked, so that none of them gets answers',
  },
};

/** Nothing in it changes with each connection. */
export function tableProblem(
  node: string,
  { table, limit }: TableUsage,
  fullness: Fullness,
): ZoneProblem {
  const { text, raise, consequence } = TABLES[table];
  const state =
    fullness === 'full'
      ? `${text} is full (${limit}): ${consequence}`
      : `${text} is full to more than nine tenths of ${limit}; when it is full, ${consequence}`;
  return {
    object: `Node ${node}`,
    message: `${state}. See whose connections they are (docs/operations.md, "A full table of connections"), bound those of a pod (max-pod-connections), or raise the limit (${raise})`,
  };
}

/** `object`: whose port it is. */
export const zoneProblem = (object: string, port: string, { limit }: ZoneUsage): ZoneProblem => ({
  object,
  message: `its port ${port} has as many connections as max-pod-connections lets it have (${limit}): new ones, from it and to it, fail until others end`,
});

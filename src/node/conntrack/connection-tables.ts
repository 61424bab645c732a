/** Looks how full the tables of connections of a node are: who fills them takes new connections from everybody. */
import type { ReplicaRow, ReplicaView } from 'ovsdb-client-ts';
import { withoutErrno } from '../../api/without-errno.ts';
import type { ZoneProblem } from '../../api/zone-status.ts';
import type { Sysctls } from '../linux/kernel-sysctls.ts';
import { INTEGRATION_BRIDGE, USERSPACE_DATAPATH } from '../names.ts';
import { isUserspace, textOf } from '../openflow/bridge-ports.ts';
import { UnixctlError, UnixctlRefused, type Unixctl } from '../programs/unixctl.ts';
import {
  fullnessOf,
  tableProblem,
  zoneProblem,
  zoneUsages,
  type Fullness,
  type TableUsage,
  type Usage,
  type ZoneUsage,
} from './connection-limits.ts';

/** Sysctls of the kernel's table: what the network namespace of who reads them has, and what each may have. */
const KERNEL_ENTRIES = 'net/netfilter/nf_conntrack_count';
const KERNEL_LIMIT = 'net/netfilter/nf_conntrack_max';
/** Commands of ovs-vswitchd(8), each of one datapath. */
const ENTRIES = 'dpctl/ct-get-nconns';
const LIMIT = 'dpctl/ct-get-maxconns';
const ZONE_LIMITS = 'dpctl/ct-get-limits';
/** What it says where the datapath has no limits of zones; one that is not there is refused in other words. */
const NO_ZONE_LIMITS = 'failed to get conntrack limit';
/** What ovn-controller calls the zone of a port in `external_ids` of the integration bridge. */
const ZONE_OF = 'ct-zone-';
/** Milliseconds between two looks at least. */
const LOOK = 10_000;

export interface ConnectionTablesOptions {
  readonly node: string;
  readonly sysctls: Pick<Sysctls, 'read'>;
  readonly vswitchd: Pick<Unixctl, 'run'>;
  /** Of the local Open_vSwitch database; undefined while that can't be read. */
  readonly openVswitch: () => ReplicaView | undefined;
  /** Whether ports of pods have limits of their own. */
  readonly hasPodLimits: boolean;
  /** The pod of a logical port, `Pod namespace/name`. */
  readonly podOf: (port: string) => string | undefined;
  /** Called when there is another problem than before. */
  readonly onChange: () => void;
  /** Milliseconds on a monotonic clock. */
  readonly now?: () => number;
}

/** What one look finds. */
interface Reading {
  readonly usages: readonly TableUsage[];
  readonly zones: readonly ZoneUsage[];
  /** Logical ports by their zones. */
  readonly ports: ReadonlyMap<number, string>;
  /** Why Open vSwitch does not say how full its tables are, or can't have what it should, if so. */
  readonly failure: string | undefined;
}

export class ConnectionTables {
  readonly #options: ConnectionTablesOptions;
  readonly #now: () => number;
  #lookedAt = -Infinity;
  #usages: readonly TableUsage[] = [];
  /** By what has the limit. */
  #fullness: ReadonlyMap<string, Fullness> = new Map();
  #problems: readonly ZoneProblem[] = [];

  constructor(options: ConnectionTablesOptions) {
    this.#options = options;
    this.#now = options.now ?? ((): number => performance.now());
  }

  /** As of the last look; none of a table that could not be read. */
  get usages(): readonly TableUsage[] {
    return this.#usages;
  }

  /** Tables that are full, or nearly, and pods that have all connections that they may have. */
  problems(): readonly ZoneProblem[] {
    return this.#problems;
  }

  /** Looks, unless it just did. Returns the milliseconds until it may look again. `signal` ends it, and it stays as it was. */
  async look(signal: AbortSignal): Promise<number> {
    const wait = this.#lookedAt + LOOK - this.#now();
    if (wait > 0) return wait;
    this.#lookedAt = this.#now();
    const before = this.#problems;
    const reading = await this.#read(signal);
    if (signal.aborted) return LOOK;
    this.#judge(reading);
    if (textOfAll(before) !== textOfAll(this.#problems)) this.#options.onChange();
    return LOOK;
  }

  #judge({ usages, zones, ports, failure }: Reading): void {
    const { node, podOf } = this.#options;
    const object = `Node ${node}`;
    const fullness = new Map<string, Fullness>();
    const judged = (name: string, usage: Usage): Fullness | undefined => {
      const found = fullnessOf(usage, this.#fullness.get(name));
      if (found !== undefined) fullness.set(name, found);
      return found;
    };
    const problems: ZoneProblem[] = [];
    if (failure !== undefined) problems.push({ object, message: failure });
    for (const usage of usages) {
      const found = judged(usage.table, usage);
      if (found !== undefined) problems.push(tableProblem(node, usage, found));
    }
    for (const usage of zones) {
      if (judged(`zone ${usage.zone}`, usage) !== 'full') continue;
      const port = ports.get(usage.zone) ?? `of conntrack zone ${usage.zone}`;
      problems.push(zoneProblem(podOf(port) ?? object, port, usage));
    }
    this.#usages = usages;
    this.#fullness = fullness;
    this.#problems = problems;
  }

  async #read(signal: AbortSignal): Promise<Reading> {
    const { vswitchd, openVswitch, hasPodLimits } = this.#options;
    const kernel = this.#kernel();
    const usages = kernel === undefined ? [] : [kernel];
    const replica = openVswitch();
    const bridge = replica && bridgeRow(replica);
    // Before ovn-controller has made the bridge there is no datapath to ask for.
    if (replica === undefined || bridge === undefined)
      return { usages, zones: [], ports: new Map(), failure: undefined };
    const inUserspace = isUserspace(replica, INTEGRATION_BRIDGE);
    const ports = hasPodLimits ? portsByZone(bridge) : new Map<number, string>();
    const datapath = inUserspace ? USERSPACE_DATAPATH : 'system@ovs-system';
    const ask = (command: string): Promise<string> => vswitchd.run(command, [datapath], signal);
    try {
      if (inUserspace) {
        const [entries, limit] = [await ask(ENTRIES), await ask(LIMIT)];
        usages.push({ table: 'userspace', entries: Number(entries), limit: Number(limit) });
      }
      const zones = hasPodLimits ? zoneUsages(await ask(ZONE_LIMITS)) : [];
      return { usages, zones, ports, failure: undefined };
    } catch (error) {
      if (!(error instanceof UnixctlError)) throw error;
      return { usages, zones: [], ports, failure: failureText(error) };
    }
  }

  /** Undefined where the kernel tracks no connections. */
  #kernel(): TableUsage | undefined {
    const { sysctls } = this.#options;
    const [entries, limit] = [sysctls.read(KERNEL_ENTRIES), sysctls.read(KERNEL_LIMIT)];
    if (entries === undefined || limit === undefined) return undefined;
    return {
      table: 'kernel',
      entries: Number(entries),
      limit: limit === '0' ? Infinity : Number(limit),
    };
  }
}

const textOfAll = (problems: readonly ZoneProblem[]): string =>
  problems.map(({ object, message }) => `${object}: ${message}`).join('\n');

const failureText = (error: UnixctlError): string =>
  error instanceof UnixctlRefused && error.message.includes(NO_ZONE_LIMITS)
    ? `max-pod-connections limits nothing here: Open vSwitch has no limits of conntrack zones (${error.message}). Its kernel datapath needs a kernel with CONFIG_NETFILTER_CONNCOUNT for them: run one, or set max-pod-connections to 0`
    : `how full Open vSwitch's tables of connections are can't be seen: ${withoutErrno(error.message)}; see whether ovs-vswitchd runs`;

const bridgeRow = (replica: ReplicaView): ReplicaRow | undefined =>
  [...replica.rows('Bridge')].find((row) => textOf(row, 'name') === INTEGRATION_BRIDGE);

/** Names of logical ports by their zones. */
function portsByZone(bridge: ReplicaRow): Map<number, string> {
  const ids = bridge.column('external_ids');
  const zones = ids instanceof Map ? [...(ids as ReadonlyMap<string, string>)] : [];
  return new Map(
    zones.flatMap(([key, zone]) =>
      key.startsWith(ZONE_OF) ? [[Number(zone), key.slice(ZONE_OF.length)] as const] : [],
    ),
  );
}

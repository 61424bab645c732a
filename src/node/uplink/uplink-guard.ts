/**
 * Nothing leaves by the uplink with an address of the masquerade subnet, by a rule of the kernel: flows of the external bridge are gone when ovs-vswitchd starts
 * anew or somebody makes the bridge again, and until the daemon has written them the bridge is a switch (docs/bridge.md).
 */
import { errorText, faultStack } from '../../api/error-text.ts';
import type { ZoneProblem } from '../../api/zone-status.ts';
import {
  bitsOf,
  FAMILIES,
  formatPrefix,
  parsePrefix,
  type Prefix,
} from '../../allocators/addresses.ts';
import type { PerFamily } from '../../model/model.ts';
import type { Log } from '../../store/log.ts';
import { systemClock, type Clock } from '../../store/clock.ts';
import { WorkQueue } from '../../store/work-queue.ts';
import type { NetworkMonitor } from '../linux/network-monitor.ts';
import { linkOf, openRouteSocket } from '../linux/network-socket.ts';
import { NftError, type NftProgram, type NftTable } from '../nftables/nft-program.ts';
import type { BridgeUplinks } from '../openflow/bridge-ports.ts';
import { gatewayBridgeOf } from './state.ts';
import type { UplinkSwitch } from './uplink-switch.ts';

/** A table of its own: an egress hook belongs to a device (nft(8), netdev). */
export const GUARD_TABLE: NftTable = { family: 'netdev', name: 'heddle-uplink' };
const TABLE = `${GUARD_TABLE.family} ${GUARD_TABLE.name}`;
const KEY = 'guard';
const RESYNC = 60_000;
/** Whoever sets up a device does more than one thing with it. */
const DEBOUNCE = 100;

/** What there is, or is to be: devices, and what rules match. */
export interface Guard {
  readonly devices: readonly string[];
  readonly matches: readonly string[];
}

/** As nft counts: bits of the ethertype, of that behind a tag, and of the source behind the tag (IEEE 802.1Q; RFC 791 §3.1; RFC 8200 §3). */
const TAGGED = '@ll,96,16 0x8100';
const BEHIND_TAG = {
  v4: { type: '@ll,128,16 0x0800', source: 8 * (18 + 12) },
  v6: { type: '@ll,128,16 0x86dd', source: 8 * (18 + 8) },
} as const;

function matchesOf(prefix: Prefix): readonly string[] {
  const { family, base, length } = prefix;
  const { type, source } = BEHIND_TAG[family];
  const bits = (base >> BigInt(bitsOf(family) - length)).toString(16);
  return [
    `${family === 'v4' ? 'ip' : 'ip6'} saddr ${formatPrefix(prefix)}`,
    // Open vSwitch's userspace datapath sends tags as bytes: nft's own match of those asks for a device that it came from.
    `${TAGGED} ${type} @ll,${source},${length} 0x${bits}`,
  ];
}

/** What keeps these ranges from leaving by these devices; nothing where there are none. */
export function guardOf(devices: readonly string[], ranges: PerFamily<string>): Guard {
  const matches = FAMILIES.flatMap((family) => {
    const prefix = parsePrefix(ranges[family] ?? '');
    return prefix === undefined ? [] : matchesOf(prefix);
  });
  return devices.length === 0 || matches.length === 0
    ? NOTHING
    : { devices: devices.toSorted(), matches };
}

const NOTHING: Guard = { devices: [], matches: [] };

/** What nft lists of the table. */
export function foundGuard(objects: readonly unknown[]): Guard {
  const devices: string[] = [];
  const matches: string[] = [];
  for (const object of objects) {
    const { chain, rule } = object as {
      chain?: { dev?: string | readonly string[] };
      rule?: { comment?: string };
    };
    devices.push(...[chain?.dev ?? []].flat());
    if (rule !== undefined) matches.push(rule.comment ?? '');
  }
  return { devices: devices.toSorted(), matches };
}

/** One transaction, whatever there was. */
export function guardCommands({ devices, matches }: Guard): readonly string[] {
  const away = [`table ${TABLE}`, `delete table ${TABLE}`];
  if (devices.length === 0) return away;
  const names = devices.map((name) => `"${name}"`).join(', ');
  return [
    ...away,
    `table ${TABLE} { chain uplink { type filter hook egress devices = { ${names} } priority 0; policy accept; }; }`,
    ...matches.map((match) => `add rule ${TABLE} uplink ${match} counter drop comment "${match}"`),
  ];
}

const isSame = (a: Guard, b: Guard): boolean =>
  a.devices.join() === b.devices.join() && a.matches.join() === b.matches.join();

export interface UplinkGuardOptions {
  readonly node: string;
  /** Of masquerading. */
  readonly ranges: PerFamily<string>;
  readonly openVswitch: Pick<UplinkSwitch, 'unavailable' | 'read' | 'follow'>;
  /** Of each bridge besides br-int. */
  readonly uplinks: () => ReadonlyMap<string, BridgeUplinks>;
  readonly nft: Pick<NftProgram, 'list' | 'change'>;
  /** Path of the network namespace; that of the process, if none is named. */
  readonly namespace?: string | undefined;
  readonly monitor: Pick<NetworkMonitor, 'listen' | 'follow'>;
  readonly log: Log;
  readonly clock?: Clock;
  /** Called when there may be something new in `notes`. */
  readonly onChange?: () => void;
  readonly signal: AbortSignal;
}

/** What would go, in words; empty where there is none. Throws NftError. */
export async function guardRemovalText(nft: UplinkGuardOptions['nft']): Promise<string> {
  return (await nft.list(GUARD_TABLE)) === undefined ? '' : `remove nftables table ${TABLE}`;
}

/** Takes it away. Returns why nft refused, or undefined. Throws NftError. */
export async function removeGuard(nft: UplinkGuardOptions['nft']): Promise<string | undefined> {
  const isThere = (await guardRemovalText(nft)) !== '';
  return isThere ? nft.change(guardCommands(NOTHING)) : undefined;
}

export class UplinkGuard {
  readonly #options: UplinkGuardOptions;
  readonly #queue: WorkQueue;
  #refusal: string | undefined;
  /** As the bridge has them, there or not. */
  #named: readonly string[] = [];
  #unfollow: readonly (() => void)[] | undefined;

  constructor(options: UplinkGuardOptions) {
    this.#options = options;
    const { log, clock = systemClock } = options;
    this.#queue = new WorkQueue({
      reconcile: () => this.#reconcile(),
      onFailure: ({ error, attempt }) => {
        const message = errorText(error);
        if (message !== this.#refusal)
          log.error({ component: 'host', attempt, stack: faultStack(error) }, message);
        this.#note(message);
      },
      backoff: { first: 1000, longest: RESYNC },
      clock,
    });
  }

  /** Works until the signal aborts. */
  async run(): Promise<void> {
    try {
      this.#queue.add(KEY);
      await this.#queue.run(this.#options.signal);
    } finally {
      for (const unfollow of this.#unfollow ?? []) unfollow();
    }
  }

  /** The local Open_vSwitch database may be another than before. */
  openVswitchChanged(): void {
    this.#queue.add(KEY);
  }

  notes(): readonly ZoneProblem[] {
    if (this.#refusal === undefined) return [];
    const message = `nothing but flows keeps masquerade addresses from leaving by the uplink, and there are none while ovs-vswitchd starts: ${this.#refusal}; the kernel's egress hook of nftables comes with Linux 5.16`;
    return [{ object: `Node ${this.#options.node}`, message }];
  }

  async #reconcile(): Promise<{ readonly after: number }> {
    const { openVswitch, uplinks, ranges, nft, log } = this.#options;
    // What is there stays.
    if (openVswitch.unavailable() !== undefined) return { after: RESYNC };
    this.#unfollow ??= this.#follow();
    this.#options.monitor.listen();
    const bridge = gatewayBridgeOf(openVswitch.read().mappings);
    const found = bridge === undefined ? [] : (uplinks().get(bridge)?.found ?? []);
    this.#named = found.flatMap(({ name, isOfKernel }) => (isOfKernel ? [name] : []));
    const devices = this.#there(this.#named);
    // A bridge that is deleted, or has no uplink, may have the same one again at any moment.
    if (devices.length === 0) return { after: RESYNC };
    const wanted = guardOf(devices, ranges);
    const objects = await nft.list(GUARD_TABLE);
    if (isSame(objects === undefined ? NOTHING : foundGuard(objects), wanted)) {
      this.#note(undefined);
      return { after: RESYNC };
    }
    const refusal = await nft.change(guardCommands(wanted));
    if (refusal !== undefined) throw new NftError(refusal);
    log.info({ component: 'host', devices }, 'uplink guarded');
    this.#note(undefined);
    return { after: RESYNC };
  }

  /** Those that the kernel has. */
  #there(names: readonly string[]): readonly string[] {
    using socket = openRouteSocket(this.#options.namespace);
    return names.filter((name) => linkOf(socket, name) !== undefined);
  }

  #follow(): readonly (() => void)[] {
    const { monitor, openVswitch } = this.#options;
    const look = (): void => {
      this.#queue.addAfter(KEY, DEBOUNCE);
    };
    return [
      openVswitch.follow(look),
      monitor.follow({
        onStale: (stale) => {
          const isOurs = stale.kind === 'link' && this.#named.includes(stale.dev);
          if (stale.kind === 'all' || isOurs) look();
        },
      }),
    ];
  }

  #note(refusal: string | undefined): void {
    if (this.#refusal === refusal) return;
    this.#refusal = refusal;
    this.#options.onChange?.();
  }
}

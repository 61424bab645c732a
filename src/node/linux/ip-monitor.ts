/**
 * Hears of changes of the network stack from `ip monitor`. What it prints is a trigger alone: it says what to read again. After an overrun
 * of its socket, which it survives, and after its end everything is read again.
 */
import { MAIN_TABLE } from '../numbers.ts';
import type { Argv } from '../programs/program.ts';
import { ProgramMonitor } from '../programs/program-monitor.ts';

/** What has to be read again. */
export type Stale =
  | {
      readonly kind: 'link';
      readonly dev: string;
      /** Of a link to another network namespace, as pods have them: it is there, or goes, or is held by a device such as a VRF. */
      readonly isOutward?: 'there' | 'gone' | 'held';
    }
  | { readonly kind: 'sysctls'; readonly dev: string }
  | { readonly kind: 'sysctl'; readonly path: string }
  | { readonly kind: 'routes'; readonly table: number }
  /** `table`: 0 for a rule that names none. */
  | { readonly kind: 'rules'; readonly table: number }
  | { readonly kind: 'neighbour'; readonly dev: string; readonly address: string }
  | { readonly kind: 'all' };

const LINE = /^\[(LINK|ADDR|ROUTE|RULE|NEIGH|NETCONF)\](.*)$/;
/** A route that the kernel made for an address of a management port, and that somebody removes. */
const KERNELS_OF_OURS = /^Deleted .* dev ovn-k8s-mp.* proto 2 /;

/** `5: ab12@if2: <…`: a link whose other end has number 2 in another namespace; `@NONE` when that end is gone already. */
const LINK_LINE = /^(Deleted )?\d+: ([^:@\s]+)(@if\d+|@NONE)?/;
const LINK_LOCAL = / inet6 fe80:/;
/** In something other than Open vSwitch's kernel datapath. */
const MASTER = / master (?!ovs-system )/;

/** What a line of `ip -N -d monitor label` means for somebody whose routes and neighbours have `protocol`; undefined: nothing. */
export function staleAfter(line: string, protocol: number): Stale | undefined {
  const [, label, text = ''] = LINE.exec(line) ?? [];
  const isMarked = text.includes(` proto ${protocol} `) || text.endsWith(` proto ${protocol}`);
  switch (label) {
    case 'LINK': {
      const [, deleted, dev, isOutward] = LINK_LINE.exec(text) ?? [];
      if (dev === undefined) return undefined;
      if (isOutward === undefined) return { kind: 'link', dev };
      if (deleted !== undefined) return { kind: 'link', dev, isOutward: 'gone' };
      return { kind: 'link', dev, isOutward: MASTER.test(text) ? 'held' : 'there' };
    }
    case 'ADDR': {
      // Every device gets one by itself, those of pods as well.
      if (LINK_LOCAL.test(text)) return undefined;
      const dev = /^(?:Deleted )?\d+: (\S+)/.exec(text)?.[1];
      return dev === undefined ? undefined : { kind: 'link', dev };
    }
    case 'ROUTE':
      // A route of somebody else is nothing to us, however many there are.
      if (!isMarked && !KERNELS_OF_OURS.test(text)) return undefined;
      return { kind: 'routes', table: Number(/ table (\d+)/.exec(text)?.[1] ?? MAIN_TABLE) };
    case 'RULE':
      return { kind: 'rules', table: Number(/ lookup (\d+)/.exec(text)?.[1] ?? 0) };
    case 'NEIGH': {
      const [, address, dev] = /^(?:Deleted )?(\S+) dev (\S+) /.exec(text) ?? [];
      if (!isMarked || address === undefined || dev === undefined) return undefined;
      return { kind: 'neighbour', dev, address };
    }
    case 'NETCONF': {
      const dev = /^(?:Deleted )?inet6? (\S+)/.exec(text)?.[1];
      return dev === undefined ? undefined : { kind: 'sysctls', dev };
    }
    default:
      return undefined;
  }
}

/** True for a line about a default route of the main table, whoever made it. */
export const isOfDefaultRoute = (line: string): boolean =>
  /^\[ROUTE\](?:Deleted )?(?:\d+ )?default /.test(line) &&
  (!line.includes(' table ') || line.includes(` table ${MAIN_TABLE} `));

/** Bytes of the socket's buffer, of which the kernel gives as many as `net.core.rmem_max` allows. */
const RECEIVE_BUFFER = 16 * 1024 * 1024;
const OVERRUN = /No buffer space|netlink receive error/;
/** NETLINK_ROUTE (linux/netlink.h). */
const NETLINK_ROUTE = '0';
const WHAT = ['link', 'address', 'route', 'rule', 'neigh', 'netconf'];

export interface IpMonitorOptions {
  readonly program: Argv;
  readonly protocol: number;
  readonly onStale: (stale: Stale) => void;
  /** Called when a way out of the host comes or goes. */
  readonly onDefaultRoute?: () => void;
  /** Called with what went wrong: an overrun, an end. */
  readonly onTrouble?: (text: string) => void;
}

export class IpMonitor implements Disposable {
  readonly #monitor: ProgramMonitor;
  #overruns = 0;

  constructor({ program, protocol, onStale, onDefaultRoute, onTrouble }: IpMonitorOptions) {
    const flags = ['-Numeric', '-details', '-rcvbuf', String(RECEIVE_BUFFER)];
    const onUnknown = (): void => onStale({ kind: 'all' });
    this.#monitor = new ProgramMonitor({
      name: 'ip monitor',
      program: [...program, ...flags, 'monitor', 'label', ...WHAT],
      netlink: NETLINK_ROUTE,
      onLines(lines) {
        for (const line of lines) {
          const stale = staleAfter(line, protocol);
          if (stale !== undefined) onStale(stale);
          if (onDefaultRoute !== undefined && isOfDefaultRoute(line)) onDefaultRoute();
        }
      },
      onError: (text) => {
        if (!OVERRUN.test(text)) return;
        this.#overruns += 1;
        onTrouble?.(`events of the kernel were lost: ${text}`);
        onUnknown();
      },
      onUnknown,
      onTrouble,
    });
  }

  /** How often events were lost. */
  get overruns(): number {
    return this.#overruns;
  }

  /** Resolves when it is subscribed: what happens from then on is not missed. */
  start(): Promise<void> {
    return this.#monitor.start();
  }

  [Symbol.dispose](): void {
    this.#monitor[Symbol.dispose]();
  }
}

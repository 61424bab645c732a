/** What ovn-controller of a node is to read in `external_ids` of the local Open_vSwitch database (ovn-controller(8), reference/node.md §5). Pure. */

/** Settings of Heddle that say so. */
export interface ChassisSettings {
  /** Addresses of the host, or subnets in which it has one; empty: the address that the node is known by. */
  readonly encapIps: readonly string[];
  /** Remote of the Southbound database; undefined where that is left alone. */
  readonly southbound: string | undefined;
  readonly monitorAll: boolean;
  /** Milliseconds. */
  readonly inactivityProbe: number;
  /** Milliseconds. */
  readonly waitBeforeClear: number;
  readonly lflowCache: {
    readonly isEnabled: boolean;
    /** Logical flows; 0: no limit. */
    readonly limit: number;
    /** KiB; 0: no limit. */
    readonly limitKb: number;
  };
  /** Names of those settings that somebody gave; others have their defaults. */
  readonly given: ReadonlySet<string>;
}

/**
 * Of the integration bridge, when ovn-controller connects to it next. `none`: it has not programmed this node yet. `kept`: they stay until it has
 * computed new ones. `lost`: ovs-vswitchd is starting anew, and has none.
 */
export type ChassisFlows = 'none' | 'kept' | 'lost';

/** What is known of the node when they are set. */
export interface ChassisFacts {
  readonly node: string;
  /** Ends of its tunnels; undefined while they are not known. */
  readonly encapIps: readonly string[] | undefined;
  readonly flows: ChassisFlows;
}

/** One key of `external_ids`. */
export interface ChassisSetting {
  readonly key: string;
  /** Undefined: not known yet, so what is there stays. */
  readonly value: string | undefined;
  /** Setting of Heddle that says what it is. */
  readonly option?: string;
  readonly isGiven?: boolean;
  /** Whether networks work with what somebody else set; absent: with anything. */
  readonly works?: (found: string) => boolean;
  /** What does not work otherwise, as the end of a sentence. */
  readonly otherwise?: string;
  /** What an ovn-kubernetes leaves there, which nobody set on purpose. */
  readonly ofReference?: string;
  /** Nobody needs to know that it is another value. */
  readonly isOfNoInterest?: true;
}

/** In front of a key of `external_ids`: the value that Heddle set. Who finds another one there knows that it is somebody's. */
export const MARK = 'heddle-set-';

export const ENCAP_IP = 'ovn-encap-ip';
const ENCAP_TYPE = 'geneve';
export const SOUTHBOUND_REMOTE = 'ovn-remote';

const listOf = (text: string): readonly string[] => text.split(',').map((part) => part.trim());

/** One setting per key; what is left out is not set, and taken back where Heddle set it. */
export function chassisSettings(
  settings: ChassisSettings,
  { node, encapIps, flows }: ChassisFacts,
): readonly ChassisSetting[] {
  const { southbound, lflowCache, given } = settings;
  const of = (option: string): { readonly option: string; readonly isGiven: boolean } => ({
    option: `--${option}`,
    isGiven: given.has(option),
  });
  const limit = (key: string, option: string, value: number): readonly ChassisSetting[] =>
    value > 0 ? [{ key, value: String(value), ...of(option) }] : [];
  return [
    {
      key: 'ovn-is-interconn',
      value: 'true',
      works: (found) => found.toLowerCase() === 'true',
      otherwise: 'no tunnels to other nodes',
    },
    {
      key: 'ovn-encap-type',
      value: ENCAP_TYPE,
      works: (found) => listOf(found).includes(ENCAP_TYPE),
      otherwise: 'no tunnels that other nodes understand',
    },
    { key: ENCAP_IP, value: encapIps?.join(','), ...of('encap-ip') },
    ...(southbound === undefined ? [] : [{ key: SOUTHBOUND_REMOTE, value: southbound }]),
    // The Southbound database of a zone holds what its one node needs: choosing among it costs more than it spares.
    { key: 'ovn-monitor-all', value: String(settings.monitorAll), ...of('monitor-all') },
    {
      key: 'ovn-remote-probe-interval',
      value: String(settings.inactivityProbe),
      ...of('inactivity-probe'),
    },
    { key: 'ovn-bridge-remote-probe-interval', value: '0' },
    {
      key: 'ovn-ofctrl-wait-before-clear',
      // Where there are no flows to keep it would wait for nothing.
      value: { none: undefined, kept: String(settings.waitBeforeClear), lost: '0' }[flows],
      ofReference: '0',
      ...of('ofctrl-wait-before-clear'),
    },
    {
      key: 'ovn-enable-lflow-cache',
      value: String(lflowCache.isEnabled),
      ...of('enable-lflow-cache'),
    },
    ...limit('ovn-limit-lflow-cache', 'lflow-cache-limit', lflowCache.limit),
    ...limit('ovn-memlimit-lflow-cache-kb', 'lflow-cache-limit-kb', lflowCache.limitKb),
    { key: 'hostname', value: node, isOfNoInterest: true },
  ];
}

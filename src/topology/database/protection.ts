/** Limits for what reaches ovn-controller (reference/topology.md §5). */

import { ONE } from '../../facts/keys.ts';
import type { Feature } from '../../desired/features.ts';
import { SETTINGS, type TableClaim } from '../../desired/rows.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { claimByName, numberOf, textOf } from '../rows/found.ts';
import { meterBandKey } from '../rows/row-keys.ts';
import { ACL_LOGGING_METER } from '../numbers.ts';
import { holds, NORTHBOUND, Rows } from '../rows/unit-rows.ts';

/** The protection of ovn-controller that every logical router has. */
export const COPP = 'ovnkube-default';

/** The protection of ovn-controller that every switch of pods has. ovn-kubernetes has none there. */
export const SWITCH_COPP = 'heddle-pod-switches';

/** Kinds of packets that routers hand to ovn-controller, limited each by a meter of its own; the last two, of IPv6, are Heddle's. */
const PROTECTED = [
  'arp',
  'arp-resolve',
  'bfd',
  'event-elb',
  'icmp4-error',
  'icmp6-error',
  'reject',
  'svc-monitor',
  'tcp-reset',
  'nd-ns-resolve',
  'nd-ra-opts',
] as const;

/** Kinds of packets that switches of pods hand to ovn-controller: for services without endpoints, and memberships of multicast groups. */
const PROTECTED_ON_SWITCHES = ['reject', 'igmp'] as const;

/** Packets per second of one kind that reach ovn-controller, from all routers of the node. */
const PROTECTED_RATE = 25;
/** The same from all switches of pods: what a busy node's pods send, and a small part of what ovn-controller can take. */
const SWITCH_RATE = 250;

const rateLimiter = (protocol: string): string => `${protocol}-rate-limiter`;
const switchRateLimiter = (protocol: string): string => `pod-switches-${protocol}-rate-limiter`;

const SWITCH_METERS: ReadonlySet<string> = new Set(PROTECTED_ON_SWITCHES.map(switchRateLimiter));
const METERS: ReadonlySet<string> = new Set([
  ...PROTECTED.map(rateLimiter),
  ...SWITCH_METERS,
  ACL_LOGGING_METER,
]);

const METER_BAND_CLAIM: TableClaim = {
  database: NORTHBOUND,
  table: 'Meter_Band',
  container: { table: 'Meter', column: 'bands' },
  // Bands of other meters are unmanaged, whatever their rate.
  keyOf: (row, meter) =>
    meter !== undefined && METERS.has(meter.key)
      ? meterBandKey(textOf(row, 'action') ?? '', numberOf(row, 'rate') ?? 0)
      : undefined,
};

export const controlPlaneProtection: Feature<ZoneFacts> = {
  name: 'database/protection',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    copp: {
      text: 'Every router and every switch of pods limits what it hands to ovn-controller, each kind of packet by a meter of its own.',
      source: 'reference/topology.md §5',
    },
    meters: {
      text: 'Each meter drops what is above its rate; meters of one rate share a band.',
      source: 'reference/topology.md §5',
    },
  },
  claims: [claimByName(NORTHBOUND, 'Copp'), claimByName(NORTHBOUND, 'Meter'), METER_BAND_CLAIM],
  build({ settings }, _args, out) {
    const rows = Rows.northbound(out, SETTINGS);
    rows.by('copp').named('Copp', COPP, {
      meters: Object.fromEntries(PROTECTED.map((protocol) => [protocol, rateLimiter(protocol)])),
    });
    rows.by('copp').named('Copp', SWITCH_COPP, {
      meters: Object.fromEntries(
        PROTECTED_ON_SWITCHES.map((protocol) => [protocol, switchRateLimiter(protocol)]),
      ),
    });
    const rateOf = (meter: string): number => {
      if (meter === ACL_LOGGING_METER) return settings.aclLoggingRateLimit;
      return SWITCH_METERS.has(meter) ? SWITCH_RATE : PROTECTED_RATE;
    };
    for (const meter of METERS)
      rows.by('meters').named('Meter', meter, { unit: 'pktps', fair: true });
    for (const [rate, meters] of Map.groupBy(METERS, rateOf)) {
      rows
        .by('meters')
        .keyed(
          'Meter_Band',
          meterBandKey('drop', rate),
          { action: 'drop', rate },
          ...meters.map((meter) => holds('Meter', meter, 'bands')),
        );
    }
  },
};

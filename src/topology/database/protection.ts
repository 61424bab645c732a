/** Limits for what reaches ovn-controller (topology.md §5). */

import { ONE } from '../../facts/keys.ts';
import type { Feature } from '../../desired/features.ts';
import type { TableClaim } from '../../desired/rows.ts';
import type { ZoneFacts } from '../../model/zone/facts.ts';
import { claimByName, numberOf, textOf } from '../rows/found.ts';
import { meterBandKey } from '../rows/row-keys.ts';
import { ACL_LOGGING_METER } from '../numbers.ts';
import { CLUSTER, holds, NORTHBOUND, Rows } from '../rows/unit-rows.ts';

/** The protection of ovn-controller that every logical router has. */
export const COPP = 'ovnkube-default';

/** Kinds of packets that routers hand to ovn-controller, limited each by a meter of its own. */
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
] as const;

/** Packets per second of one kind that reach ovn-controller. */
const PROTECTED_RATE = 25;

const rateLimiter = (protocol: string): string => `${protocol}-rate-limiter`;

const METERS: ReadonlySet<string> = new Set([...PROTECTED.map(rateLimiter), ACL_LOGGING_METER]);

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
  rules: {
    copp: {
      text: 'Every router limits what it hands to ovn-controller, each kind of packet by a meter of its own.',
      source: 'topology.md §5',
    },
    meters: {
      text: 'Each meter drops what is above its rate; meters of one rate share a band.',
      source: 'topology.md §5',
    },
  },
  claims: [claimByName(NORTHBOUND, 'Copp'), claimByName(NORTHBOUND, 'Meter'), METER_BAND_CLAIM],
  build({ settings }, _args, out) {
    const rows = Rows.northbound(out, CLUSTER);
    rows.by('copp').named('Copp', COPP, {
      meters: Object.fromEntries(PROTECTED.map((protocol) => [protocol, rateLimiter(protocol)])),
    });
    const rateOf = (meter: string): number =>
      meter === ACL_LOGGING_METER ? settings.aclLoggingRateLimit : PROTECTED_RATE;
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

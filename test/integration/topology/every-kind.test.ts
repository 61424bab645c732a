/** What OVN's own programs have to say of rows of every kind at once. */
import { expect, test } from 'vitest';
import { everyKind } from '../../support/zone/all-kinds.ts';
import { OvnController } from '../../support/zone/ovn-controller.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';
import {
  bluePod,
  CHASSIS_1,
  dualZone,
  exampleZone,
  inLocalMode,
  ipv6Zone,
  type Zone,
} from '../../support/zone/zones.ts';

/**
 * Gateway routers have several addresses on purpose. The port of a transit router to its switch asks for the key that the port
 * that northd makes of it for the chassis has no need of. ovn-controller looks for network cards that plug virtual functions themselves.
 */
const KNOWN = [
  /^Logical router port "rto(e|tr)-GR_\S+" is configured with multiple IPv[46] addresses/,
  /^Logical router port trtos-\S+ requests same tunnel key 1 as another LSP or LRP$/,
  /^failed to initialize representor VIF plug provider class/,
  // Of the machine, not of our rows: it does other work as well.
  /^(Unreasonably long \d+ms poll interval|faults:|disk:|context switches:)/,
];
const unknown = (warnings: readonly string[]): string[] =>
  warnings.filter((warning) => !KNOWN.some((known) => known.test(warning)));

const ZONES: readonly (readonly [string, Zone])[] = [
  ['IPv4', everyKind(exampleZone)],
  ['IPv4, local gateway mode', everyKind(inLocalMode(exampleZone))],
  ['both families', everyKind(dualZone)],
  ['IPv6', everyKind(ipv6Zone)],
];

test.each(ZONES)(
  '%s: ovn-northd and ovn-controller take all of it without a warning',
  { timeout: 120_000 },
  async (_name, zone) => {
    await using ovn = await OvnZone.start();
    await using controller = await OvnController.start(ovn, {
      chassis: CHASSIS_1,
      address: '172.18.0.3',
      mappings: { physnet: 'breth0', tenants: 'br-tenants' },
      ports: {
        'blue.blue_blue_pod1': bluePod.podUid,
        'yellow.yellow.net_yellow_pod2': bluePod.podUid,
        'blue.ln_blue_pod1': bluePod.podUid,
      },
    });
    expect(await ovn.apply(zone)).toEqual([]);
    await ovn.nbctl('--wait=hv', 'sync');
    expect(unknown(ovn.warnings())).toEqual([]);
    expect(unknown(controller.warnings())).toEqual([]);
    // It did look at them.
    expect((await controller.flows()).length).toBeGreaterThan(1000);
    expect(ovn.planOf(zone, 'Northbound')).toMatchObject({ isEmpty: true, problems: [] });
  },
);

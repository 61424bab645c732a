/** A driver at work in a namespace, as the daemon has it; and a program that does nothing else, to be killed. */
import { NetworkMonitor } from '../../../src/node/linux/network-monitor.ts';
import type { DesiredRow } from '../../../src/desired/rows.ts';
import { LinuxDriver } from '../../../src/node/linux/linux-driver.ts';
import type { HostProblem } from '../../../src/node/reconcile/host-plan.ts';
import { sysctlsBelow } from '../../../src/node/linux/kernel-sysctls.ts';
import { HostUnits } from './host-units.ts';
import { blue, dualZone, networkName, type Zone, type ZoneNetwork } from '../zone/zones.ts';

/** Two families, the default network and `count` further ones with the addresses of their ids. */
export const hostZone = (count: number): Zone => ({
  ...dualZone,
  networks: [
    ...dualZone.networks.slice(0, 1),
    ...Array.from({ length: count }, (_, index): ZoneNetwork => {
      const id = index + 1;
      const [second, third] = [(id >> 8) + 100, id & 255];
      return {
        ...blue,
        name: networkName(`net_${id}`),
        id,
        subnets: [
          { cidr: `103.${second}.${third}.0/24`, hostLength: 28 },
          { cidr: `fd20:${id}::/48`, hostLength: 64 },
        ],
        masquerade: {
          v4: {
            gatewayRouter: `169.254.${(9 + 2 * id) >> 8}.${(9 + 2 * id) & 255}`,
            managementPort: `169.254.${(10 + 2 * id) >> 8}.${(10 + 2 * id) & 255}`,
          },
          v6: {
            gatewayRouter: `fd69::${(9 + 2 * id).toString(16)}`,
            managementPort: `fd69::${(10 + 2 * id).toString(16)}`,
          },
        },
        nads: [`net/${id}`],
        nodeSubnets: new Map([
          ['ovn-worker', [`103.${second}.${third}.16/28`, `fd20:${id}:0:1::/64`]],
        ]),
        object: `UserDefinedNetwork net/${id}`,
      };
    }),
  ],
});

/** Devices that Open vSwitch and the node would have made, by name and MAC address. */
export const devicesOf = (zone: Zone): readonly (readonly [string, string])[] =>
  zone.networks.map(({ id, nodeSubnets }) => {
    const [cidr = ''] = nodeSubnets.get('ovn-worker') ?? [];
    const [a = '', b = '', c = '', d = ''] = cidr.replace(/\/.*/, '').split('.');
    const bytes = [a, b, c, String(Number(d) + 2)].map((byte) =>
      Number(byte).toString(16).padStart(2, '0'),
    );
    return [`ovn-k8s-mp${id}`, `0a:58:${bytes.join(':')}`];
  });

/** A row as it is where the kernel has no VRFs: devices stay outside. */
export const withoutVrf = (row: DesiredRow): DesiredRow | undefined => {
  if (row.table !== 'link') return row;
  if (row.columns['kind'] === 'vrf') return undefined;
  const { master: _, ...columns } = row.columns;
  return { ...row, columns };
};

/** Looks until nothing is to be done; returns what was done, and what is wrong. */
export async function settled(
  driver: LinuxDriver,
  isComplete = true,
): Promise<{ readonly applied: number; readonly problems: readonly HostProblem[] }> {
  let applied = 0;
  for (let round = 0; round < 20; round += 1) {
    await driver.refresh(performance.now());
    const plan = driver.plan(performance.now(), isComplete ? undefined : () => true);
    if (plan.isEmpty) return { applied, problems: plan.problems };
    applied += (await driver.apply(plan, performance.now())).applied;
  }
  throw new Error('the host is not as it should be after 20 rounds');
}

if (import.meta.main) {
  const [count = '0', hasVrf = ''] = process.argv.slice(2);
  using monitor = new NetworkMonitor();
  const driver = new LinuxDriver({ monitor, sysctls: sysctlsBelow('/proc/sys') });
  driver.start();
  new HostUnits(driver).want(hostZone(Number(count)), hasVrf === 'vrf' ? undefined : withoutVrf);
  await settled(driver);
  driver[Symbol.dispose]();
}

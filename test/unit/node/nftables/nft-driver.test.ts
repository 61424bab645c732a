import { expect, test } from 'vitest';
import { NftDriver } from '../../../../src/node/nftables/nft-driver.ts';
import { NftProgram } from '../../../../src/node/nftables/nft-program.ts';
import { HostUnits } from '../../../support/host/host-units.ts';
import { nftZone } from '../../../support/host/nft-zone.ts';
import { service, slice, withServices } from '../../../support/zone/services.ts';
import { blue, green, networkName, type Zone } from '../../../support/zone/zones.ts';

/** Network `blue_blue` has id 1; this one has id 3 and a name before it. */
const other = { ...green, name: networkName('a_green') };
const lb = (key: string, clusterIp: string) =>
  service(key, { clusterIPs: [clusterIp], externalIPs: ['5.5.5.9'] });

test('an external address that two services want is that of the older service: the other one has nothing of it on the host', () => {
  const zone: Zone = withServices(
    {
      ...nftZone,
      networks: [...nftZone.networks, other],
      namespaces: [...nftZone.namespaces, 'green'],
    },
    lb('blue/web', '10.96.1.1'),
    slice('blue/web', ['103.103.0.3'], { network: blue.name }),
    lb('green/web', '10.96.1.2'),
    slice('green/web', ['104.104.0.3'], { network: other.name }),
  );
  using driver = new NftDriver({ nft: new NftProgram(), cgroups: { find: () => undefined } });
  new HostUnits(driver).want(zone);
  const { changes, problems } = driver.plan(0);
  expect(
    changes
      .filter(({ key }) => key.includes('5.5.5.9'))
      .map(({ after, object }) => [after, object]),
  ).toEqual([
    [
      'external-ips-v4 { 5.5.5.9 . tcp . 80 comment "Service blue/web" : 10.96.1.1 . 80 }',
      'Service blue/web',
    ],
    [
      'udn-mark-external-ips-v4 { 5.5.5.9 . tcp . 80 comment "Service blue/web" : jump udn-mark-0x1001 }',
      'Service blue/web',
    ],
  ]);
  expect(problems).toEqual([]);
});

test('a table that could not be listed is listed again, whatever the reason was', async () => {
  let lists = 0;
  const list = (): Promise<readonly unknown[]> => {
    lists += 1;
    return lists === 2 ? Promise.reject(new TypeError('a mistake')) : Promise.resolve([]);
  };
  const nft = Object.assign(new NftProgram(), { list });
  using driver = new NftDriver({ nft, cgroups: { find: () => undefined } });
  await driver.refresh(performance.now());
  await expect(driver.refreshCounters()).rejects.toThrow('a mistake');
  await driver.refresh(performance.now());
  expect(lists).toBe(3);
});

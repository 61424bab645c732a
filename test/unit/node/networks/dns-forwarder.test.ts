import { expect, test } from 'vitest';
import { hostFeatures } from '../../../../src/node/features.ts';
import { zoneFeatures } from '../../../../src/topology/features.ts';
import { HOST_SETTINGS, hostUnits } from '../../../support/host/host-units.ts';
import { sharedNftZone } from '../../../support/host/nft-zone.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import { namedFacts, namedZone } from '../../../support/zone/named-networks.ts';

const rows = hostUnits(sharedNftZone)
  .filter(({ unit }) => unit.startsWith('host/dns-forwarder'))
  .flatMap((unit) => unit.rows);

test('what pods of primary networks ask DNS is the host’s where the forwarder listens, packet by packet', () => {
  const texts = rows
    .filter(({ columns }) => columns['chain'] === 'dns-networks')
    .map(({ columns }) => columns['text'] as string);
  expect(texts).toHaveLength(6);
  expect(texts.slice(0, 1)).toEqual([
    'iifname "ovn-k8s-mp*" ip daddr 10.96.0.10 udp dport 53 socket mark 1012 meta mark set 0x3f4',
  ]);
  expect(texts.filter((text) => text.includes('ip daddr 10.96.0.10 tcp'))).toEqual([
    'iifname "ovn-k8s-mp*" ip daddr 10.96.0.10 tcp dport 53 ct state new socket mark 1012 ct mark set 0x3f4',
    'iifname "ovn-k8s-mp*" ip daddr 10.96.0.10 tcp dport 53 ct mark 1012 meta mark set 0x3f4',
  ]);
});

test('a table of its own has the service for what is so marked', () => {
  const keys = rows.filter(({ database }) => database === 'Linux').map(({ key }) => key);
  expect(keys).toEqual(
    expect.arrayContaining([
      'inet priority 31 fwmark 0x3f4 lookup 8',
      'inet6 priority 31 fwmark 0x3f4 lookup 8',
      'inet table 8 10.96.0.10/32 metric 0',
      'inet6 table 8 fd00:10:96::a/128 metric 1024',
    ]),
  );
});

test('names of networks are answered with no row of OVN, and on the host with the way to the forwarder alone', () => {
  const off = { ...namedZone, settings: { ...namedZone.settings, networkNames: false } };
  const textsOf = (named: readonly string[], features: typeof zoneFeatures, zone = namedZone) =>
    builtUnits(namedFacts(zone, named), features).flatMap(({ unit, rows: built }) =>
      built.map((row) => JSON.stringify([unit, row])),
    );
  expect(textsOf(['blue/blue'], zoneFeatures)).toEqual(textsOf([], zoneFeatures, off));
  const host = hostFeatures(HOST_SETTINGS);
  const before = new Set(textsOf([], host, off));
  expect(textsOf([], host)).toEqual([...before]);
  const after = textsOf(['blue/blue'], host);
  expect([...before].filter((text) => !after.includes(text))).toEqual([]);
  const added = after.filter((text) => !before.has(text));
  expect(added.length).toBeGreaterThan(0);
  for (const text of added) expect(text).toMatch(/dns-networks|fwmark 0x3f4|table 8 /);
});

import { expect, test } from 'vitest';
import {
  AddressAnnouncements,
  announcementOf,
} from '../../../../src/node/announcer/address-announcements.ts';
import { silent } from '../../../support/cluster/cluster.ts';
import { ManualClock } from '../../../support/run/manual-clock.ts';

const MAC = '02:42:ac:12:00:03';

test('IPv4: an ARP request of the address for itself (RFC 5227 §2.3)', () => {
  expect(announcementOf('172.18.0.50', MAC, 0)).toBe(
    'ffffffffffff0242ac120003080600010800060400010242ac120003ac120032000000000000ac120032',
  );
  expect(announcementOf('172.18.0.50', MAC, 5)).toContain('0242ac120003810000050806');
});

test('IPv6: a neighbour advertisement to all nodes, with the checksum of RFC 4443 §2.3', () => {
  const frame = announcementOf('fd00:172:18::50', MAC, 0);
  expect(frame.slice(0, 28)).toBe('3333000000010242ac12000386dd');
  const ip = frame.slice(28);
  expect(ip.slice(0, 16)).toBe('6000000000203aff');
  const [source, target, body] = [ip.slice(16, 48), ip.slice(48, 80), ip.slice(80)];
  expect(target).toBe('ff020000000000000000000000000001');
  expect(body.slice(8)).toBe(`20000000${source}02010242ac120003`);
  // With the right checksum the sum of all words, and of the pseudo-header, is all ones.
  const words = `${source}${target}000000200000003a${body}`.match(/.{4}/g) ?? [];
  const sum = words.reduce((total, word) => {
    const next = total + parseInt(word, 16);
    return (next & 0xffff) + (next >>> 16);
  }, 0);
  expect(sum).toBe(0xffff);
});

test('an address that comes is announced several times; one that goes no more', async () => {
  const clock = new ManualClock();
  const sent: string[] = [];
  const stop = new AbortController();
  const announcements = new AddressAnnouncements({
    send: async ({ device }, frame) => {
      sent.push(`${device} ${frame.slice(-8)}`);
    },
    vlan: 0,
    clock,
    log: silent,
    signal: stop.signal,
  });
  const at = (address: string) => ({ address, device: 'br-ex', isBridge: true, mac: MAC });
  announcements.update([at('172.18.0.50')]);
  await clock.advance(1000);
  announcements.update([at('172.18.0.50'), at('172.18.0.51')]);
  expect(sent).toEqual(['br-ex ac120032', 'br-ex ac120032']);
  await clock.advance(600);
  announcements.update([at('172.18.0.51')]);
  await clock.advance(20_000);
  expect(sent.filter((line) => line.endsWith('32'))).toHaveLength(3);
  expect(sent.filter((line) => line.endsWith('33'))).toHaveLength(5);
  announcements.update([]);
  announcements.update([at('172.18.0.51')]);
  stop.abort();
  await clock.advance(20_000);
  expect(sent.filter((line) => line.endsWith('33'))).toHaveLength(5);
});

test('what another node may have is not announced, and is once this one may have it', async () => {
  const clock = new ManualClock();
  const sent: number[] = [];
  let mayAnnounce = false;
  const announcements = new AddressAnnouncements({
    send: async () => {
      sent.push(clock.monotonic());
    },
    mayAnnounce: () => mayAnnounce,
    vlan: 0,
    clock,
    log: silent,
    signal: new AbortController().signal,
  });
  announcements.update([
    { address: '172.18.0.50', device: 'br-ex', isBridge: true, mac: '02:42:ac:12:00:03' },
  ]);
  await clock.advance(1000);
  expect(sent).toEqual([]);
  mayAnnounce = true;
  await clock.advance(20_000);
  expect(sent).toEqual([1500, 3500, 7500]);
});

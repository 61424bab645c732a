/** Names asked of servers that answer on a real socket. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askServers } from '../../../../src/node/dns/dns-query.ts';
import { DnsServer, type DnsZone } from '../../../support/run/dns-server.ts';

let zone: DnsZone = {
  'www.example.org': { addresses: ['192.0.2.7', '192.0.2.8', '2001:db8::7'], ttl: 30 },
  'only.example.org': { addresses: ['192.0.2.9'], ttl: 5 },
  'broken.example.org': 'fails',
};
const otherZone: DnsZone = {
  'www.example.org': { addresses: ['192.0.2.77'], ttl: 60 },
  'broken.example.org': 'fails',
};

let server: DnsServer;
let other: DnsServer;
beforeAll(async () => {
  server = await DnsServer.listen(() => zone, '127.0.0.1');
  other = await DnsServer.listen(() => otherZone, '127.0.0.1');
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

test('an answer has addresses of the family, each with its TTL', async () => {
  expect(await askServers('www.example.org', 'v4', [server.at])).toEqual([
    expect.objectContaining({ address: '192.0.2.7', ttl: 30 }),
    expect.objectContaining({ address: '192.0.2.8', ttl: 30 }),
  ]);
  expect(await askServers('www.example.org', 'v6', [server.at])).toEqual([
    expect.objectContaining({ address: '2001:db8::7', ttl: 30 }),
  ]);
});

test('what changes is seen at once: no answer is remembered', async () => {
  expect(await askServers('only.example.org', 'v4', [server.at])).toHaveLength(1);
  zone = { ...zone, 'only.example.org': { addresses: ['192.0.2.10'], ttl: 5 } };
  expect(await askServers('only.example.org', 'v4', [server.at])).toEqual([
    expect.objectContaining({ address: '192.0.2.10' }),
  ]);
});

test('a name without an address of the family, or that is not there, has none', async () => {
  expect(await askServers('only.example.org', 'v6', [server.at])).toEqual([]);
  expect(await askServers('gone.example.org', 'v4', [server.at])).toEqual([]);
});

test('answers of all servers count; one that fails takes nothing from the others', async () => {
  const answers = await askServers('www.example.org', 'v4', [server.at, other.at, '127.0.0.1:1']);
  expect(answers.map(({ address }) => address).sort()).toEqual([
    '192.0.2.7',
    '192.0.2.77',
    '192.0.2.8',
  ]);
});

test('where no server answers it says what each of them did', async () => {
  const asked = askServers('broken.example.org', 'v4', [server.at, '127.0.0.1:1']);
  await expect(asked).rejects.toThrow(`${server.at}: queryA ESERVFAIL broken.example.org`);
  await expect(asked).rejects.toThrow('127.0.0.1:1: queryA ECONNREFUSED');
  await expect(askServers('a.example', 'v4', [])).rejects.toThrow('no DNS server is known');
});

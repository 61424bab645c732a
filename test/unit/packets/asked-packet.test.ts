/** What `heddle explain POD DEST` takes: who sends, who is meant, port and protocol. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { askedPacket, packetText, type AskedPacket } from '../../../src/packets/asked-packet.ts';
import { ConfigurationError } from '../../../src/process/configuration-error.ts';

const asked = (destination: string, pod = 'blue/web'): AskedPacket =>
  askedPacket({ pod, destination });

describe('whom it is for', () => {
  test.each<readonly [string, Omit<AskedPacket, 'pod'>]>([
    ['red/db', { destination: { kind: 'either', namespace: 'red', name: 'db' } }],
    ['red/db:5432', { destination: { kind: 'either', namespace: 'red', name: 'db' }, port: 5432 }],
    [
      'red/db:53/UDP',
      {
        destination: { kind: 'either', namespace: 'red', name: 'db' },
        port: 53,
        protocol: 'udp',
      },
    ],
    ['db', { destination: { kind: 'either', namespace: 'blue', name: 'db' } }],
    ['red/udp', { destination: { kind: 'either', namespace: 'red', name: 'udp' } }],
    [
      'red/db/icmp',
      { destination: { kind: 'either', namespace: 'red', name: 'db' }, protocol: 'icmp' },
    ],
    [
      'svc/red/db:http',
      { destination: { kind: 'service', namespace: 'red', name: 'db' }, port: 'http' },
    ],
    ['svc/db', { destination: { kind: 'service', namespace: 'blue', name: 'db' } }],
    ['svc/red/tcp', { destination: { kind: 'service', namespace: 'red', name: 'tcp' } }],
    [
      'svc/red/dns/udp',
      { destination: { kind: 'service', namespace: 'red', name: 'dns' }, protocol: 'udp' },
    ],
    [
      'db.red.svc.cluster.local:5432',
      { destination: { kind: 'service', namespace: 'red', name: 'db' }, port: 5432 },
    ],
    ['pod/red/db', { destination: { kind: 'pod', namespace: 'red', name: 'db' } }],
    ['node/worker-1.example', { destination: { kind: 'node', name: 'worker-1.example' } }],
    ['node/w1/icmp', { destination: { kind: 'node', name: 'w1' }, protocol: 'icmp' }],
    ['10.0.0.1', { destination: { kind: 'address', address: '10.0.0.1' } }],
    ['10.0.0.1/icmp', { destination: { kind: 'address', address: '10.0.0.1' }, protocol: 'icmp' }],
    ['fd00:0::1', { destination: { kind: 'address', address: 'fd00::1' } }],
    [
      '[fd00::1]:80/tcp',
      { destination: { kind: 'address', address: 'fd00::1' }, port: 80, protocol: 'tcp' },
    ],
  ])('%s', (written, expected) => {
    expect(asked(written)).toEqual({ pod: { namespace: 'blue', name: 'web' }, ...expected });
  });

  test('names without a namespace are of -n', () => {
    expect(askedPacket({ pod: 'web', destination: 'svc/db', namespace: 'blue' })).toEqual({
      pod: { namespace: 'blue', name: 'web' },
      destination: { kind: 'service', namespace: 'blue', name: 'db' },
    });
  });
});

describe('what can not be asked is told, with what to write', () => {
  test.each([
    ['web', 'red/db', 'POD: "web": write NAMESPACE/NAME, or -n NAMESPACE'],
    ['blue/web', '', 'DEST: is empty'],
    ['blue/web', 'red/db:0', '"0" is no port; write a number from 1 to 65535'],
    ['blue/web', 'red/db:65536', '"65536" is no port'],
    ['blue/web', '10.0.0.1:http', 'ports of services alone have names'],
    ['blue/web', '10.0.0.1/tcp', 'tcp needs a port'],
    ['blue/web', '10.0.0.1:80/icmp', 'ICMP has no ports'],
    ['blue/web', 'example.org:443', 'is a name of DNS'],
    ['blue/web', '224.0.0.251:5353/udp', 'is an address of a group'],
    ['blue/web', 'ff02::1', 'is an address of a group'],
    ['blue/web', 'a/b/c/d', 'write NAMESPACE/POD, svc/NAMESPACE/NAME'],
    ['blue/web', 'red/$(reboot)', `"$(reboot)" can't be a name`],
    ['blue/web"', 'red/db', `"web"" can't be a name`],
    ['Blue/web', 'red/db', `"Blue" can't be a name`],
    ['blue/web', `red/${'a'.repeat(500)}`, 'has 504 characters'],
  ])('%s to %s', (pod, destination, message) => {
    expect(() => asked(destination, pod)).toThrow(ConfigurationError);
    expect(() => asked(destination, pod)).toThrow(message);
  });
});

test('whatever is written is understood or refused, and what is understood has names and addresses alone', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), fc.string(), (pod, destination) => {
      try {
        const { pod: from, destination: to, port } = askedPacket({ pod, destination });
        expect(`${from.namespace}/${from.name}`).toMatch(/^[-a-z0-9.]+\/[-a-z0-9.]+$/);
        if ('name' in to) expect(to.name).toMatch(/^[-a-z0-9.]+$/);
        if (typeof port === 'number') expect(port).toBeGreaterThan(0);
      } catch (error) {
        expect(error).toBeInstanceOf(ConfigurationError);
      }
    }),
  );
});

test('the question in a line', () => {
  expect(packetText(asked('svc/red/db:5432/tcp'))).toBe('Pod blue/web → Service red/db:5432/tcp');
  expect(packetText(asked('[fd00::1]:80'))).toBe('Pod blue/web → [fd00::1]:80');
});

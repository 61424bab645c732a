import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DesiredRow } from '../../../../src/desired/rows.ts';
import {
  ConnectionDriver,
  type ConnectionTracker,
} from '../../../../src/node/conntrack/connection-driver.ts';
import { Conntrack } from '../../../../src/node/conntrack/conntrack.ts';
import {
  CONNECTIONS,
  type ConnectionColumns,
} from '../../../../src/node/conntrack/service-connections.ts';
import { ownFolder } from '../../../support/run/left-behind.ts';
import { NetworkNamespace, whyNoNamespace } from '../../../support/host/network-namespace.ts';
import { ovsProgram } from '../../../support/host/ovs-programs.ts';

const owner = { id: 'dns', rank: 0, order: 0, rowsIn: () => [] };
const dns = (endpoints: readonly string[]): DesiredRow => {
  const columns: ConnectionColumns = {
    protocol: 'udp',
    destinations: [{ family: 'v4', address: '10.96.0.10', port: 53 }],
    endpoints,
  };
  return {
    database: CONNECTIONS,
    table: 'port',
    key: 'kube-system/dns udp 53',
    columns: columns as unknown as DesiredRow['columns'],
    containers: [],
    rule: 'forget',
    object: 'Service kube-system/dns',
  };
};

/** Runs a program and writes a line for it. */
const COUNTED = 'echo run >> "$CONNTRACK_LOG"; exec "$@"';

describe.skipIf(whyNoNamespace !== undefined)(
  'connections that the kernel tracks to a service',
  () => {
    let host: NetworkNamespace;
    let driver: ConnectionDriver;
    const program = ovsProgram('conntrack');
    const words = (): string[] => [...host.inside, program.command, ...program.args];

    const forget = async (now: number): Promise<void> => {
      void driver.forget(now);
      await driver.idle();
    };
    const track = (...more: string[]): string => {
      const [command = '', ...args] = [...words(), ...more];
      return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    };
    const connection = (destination: string, port: number, answeredBy: string): void => {
      const client = ['--protonum', 'udp', '--src', '192.0.2.1', '--sport', '4000'];
      const service = ['--dst', destination, '--dport', String(port), '--dst-nat', answeredBy];
      track('--create', ...client, ...service, '--timeout', '600');
    };
    const left = (): string[] =>
      [...track('--dump').matchAll(/ dst=(\S+) sport=\d+ dport=(\d+) .*? src=(\S+)/g)]
        .map(([, destination, port, answeredBy]) => `${destination}:${port} at ${answeredBy}`)
        .toSorted();

    beforeEach(async () => {
      host = await NetworkNamespace.create();
      driver = new ConnectionDriver([new Conntrack({ program: words() })]);
      driver.set(owner, [dns(['10.244.0.5', '10.244.1.5'])]);
      connection('10.96.0.10', 53, '10.244.0.5');
      connection('10.96.0.10', 9153, '10.244.1.5');
      connection('10.96.0.11', 53, '10.244.1.5');
    });
    afterEach(() => host[Symbol.dispose]());

    test('are forgotten when their endpoint goes; those of other ports and services stay', async () => {
      connection('10.96.0.12', 53, '10.244.0.5');
      driver.set(owner, [dns(['10.244.1.5'])]);
      await forget(0);
      expect(left()).toEqual([
        '10.96.0.10:9153 at 10.244.1.5',
        '10.96.0.11:53 at 10.244.1.5',
        '10.96.0.12:53 at 10.244.0.5',
      ]);
    });

    test('are forgotten when the service goes, and once only', async () => {
      driver.set(owner, []);
      await forget(0);
      expect(left()).toEqual(['10.96.0.10:9153 at 10.244.1.5', '10.96.0.11:53 at 10.244.1.5']);
      connection('10.96.0.10', 53, '10.244.0.5');
      await forget(0);
      expect(left()).toContain('10.96.0.10:53 at 10.244.0.5');
      expect(driver.problems()).toEqual([]);
    });

    test('that clients began before an endpoint came are forgotten, but not those of before our start', async () => {
      const untranslated = '10.96.0.10:53 at 10.96.0.10';
      const begin = (): string =>
        track(
          ...'--create --protonum udp --src 192.0.2.2 --sport 4000 --dst 10.96.0.10 --dport 53 --timeout 600'.split(
            ' ',
          ),
        );
      driver = new ConnectionDriver([new Conntrack({ program: words() })]);
      begin();
      driver.set(owner, [dns(['10.244.0.5'])]);
      await forget(0);
      expect(left()).toContain(untranslated);
      driver.set(owner, []);
      await forget(0);
      begin();
      driver.set(owner, [dns(['10.244.0.5'])]);
      await forget(0);
      expect(left()).toEqual(['10.96.0.10:9153 at 10.244.1.5', '10.96.0.11:53 at 10.244.1.5']);
    });

    test('of a service that is on another network, too, stay when one of the two goes, but for those of its endpoints', async () => {
      const sibling = { ...owner, id: 'dns on a sibling' };
      driver.set(sibling, [dns(['10.20.0.5'])]);
      driver.set(sibling, []);
      await forget(0);
      expect(left()).toContain('10.96.0.10:53 at 10.244.0.5');
      driver.set(owner, []);
      await forget(0);
      expect(left()).toEqual(['10.96.0.10:9153 at 10.244.1.5', '10.96.0.11:53 at 10.244.1.5']);
    });

    test('of a thousand addresses are forgotten with few processes, and those of others stay', async () => {
      const programs: string[] = [];
      const addresses = Array.from({ length: 1000 }, (_, n) => `5.5.${n >> 8}.${n & 255}`);
      const many: DesiredRow = {
        ...dns([]),
        key: 'blue/many udp 53',
        columns: {
          protocol: 'udp',
          destinations: addresses.map((address) => ({ family: 'v4', address, port: 53 })),
          endpoints: [],
        } as unknown as DesiredRow['columns'],
      };
      const used = addresses.filter((_, n) => n % 10 === 0);
      for (const address of used) connection(address, 53, '10.244.0.9');
      connection('5.5.0.0', 54, '10.244.0.9');
      const conntrack = new Conntrack({ program: ['sh', '-c', COUNTED, 'sh', ...words()] });
      const log = join(ownFolder('heddle-conntrack'), 'log');
      process.env['CONNTRACK_LOG'] = log;
      driver = new ConnectionDriver([conntrack]);
      driver.set(owner, [many]);
      driver.set(owner, []);
      driver.set(owner, [many]);
      driver.set(owner, []);
      await forget(0);
      programs.push(...readFileSync(log, 'utf8').trim().split('\n'));
      expect(driver.problems()).toEqual([]);
      expect(left()).toEqual([
        '10.96.0.10:53 at 10.244.0.5',
        '10.96.0.10:9153 at 10.244.1.5',
        '10.96.0.11:53 at 10.244.1.5',
        '5.5.0.0:54 at 10.244.0.9',
      ]);
      expect(programs.length).toBeLessThanOrEqual(3);
    });

    test('that can not be forgotten are a problem of the service, and tried again after 30 s', async () => {
      let command = '/nowhere/conntrack';
      const tracker: ConnectionTracker = {
        forgetServices: (...stale) =>
          new Conntrack({ program: command === '' ? words() : [command] }).forgetServices(...stale),
      };
      driver = new ConnectionDriver([tracker]);
      driver.set(owner, [dns(['10.244.0.5'])]);
      driver.set(owner, []);
      await forget(0);
      expect(driver.problems()).toMatchObject([
        { kind: 'refused', unit: 'dns', object: 'Service kube-system/dns' },
      ]);
      expect(driver.problems()[0]?.message).toMatch(
        /^connections to 10\.96\.0\.10 port 53, .*nowhere.*conntrack/,
      );
      command = '';
      await forget(29_999);
      expect(left()).toHaveLength(3);
      await forget(30_000);
      expect(left()).toHaveLength(2);
      expect(driver.problems()).toEqual([]);
    });
  },
);

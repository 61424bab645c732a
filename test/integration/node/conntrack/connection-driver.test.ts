import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { connections, deleteConnection, type Connection, type Request } from 'rtnetlink-ts';
import type { DesiredRow } from '../../../../src/desired/rows.ts';
import {
  ConnectionDriver,
  type ConnectionTracker,
} from '../../../../src/node/conntrack/connection-driver.ts';
import { Conntrack } from '../../../../src/node/conntrack/conntrack.ts';
import { openConntrackSocket } from '../../../../src/node/linux/network-socket.ts';
import {
  CONNECTIONS,
  type ConnectionColumns,
} from '../../../../src/node/conntrack/service-connections.ts';
import { familyOf } from '../../../../src/allocators/addresses.ts';
import type { Target } from '../../../../src/node/exposed-services.ts';
import { NetworkNamespace, whyNoNamespace } from '../../../support/host/network-namespace.ts';
import { ovsProgram } from '../../../support/host/ovs-programs.ts';

const owner = { id: 'dns', rank: 0, order: 0, rowsIn: () => [] };
const targets = (addresses: readonly string[]): readonly Target[] =>
  addresses.map((address) => ({ family: familyOf(address), address, port: 5353 }));
const dns = (
  endpoints: readonly string[],
  local: readonly string[] = endpoints,
  protocol: ConnectionColumns['protocol'] = 'udp',
): DesiredRow => {
  const columns: ConnectionColumns = {
    protocol,
    destinations: [{ family: 'v4', address: '10.96.0.10', port: 53 }],
    endpoints: targets(endpoints),
    local: targets(local),
  };
  return {
    database: CONNECTIONS,
    table: 'port',
    key: `kube-system/dns ${protocol} 53`,
    columns: columns as unknown as DesiredRow['columns'],
    containers: [],
    rule: 'forget',
    object: 'Service kube-system/dns',
  };
};

/** Has a connection say that it came by way of 02:00:00:00:00:xx. */
function labelled(connection: Connection, last: number): Request {
  const { body } = deleteConnection(connection);
  const label = [20, 0, 22, 0, 7, 0, 0, 0, last, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0];
  return { type: 0x100, flags: 0, body: Uint8Array.from([...body, ...label]), what: 'label' };
}

describe.skipIf(whyNoNamespace !== undefined)(
  'connections that the kernel tracks to a service',
  () => {
    let host: NetworkNamespace;
    let driver: ConnectionDriver;
    const program = ovsProgram('conntrack');
    const words = (): string[] => [...host.inside, program.command, ...program.args];
    /** `few`: in a larger table the kernel is asked for what is meant alone. */
    const tracker = (few?: number): Conntrack =>
      new Conntrack(() => openConntrackSocket(host.path), few);

    const forget = async (now: number): Promise<void> => {
      void driver.forget(now);
      await driver.idle();
    };
    const track = (...more: string[]): string => {
      const [command = '', ...args] = [...words(), ...more];
      return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    };
    const connection = (destination: string, port: number, answeredBy: string): void => {
      const from = familyOf(destination) === 'v6' ? '2001:db8::1' : '192.0.2.1';
      const client = ['--protonum', 'udp', '--src', from, '--sport', '4000'];
      const service = ['--dst', destination, '--dport', String(port), '--dst-nat', answeredBy];
      track('--create', ...client, ...service, '--timeout', '600');
    };
    const left = (family = 'ipv4'): string[] =>
      [
        ...track('--dump', '--family', family).matchAll(
          / dst=(\S+) sport=\d+ dport=(\d+) .*? src=(\S+)/g,
        ),
      ]
        .map(([, destination, port, answeredBy]) => `${destination}:${port} at ${answeredBy}`)
        .toSorted();

    beforeEach(async () => {
      host = await NetworkNamespace.create();
      driver = new ConnectionDriver([tracker()]);
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

    test('are forgotten when their endpoint goes, of SCTP, too', async () => {
      const beside = dns(['10.244.0.5', '10.244.1.5']);
      const sctp = (endpoints: readonly string[]): DesiredRow[] => [
        beside,
        dns(endpoints, endpoints, 'sctp'),
      ];
      track(
        ...'--create --protonum sctp --src 192.0.2.1 --sport 4000 --dst 10.96.0.10 --dport 53 --dst-nat 10.244.0.7 --state ESTABLISHED --orig-vtag 1 --reply-vtag 2 --timeout 600'.split(
          ' ',
        ),
      );
      const both = left();
      expect(both).toContain('10.96.0.10:53 at 10.244.0.7');
      driver.set(owner, sctp(['10.244.0.7', '10.244.0.8']));
      await forget(0);
      expect(left()).toEqual(both);
      driver.set(owner, sctp(['10.244.0.8']));
      await forget(0);
      expect(left()).toEqual(both.filter((one) => one !== '10.96.0.10:53 at 10.244.0.7'));
    });

    test('are forgotten when their endpoint goes that was ending, and the only one of the node: until then clients go on with it', async () => {
      driver.set(owner, [dns(['10.244.1.5'], ['10.244.0.5'])]);
      await forget(0);
      expect(left()).toContain('10.96.0.10:53 at 10.244.0.5');
      driver.set(owner, [dns(['10.244.1.5'], [])]);
      await forget(0);
      expect(left()).toEqual(['10.96.0.10:9153 at 10.244.1.5', '10.96.0.11:53 at 10.244.1.5']);
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
      driver = new ConnectionDriver([tracker()]);
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

    /** Makes the kernel track many connections at once: destination, its port, who answers. */
    const connectionsTo = (all: readonly (readonly [string, number, string])[]): void => {
      const lines = all.map(([destination, port, answeredBy], n) => {
        const isV6 = destination.includes(':');
        const client = isV6
          ? `fd00:1::${(n >> 8).toString(16)}:${(n & 255).toString(16)}`
          : `192.0.${n >> 8}.${n & 255}`;
        const reply = `--reply-src ${answeredBy} --reply-dst ${client} --reply-port-src ${port} --reply-port-dst 4000`;
        return `--create --proto udp --orig-src ${client} --orig-dst ${destination} --sport 4000 --dport ${port} ${reply} --timeout 600\n`;
      });
      execFileSync('sh', ['-c', 'cat | "$@" --load-file -', 'sh', ...words()], {
        input: lines.join(''),
        stdio: ['pipe', 'ignore', 'ignore'],
      });
    };
    const many = (of: DesiredRow, ports: readonly number[], all: readonly string[]): DesiredRow[] =>
      ports.map((port) => ({
        ...of,
        key: `blue/many udp ${port}`,
        columns: {
          protocol: 'udp',
          destinations: all.map((address) => ({
            family: address.includes(':') ? 'v6' : 'v4',
            address,
            port,
          })),
          endpoints: [],
          local: [],
        } as unknown as DesiredRow['columns'],
      }));

    test.each([
      ['ports of all are the same', [53, 54], 0],
      ['there are many ports', Array.from({ length: 9 }, (_, n) => 53 + n), 0],
      ['there are few connections', [53, 54], undefined],
    ])(
      'of 500 services are forgotten in both families while other code runs, where %s; those of others stay',
      async (_, ports, few) => {
        driver = new ConnectionDriver([tracker(few)]);
        driver.set(owner, [dns(['10.244.0.5', '10.244.1.5'])]);
        const v4 = Array.from({ length: 500 }, (__, n) => `5.5.${n >> 8}.${n & 255}`);
        const v6 = v4.map((___, n) => `fd00:5::${(n + 1).toString(16)}`);
        const used = [...v4, ...v6].filter((__, n) => n % 7 === 0);
        connectionsTo([
          ...used.flatMap((one) =>
            ports.map((port) => [one, port, one.includes(':') ? 'fd00::9' : '10.244.0.9'] as const),
          ),
          ['5.5.0.0', 1053, '10.244.0.9'],
          ['5.6.0.0', 53, '10.244.0.9'],
          ['fd00:5::1', 1053, 'fd00::9'],
          ['fd00:6::1', 53, 'fd00::9'],
        ]);
        expect(track('--count').trim()).toBe(String(3 + 4 + used.length * ports.length));
        driver.set(owner, many(dns([]), ports, [...v4, ...v6]));
        driver.set(owner, []);
        let turns = 0;
        const count = (): void => {
          turns += 1;
          counting = setImmediate(count);
        };
        let counting = setImmediate(count);
        await forget(0);
        clearImmediate(counting);
        expect(driver.problems()).toEqual([]);
        expect([...left(), ...left('ipv6')]).toEqual([
          '10.96.0.10:9153 at 10.244.1.5',
          '10.96.0.11:53 at 10.244.1.5',
          '5.5.0.0:1053 at 10.244.0.9',
          '5.6.0.0:53 at 10.244.0.9',
          'fd00:5::1:1053 at fd00::9',
          'fd00:6::1:53 at fd00::9',
        ]);
        expect(turns).toBeGreaterThan(0);
      },
    );

    test('of an IPv6 service that one endpoint answers are forgotten when that goes, and no others', async () => {
      const of = (endpoints: readonly string[]): DesiredRow => ({
        ...dns([]),
        columns: {
          protocol: 'udp',
          destinations: [{ family: 'v6', address: 'fd00:96::a', port: 53 }],
          endpoints: targets(endpoints),
          local: targets(endpoints),
        } as unknown as DesiredRow['columns'],
      });
      driver.set(owner, [of(['fd00::5', 'fd00::6'])]);
      connectionsTo([
        ['fd00:96::a', 53, 'fd00::5'],
        ['fd00:96::a', 53, 'fd00::6'],
        ['fd00:96::b', 53, 'fd00::5'],
      ]);
      driver.set(owner, [of(['fd00::6'])]);
      await forget(0);
      expect(left('ipv6')).toEqual(['fd00:96::a:53 at fd00::6', 'fd00:96::b:53 at fd00::5']);
    });

    test.each([
      [1, 'many', 0],
      [20, 'many', 0],
      [1, 'few', undefined],
    ])(
      'of pods are forgotten by address in both families, of %d at once among %s',
      async (count, _, few) => {
        const pods = Array.from({ length: count }, (_, n) => [`10.244.7.${n}`, `fd00:244::${n}`]);
        connectionsTo([
          ...pods.flat().map((pod) => [pod, 80, pod] as const),
          ['10.96.0.20', 80, '10.244.7.0'],
          ['fd00:96::20', 80, 'fd00:244::0'],
          ['fd00:96::20', 80, 'fd00:245::9'],
        ]);
        const conntrack = tracker(few);
        // As others write it, too.
        await Promise.all(
          pods.map(([v4 = '', v6 = '']) => conntrack.forget([v4, v6.replace('::', ':0:0::')])),
        );
        expect([...left(), ...left('ipv6')]).toEqual(
          [
            '10.96.0.11:53 at 10.244.1.5',
            '10.96.0.10:53 at 10.244.0.5',
            '10.96.0.10:9153 at 10.244.1.5',
            'fd00:96::20:80 at fd00:245::9',
          ].toSorted(),
        );
      },
    );

    test('of many pods at once are looked for twice at most, however many ask', async () => {
      let opened = 0;
      const conntrack = new Conntrack(() => {
        opened += 1;
        return openConntrackSocket(host.path);
      });
      const pods = Array.from({ length: 200 }, (_, n) => `10.244.8.${n}`);
      connectionsTo(pods.map((pod) => [pod, 80, pod]));
      await Promise.all(pods.map((pod) => conntrack.forget([pod])));
      expect(left()).toHaveLength(3);
      // Two sockets each: one shows, the other one deletes.
      expect(opened).toBeLessThanOrEqual(4);
    });

    test('of an address that is forgotten are waited for by who asks for that, and of no other; also by the end of the daemon', async () => {
      const pods = ['10.244.8.1', 'fd00:244::8'];
      connectionsTo(pods.map((pod) => [pod, 80, pod]));
      const conntrack = tracker();
      const order: string[] = [];
      const note = async (what: string, work: Promise<void>): Promise<void> => {
        await work;
        order.push(what);
      };
      void conntrack.forget(pods);
      await Promise.all([
        note('of these', conntrack.forgotten(['fd00:244:0::8'])),
        note('end', conntrack[Symbol.asyncDispose]()),
        note('of others', conntrack.forgotten(['10.244.8.2'])),
      ]);
      expect(order[0]).toBe('of others');
      expect([...left(), ...left('ipv6')]).toHaveLength(3);
      await conntrack.forgotten(pods);
    });

    test('that can not be forgotten end the wait for that, too', async () => {
      const conntrack = new Conntrack(() => {
        const socket = openConntrackSocket(host.path);
        socket[Symbol.dispose]();
        return socket;
      });
      const forgetting = conntrack.forget(['10.244.8.1']);
      await conntrack.forgotten(['10.244.8.1']);
      await expect(forgetting).rejects.toThrow('the socket is closed');
    });

    test('who is stopped meanwhile stops at the next piece of the table, and leaves no descriptor', async () => {
      connectionsTo(Array.from({ length: 3000 }, (_, n) => ['5.5.5.5', 53, `10.244.9.${n & 255}`]));
      const descriptors = (): number => readdirSync('/proc/self/fd').length;
      const before = descriptors();
      const stopping = new AbortController();
      const stale = {
        protocol: 'udp',
        destination: { family: 'v4', address: '5.5.5.5', port: 53 },
      };
      const going = tracker().forgetServices([{ object: '', ...stale } as never], stopping.signal);
      stopping.abort(new Error('stopped'));
      await expect(going).rejects.toThrow('stopped');
      expect(left().length).toBeGreaterThan(2000);
      expect(descriptors()).toBe(before);
    });

    test('by way of a next hop are forgotten by its MAC address in their labels, of both families and of services, and no others', async () => {
      // Only where somebody sets labels does the kernel have room for them.
      for (const words of [
        ['table', 'inet', 'labels'],
        ['chain', 'inet', 'labels', 'seen'],
        ['rule', 'inet', 'labels', 'seen', 'ct', 'label', 'set', '5'],
      ])
        host.run(['nft', 'add', ...words]);
      connection('10.244.0.7', 80, '10.244.0.7');
      connection('172.18.0.11', 30_080, '10.244.0.7');
      connection('172.18.0.11', 30_081, '10.244.0.7');
      connection('172.18.0.11', 30_082, '10.244.0.8');
      connection('fd00::7', 80, 'fd00::7');
      using socket = openConntrackSocket(host.path);
      for (const one of socket.dump(connections()))
        if (!one.original.destination.startsWith('10.96.'))
          socket.change(labelled(one, one.original.destinationPort === 30_081 ? 0x52 : 0x51));
      const before = [...left(), ...left('ipv6')];
      await tracker().forgetHops(
        ['10.244.0.7', 'fd00::7'].map((source) => ({ source, mac: '02:00:00:00:00:51' })),
        new AbortController().signal,
      );
      const gone = new Set(before).difference(new Set([...left(), ...left('ipv6')]));
      expect([...gone]).toEqual([
        '10.244.0.7:80 at 10.244.0.7',
        '172.18.0.11:30080 at 10.244.0.7',
        'fd00::7:80 at fd00::7',
      ]);
    });

    describe('of pods that come under an EgressIP, and go from one', () => {
      const [POD, PEER, NODE, WAY, EGRESS, OTHER] = [
        ['10.244.0.7', 'fd00:244::7'],
        ['203.0.113.5', '2001:db8::5'],
        ['172.18.0.11', 'fd00:18::11'],
        ['169.254.0.13', 'fd69::d'],
        ['172.18.0.50', 'fd00:18::50'],
        ['172.18.0.12', 'fd00:18::12'],
      ] as const;
      const nodes = { ...owner, id: 'nodes' };
      const pod = { ...owner, id: 'pod' };
      const row = (table: string, key: string, columns: object): DesiredRow => ({
        ...dns([]),
        table,
        key,
        columns: columns as DesiredRow['columns'],
        object: 'EgressIP out',
      });
      const served = (vias: readonly string[] | undefined): DesiredRow[] =>
        POD.map((source, n) => {
          const via = vias?.[n];
          return row('source', `${source} ${via ?? ''}`, { source, via, right: [EGRESS[n]] });
        });
      /** An entry of each family: who sends, to whom, and as whom it leaves. */
      const translated = (
        zone: number,
        port: number,
        froms: readonly string[],
        tos: readonly string[],
        as: readonly string[],
      ): void => {
        for (const [n, from] of froms.entries()) {
          const [to = '', out = ''] = [tos[n], as[n]];
          const sent = `--src ${from} --dst ${to} --sport ${port} --dport 80`;
          const reply = `--reply-src ${to} --reply-dst ${out} --reply-port-src 80 --reply-port-dst ${port}`;
          track(
            ...`--create --zone ${zone} --protonum udp ${sent} ${reply} --timeout 600`.split(' '),
          );
        }
      };
      /** `10.244.0.7:1001 as 172.18.0.11 in 0` */
      const sources = (): string[] => {
        using socket = openConntrackSocket(host.path);
        return socket
          .dump(connections())
          .filter(({ original }) => original.destinationPort === 80)
          .map(
            ({ original, reply, zone }) =>
              `${original.source}:${original.sourcePort} as ${reply.destination} in ${zone}`,
          )
          .toSorted();
      };
      const lines = (port: number, zone: number, froms: readonly string[], as: readonly string[]) =>
        froms.map((from, n) => `${from}:${port} as ${as[n]} in ${zone}`);
      const follow = async (...rows: readonly DesiredRow[]): Promise<void> => {
        driver.set(nodes, [row('nodes', 'nodes', { own: NODE, all: [...NODE, ...OTHER] })]);
        driver.set(pod, rows);
        await forget(0);
        expect(driver.problems()).toEqual([]);
      };

      test.each([
        ['many', 0],
        ['few', undefined],
      ])(
        'on the default network are forgotten where they leave with another source, among %s, and also when the daemon starts',
        async (_, few) => {
          driver = new ConnectionDriver([tracker(few)]);
          translated(0, 1001, POD, PEER, NODE);
          translated(0, 1002, POD, OTHER, NODE);
          translated(0, 1003, POD, PEER, EGRESS);
          translated(9, 1004, POD, PEER, POD);
          translated(0, 1005, PEER, POD, NODE);
          await follow(...served(undefined));
          const kept = [
            ...lines(1002, 0, POD, NODE),
            ...lines(1003, 0, POD, EGRESS),
            ...lines(1004, 9, POD, POD),
            ...lines(1005, 0, PEER, NODE),
          ];
          expect(sources()).toEqual(kept.toSorted());
          await follow();
          expect(sources()).toEqual(
            kept.filter((line) => !lines(1003, 0, POD, EGRESS).includes(line)).toSorted(),
          );
        },
      );

      test('on a primary network are forgotten at the bridge alone, by what the gateway router made of them', async () => {
        const another = ['169.254.0.15', 'fd69::f'];
        translated(7, 1001, POD, PEER, WAY);
        translated(64_000, 1001, WAY, PEER, NODE);
        translated(7, 1002, POD, OTHER, WAY);
        translated(64_000, 1002, WAY, OTHER, NODE);
        // Another pod of the network, and one of another network that has the pod's address.
        translated(64_000, 1003, WAY, PEER, NODE);
        translated(8, 1004, POD, PEER, another);
        translated(64_000, 1004, another, PEER, NODE);
        const before = sources();
        await follow(...served(WAY));
        expect(before.filter((line) => !sources().includes(line))).toEqual(
          lines(1001, 64_000, WAY, NODE),
        );
        translated(64_000, 1001, WAY, PEER, EGRESS);
        await follow();
        expect(before.filter((line) => !sources().includes(line))).toEqual(
          lines(1001, 64_000, WAY, NODE),
        );
        expect(sources()).toHaveLength(before.length - 2);
      });
    });

    test('that can not be forgotten are a problem of the service, and tried again after 30 s', async () => {
      let isRefusing = true;
      driver = new ConnectionDriver([
        {
          forgetServices: (...stale) =>
            new Conntrack(() => {
              const socket = openConntrackSocket(host.path);
              if (isRefusing) socket[Symbol.dispose]();
              return socket;
            }).forgetServices(...stale),
          forgetHops: async () => undefined,
          forgetSources: async () => undefined,
        } satisfies ConnectionTracker,
      ]);
      driver.set(owner, [dns(['10.244.0.5'])]);
      driver.set(owner, []);
      await forget(0);
      expect(driver.problems()).toMatchObject([
        { kind: 'refused', unit: 'dns', object: 'Service kube-system/dns' },
      ]);
      expect(driver.problems()[0]?.message).toMatch(
        /^connections to 10\.96\.0\.10 port 53, .*count connections: the socket is closed/,
      );
      isRefusing = false;
      await forget(29_999);
      expect(left()).toHaveLength(3);
      await forget(30_000);
      expect(left()).toHaveLength(2);
      expect(driver.problems()).toEqual([]);
    });
  },
);

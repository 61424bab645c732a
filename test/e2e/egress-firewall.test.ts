/** What EgressFirewalls let pods send out of their networks, with packets: on the default network, on primary ones of both layers, and on both of a namespace, of both families. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { probe, type Endpoint, type Probe } from '../../src/lab/connectivity.ts';
import { heddleCommand, outputInside, runInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { serveOutward } from '../../src/lab/outward.ts';
import { nodeNames, stateFolder } from '../../src/lab/paths.ts';
import { settingsFile } from '../../src/lab/objects.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { connectedByName, connectedByNameFor } from '../support/lab/asked-names.ts';
import {
  ALLOWED_NAMES,
  changeNames,
  changesTake,
  DENIED_BLOCK,
  DENIED_NAMES,
  MOST_CHANGES,
  OTHER_BLOCK,
  OTHER_NAME,
  type NameChanges,
  zoneAt,
} from '../support/lab/changing-names.ts';
import { stopDaemon } from '../support/lab/lab-daemons.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { nodeAddresses } from '../support/lab/matrix-tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';
import {
  manifestsText,
  PLACES as places,
  podAt,
  podOn,
  podOnSecond,
  secondNetwork,
  SPACES as spaces,
  spaceObjects,
  webService,
  webSlice,
  type Place,
  type Space,
} from '../support/lab/network-spaces.ts';
import { Tenants } from '../support/lab/tenants.ts';

const SOON = { timeout: 60_000, interval: 200 };
const SECONDS = 2;
/** For which names change without end. */
const SECONDS_OF_CHANGE = 15;
/** So many addresses that names have a new one each time. */
const MANY = '172.18.4.0/22';
/** Changes of names, one every 5 s; HEDDLE_NAME_CHANGES=120 goes on for ten minutes. */
const NAME_CHANGES = Math.min(MOST_CHANGES, Number(process.env['HEDDLE_NAME_CHANGES'] ?? 6));
/** From then on addresses of the first change count no longer. */
const CHANGES_BEFORE_GONE = 72;
const NODE_PORT = 30_200;

const clusterIp = (space: Space): string => `172.16.1.${201 + spaces.indexOf(space)}`;

/** The cluster's DNS service; a pod of the default network on the other node is behind it. */
const DNS_SERVICE = '172.16.1.10';
const DNS_PORTS = (['UDP', 'TCP'] as const).map((protocol) => ({
  name: protocol.toLowerCase(),
  protocol,
  port: 53,
}));
const dnsService = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'kube-system', name: 'kube-dns' },
  spec: { clusterIP: DNS_SERVICE, clusterIPs: [DNS_SERVICE], ports: DNS_PORTS },
};
const dnsSlice = ({ node, addresses }: Endpoint): object => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    namespace: 'kube-system',
    name: 'kube-dns',
    labels: {
      'kubernetes.io/service-name': 'kube-dns',
      'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
    },
  },
  addressType: 'IPv4',
  ports: DNS_PORTS,
  endpoints: [{ addresses: addresses.slice(0, 1), nodeName: node, conditions: { ready: true } }],
});
/** More addresses of the host outside, which names are known by in turn. */
const OUTSIDE_RANGE = Array.from({ length: 8 }, (_, index) => `172.18.0.${201 + index}`);

const LOGGED = { 'k8s.ovn.org/acl-logging': JSON.stringify({ deny: 'info' }) };
/** The namespace, of which is logged what its firewall denies, and its network. */
const loggedSpace = (namespace: Space): readonly object[] => {
  const [space, ...network] = spaceObjects(namespace) as readonly { readonly metadata: object }[];
  return [{ ...space, metadata: { ...space?.metadata, annotations: LOGGED } }, ...network];
};

const objects = spaces.flatMap((namespace, index) => [
  ...loggedSpace(namespace),
  podOn('n1', namespace, 'near'),
  podOn('n2', namespace, 'far'),
  webService(namespace, 'far', { clusterIp: clusterIp(namespace), nodePort: NODE_PORT + index }),
]);
objects.push(
  secondNetwork,
  podOnSecond('n1', 'near'),
  podOnSecond('n2', 'far'),
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system' } },
  dnsService,
);

const rule = (type: 'Allow' | 'Deny', to: object | string, ports?: readonly object[]): object => ({
  type,
  to: typeof to === 'string' ? { cidrSelector: to } : to,
  ...(ports === undefined ? {} : { ports }),
});
const DENY_ALL = [rule('Deny', '0.0.0.0/0'), rule('Deny', '::/0')];

/** What a pod asks: the host outside by protocol and family, nodes, pods of its own network, and a service of theirs. */
type Asked = 'outside tcp4' | 'outside udp4' | 'outside tcp6' | 'n2' | 'pod4' | 'pod6' | 'service';
const ALL: readonly Asked[] = [
  'outside tcp4',
  'outside udp4',
  'outside tcp6',
  'n2',
  'pod4',
  'pod6',
  'service',
];
const INSIDE: readonly Asked[] = ['pod4', 'pod6', 'service'];
/** The service of a namespace is for pods of its first network. */
const askedAt = (place: Place, asked: readonly Asked[]): readonly Asked[] =>
  place === 'second' ? asked.filter((one) => one !== 'service') : asked;

describe.skipIf(whyNoLab !== undefined)(
  `egress firewalls${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-firewalls');
    let lab: TestLab;
    let tenants: Tenants;
    let ends: ReadonlyMap<string, Endpoint>;

    const end = (place: Place, name: string): Endpoint =>
      ends.get(podAt(place, name)) ?? expect.unreachable(`${podAt(place, name)} has no address`);

    const probeOf = (place: Place, asked: Asked): Probe => {
      const { namespace: from } = end(place, 'near');
      const [v4 = '', v6 = ''] = end(place, 'far').addresses;
      const on = { from, port: SERVER_PORT, ping: false };
      switch (asked) {
        case 'outside tcp4':
          return { ...on, to: OUTSIDE.v4 };
        case 'outside udp4':
          return { ...on, to: OUTSIDE.v4, protocol: 'udp' };
        case 'outside tcp6':
          return { ...on, to: OUTSIDE.v6 };
        case 'n2':
          return { ...on, to: nodeAddresses(asked)[0] };
        case 'pod4':
          return { ...on, to: v4 };
        case 'pod6':
          return { ...on, to: v6 };
        case 'service':
          return { ...on, to: clusterIp(place as Space), port: 80 };
      }
    };

    /** What is answered to the pod `near` of each network. */
    const answered = async (): Promise<Readonly<Record<string, readonly Asked[]>>> => {
      const asked = places.flatMap((place) =>
        askedAt(place, ALL).map((one) => [place, one] as const),
      );
      const results = await probe(
        lab.record,
        asked.map(([place, one]) => probeOf(place, one)),
        SECONDS,
      );
      return Object.fromEntries(
        places.map((place) => [
          place,
          asked.flatMap(([of, one], index) =>
            of === place && results[index]?.answer !== null ? [one] : [],
          ),
        ]),
      );
    };
    const everywhere = (expected: readonly Asked[]): Readonly<Record<string, readonly Asked[]>> =>
      Object.fromEntries(places.map((place) => [place, askedAt(place, expected)]));

    /** What the DNS server answers. */
    const dnsFile = join(stateFolder('e2e-firewalls'), 'dns.json');
    const firewallFile = (): string => join(tenants.manifests, 'firewalls.yaml');
    const write = (egress: readonly object[]): void => {
      writeFileSync(
        firewallFile(),
        manifestsText(
          spaces.map((namespace) => ({
            apiVersion: 'k8s.ovn.org/v1',
            kind: 'EgressFirewall',
            metadata: { namespace, name: 'default' },
            spec: { egress },
          })),
        ),
      );
    };
    const acls = async (node: string): Promise<string[]> =>
      (await tenants.rows(node, 'OVN_Northbound', ['ACL'])).filter((row) =>
        row.includes('EgressFirewall'),
      );

    beforeAll(async () => {
      writeFileSync(join(folder, 'objects.yaml'), manifestsText(objects));
      lab = await testLab('e2e-firewalls', { nodes: 2, families: 'dual' });
      tenants = new Tenants(lab.record, { folder });
      await tenants.start();
      await serveOutward(lab.record);
      const onDefault = await tenants.endpoints('default');
      writeFileSync(
        join(tenants.manifests, 'slices.yaml'),
        manifestsText(onDefault.filter(({ pod: key }) => key.endsWith('/far')).map(webSlice)),
      );
      ends = new Map((await tenants.endpoints()).map((one) => [one.pod, one]));
      for (const address of OUTSIDE_RANGE)
        await runInside(lab.record, `ip -n ext address add ${address}/24 dev eth0`.split(' '));
      const dns = end('plain', 'far');
      void runInside(lab.record, [
        'ip',
        'netns',
        'exec',
        dns.namespace,
        join(lab.record.checkout, 'node_modules/.bin/node'),
        join(lab.record.checkout, 'test/support/lab/dns-program.ts'),
        dns.addresses[0] ?? '',
        dnsFile,
      ]);
      writeFileSync(join(tenants.manifests, 'dns.yaml'), manifestsText([dnsSlice(dns)]));
    }, 120_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('without one pods reach what they ask', async () => {
      await expect.poll(answered, SOON).toEqual(everywhere(ALL));
    });

    test('what denies everything leaves pods of the network and its services, and nothing else', async () => {
      write(DENY_ALL);
      await expect.poll(answered, SOON).toEqual(everywhere(INSIDE));
    });

    test('ovn-controller of the pod’s node logs what is denied, by namespace and rule', async () => {
      const unlogged = async (): Promise<readonly string[]> => {
        await answered();
        const file = '/var/log/ovn/ovn-controller.log';
        const log = await outputInside(lab.record, ['on', 'n1', 'cat', file]);
        return spaces.filter(
          (namespace) => !log.includes(`name="EF:${namespace}:0", verdict=drop, severity=info`),
        );
      };
      await expect.poll(unlogged, SOON).toEqual([]);
    });

    test('who is asked from outside answers', async () => {
      const probes = spaces.map((_, index) => ({
        from: 'ext',
        to: nodeAddresses('n1')[0],
        port: NODE_PORT + index,
        ping: false,
      }));
      const answers = async (): Promise<boolean[]> =>
        (await probe(lab.record, probes, SECONDS)).map(({ answer }) => answer !== null);
      await expect.poll(answers, SOON).toEqual([true, true, true]);
    });

    test('the first rule that is about a packet decides: a port of a protocol, a family, nodes', async () => {
      const tcp = [{ protocol: 'TCP', port: SERVER_PORT }];
      write([rule('Allow', `${OUTSIDE.v4}/32`, tcp), ...DENY_ALL]);
      await expect.poll(answered, SOON).toEqual(everywhere(['outside tcp4', ...INSIDE]));
      write([rule('Deny', '0.0.0.0/0')]);
      await expect.poll(answered, SOON).toEqual(everywhere(['outside tcp6', ...INSIDE]));
      const second = { nodeSelector: { matchLabels: { 'kubernetes.io/hostname': 'n2' } } };
      write([rule('Deny', `${OUTSIDE.v4}/24`, tcp), rule('Allow', '::/0')]);
      await expect
        .poll(answered, SOON)
        .toEqual(everywhere(['outside udp4', 'outside tcp6', ...INSIDE]));
      write([rule('Allow', second), ...DENY_ALL]);
      await expect.poll(answered, SOON).toEqual(everywhere(['n2', ...INSIDE]));
    });

    const problems = async (): Promise<string> => {
      const words = heddleCommand(lab.record, [
        'status',
        '--config',
        settingsFile(lab.record.name),
      ]);
      return (await runInside(lab.record, words)).stdout;
    };

    describe('names', () => {
      const NAME = 'www.example.org';
      const say = (...addresses: string[]): void => {
        writeFileSync(dnsFile, JSON.stringify({ [NAME]: { addresses, ttl: 5 } }));
      };

      test('are what DNS knows them by, also when that changes', async () => {
        say('192.0.2.1');
        write([rule('Allow', { dnsName: 'WWW.example.org.' }), ...DENY_ALL]);
        await expect.poll(answered, SOON).toEqual(everywhere(INSIDE));
        say('192.0.2.1', OUTSIDE.v4);
        await expect
          .poll(answered, SOON)
          .toEqual(everywhere(['outside tcp4', 'outside udp4', ...INSIDE]));
        say('192.0.2.1', OUTSIDE.v4, OUTSIDE.v6);
        await expect
          .poll(answered, SOON)
          .toEqual(everywhere(['outside tcp4', 'outside udp4', 'outside tcp6', ...INSIDE]));
        write([rule('Deny', { dnsName: NAME })]);
        await expect.poll(answered, SOON).toEqual(everywhere(['n2', ...INSIDE]));
      });

      test('of which nobody knows anything any more stay what they were, after a restart of the daemons too', async () => {
        rmSync(dnsFile);
        await expect.poll(problems, SOON).toContain('no answer of DNS');
        for (const node of nodeNames(lab.record.nodes)) await stopDaemon(lab.record, node, 'kill');
        await tenants.start();
        await expect.poll(problems, SOON).toContain('no answer of DNS');
        expect(await answered()).toEqual(everywhere(['n2', ...INSIDE]));
        say(OUTSIDE.v4, OUTSIDE.v6);
        await expect.poll(problems, SOON).not.toContain('no answer of DNS');
        expect(await answered()).toEqual(everywhere(['n2', ...INSIDE]));
      });
    });

    describe('what pods of the default network ask DNS', () => {
      const RULES = [
        rule('Allow', { dnsName: 'www.example.org' }),
        rule('Allow', { dnsName: '*.apps.example.org' }),
        ...DENY_ALL,
      ];
      const [never = '', first = '', second = '', ...others] = OUTSIDE_RANGE;
      const say = (known: Readonly<Record<string, string>>): void => {
        const entries = Object.entries(known).map(([name, address]) => [
          name,
          { addresses: [address], ttl: 0 },
        ]);
        writeFileSync(dnsFile, JSON.stringify(Object.fromEntries(entries)));
      };
      const reached = (
        ...names: readonly string[]
      ): Promise<Readonly<Record<string, Readonly<Record<string, boolean>>>>> =>
        connectedByName(lab.record, end('plain', 'near'), DNS_SERVICE, names, SERVER_PORT);
      /** Where pods of n1 get to that ask DNS. */
      const targets = async (): Promise<string> =>
        (await tenants.rows('n1', 'OVN_Northbound', ['Load_Balancer'])).find((row) =>
          row.includes('kube-dns_UDP_cluster'),
        ) ?? '';

      test('is in force before they are told, for exact names and wildcards of one label; nothing else is', async () => {
        say({
          'www.example.org': first,
          'a.apps.example.org': second,
          'example.net': others[0] ?? '',
        });
        write(RULES);
        await expect.poll(targets, SOON).toContain('169.254.0.6:53');
        // The row is there: pods meet it once the data plane has it.
        await runInside(lab.record, 'on n1 ovn-nbctl --wait=hv sync'.split(' '));
        for (const [index, address] of others.entries()) {
          const other = others.at(index - 1) ?? first;
          say({
            'www.example.org': address,
            'a.apps.example.org': other,
            'a.b.apps.example.org': never,
            'example.net': never,
          });
          expect(
            await reached(
              'www.example.org',
              'a.apps.example.org',
              'a.b.apps.example.org',
              'example.net',
            ),
          ).toEqual({
            'www.example.org': { [address]: true },
            'a.apps.example.org': { [other]: true },
            'a.b.apps.example.org': { [never]: false },
            'example.net': { [never]: false },
          });
        }
      });

      test(
        `is in force for its TTL and five minutes while names change ${NAME_CHANGES} times, for who asks at that moment, too; what rules deny never is`,
        { timeout: changesTake(NAME_CHANGES) + 120_000 },
        async () => {
          for (const block of [DENIED_BLOCK, OTHER_BLOCK])
            await runInside(lab.record, `ip -n ext route add local ${block} dev eth0`.split(' '));
          writeFileSync(dnsFile, JSON.stringify(zoneAt(0)));
          write([
            rule('Allow', { dnsName: 'www.example.org' }),
            rule('Allow', { dnsName: '*.apps.example.org' }),
            rule('Deny', { dnsName: 'bad.example.org' }),
            rule('Deny', { dnsName: '*.worse.example.org' }),
            rule('Allow', DENIED_BLOCK),
            ...DENY_ALL,
          ]);
          const names = [...ALLOWED_NAMES, ...DENIED_NAMES, OTHER_NAME];
          const isReached = async (): Promise<object> =>
            Object.fromEntries(
              Object.entries(await reached(...names)).map(([name, one]) => [
                name,
                Object.values(one),
              ]),
            );
          const expected = names.map((name) => [name, [ALLOWED_NAMES.includes(name)]]);
          await expect.poll(isReached, SOON).toEqual(Object.fromEntries(expected));
          const { counts, wrong, faults, questions, unanswered } = await changeNames(lab.record, {
            namespace: end('plain', 'near').namespace,
            server: DNS_SERVICE,
            file: dnsFile,
            port: SERVER_PORT,
            changes: NAME_CHANGES,
          });
          process.stdout.write(`${JSON.stringify({ counts, questions, unanswered })}\n`);
          const isAllowed = (one: NameChanges['wrong'][number]): boolean => one.isAllowed;
          expect({ faults, passed: wrong.filter((one) => !isAllowed(one)) }).toEqual({
            faults: [],
            passed: [],
          });
          // On a busy machine an answer may come later than it is waited for.
          const tried = Object.values(counts).reduce((sum, [count]) => sum + count, 0);
          expect(wrong.filter(isAllowed).length, JSON.stringify(wrong)).toBeLessThanOrEqual(
            tried / 100,
          );
          const kinds = ['told allowed', 'told denied', 'moment allowed', 'moment denied'];
          kinds.push('old allowed', 'old denied', 'open allowed');
          if (NAME_CHANGES > CHANGES_BEFORE_GONE) kinds.push('gone denied', 'ended denied');
          // Of each kind some at each change, but for what counts no longer, and for questions without an answer.
          for (const kind of kinds)
            expect(counts[kind]?.[0], kind).toBeGreaterThanOrEqual(NAME_CHANGES / 2);
          expect(unanswered).toBeLessThan(questions / 10);
        },
      );

      test('is in force while it changes every 200 ms, and what no rule has never is', async () => {
        write(RULES);
        // Each answer has an address that nobody had before: all of the range are the host's outside.
        await runInside(lab.record, `ip -n ext route add local ${MANY} dev eth0`.split(' '));
        let count = 0;
        const next = (): string => `172.18.${4 + ((count += 1) >> 8)}.${count & 255}`;
        const change = (): void =>
          say({ 'www.example.org': next(), 'a.apps.example.org': next(), 'example.net': next() });
        change();
        await expect.poll(() => reached('www.example.org'), SOON).not.toEqual({});
        const changing = setInterval(change, 200);
        const found = await connectedByNameFor(
          SECONDS_OF_CHANGE,
          lab.record,
          end('plain', 'near'),
          DNS_SERVICE,
          ['www.example.org', 'a.apps.example.org', 'example.net'],
          SERVER_PORT,
        ).finally(() => clearInterval(changing));
        const all = (name: string): readonly boolean[] =>
          found.flatMap((one) => Object.values(one[name] ?? {}));
        const told = [...all('www.example.org'), ...all('a.apps.example.org')];
        const others = all('example.net');
        expect(told.length).toBeGreaterThanOrEqual(4);
        expect(others.length).toBeGreaterThanOrEqual(2);
        expect({
          denied: told.filter((isReached) => !isReached).length,
          allowed: others.filter((isReached) => isReached).length,
        }).toEqual({ denied: 0, allowed: 0 });
      });

      test('goes to DNS at once when the daemon is killed; what it had allowed stays, and nothing more is', async () => {
        say({ 'www.example.org': first, 'a.apps.example.org': second });
        await reached('www.example.org');
        await stopDaemon(lab.record, 'n1', 'kill');
        const asked = ['www.example.org', 'a.apps.example.org'];
        const near = end('plain', 'near');
        // Each is asked once.
        let found: unknown;
        try {
          found = await connectedByName(lab.record, near, DNS_SERVICE, asked, SERVER_PORT, 1);
        } finally {
          await tenants.start();
        }
        expect(found).toEqual({
          'www.example.org': { [first]: true },
          'a.apps.example.org': { [second]: false },
        });
        await expect
          .poll(() => reached('www.example.org', 'a.apps.example.org'), SOON)
          .toEqual({
            'www.example.org': { [first]: true },
            'a.apps.example.org': { [second]: true },
          });
      });

      test('is not seen on primary networks: with a wildcard nothing leaves these, and that is told', async () => {
        write(RULES);
        await expect.poll(problems, SOON).toContain('rule about *.apps.example.org');
        const found = await answered();
        for (const place of places.filter((one) => one !== 'plain'))
          expect(found[place]).toEqual(askedAt(place, INSIDE));
      });
    });

    test('when it goes its rows go, and pods reach what they ask', async () => {
      expect(await acls('n1')).not.toEqual([]);
      rmSync(firewallFile());
      await expect.poll(answered, SOON).toEqual(everywhere(ALL));
      for (const node of nodeNames(lab.record.nodes)) expect(await acls(node)).toEqual([]);
    });
  },
);

/** What `heddle drops` and `heddle explain` answer about packets that are dropped: the object and the rule that do it, and how many. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { macOf } from '../../src/allocators/addresses.ts';
import { heddleCommand, outputInside, runInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { settingsFile } from '../../src/lab/objects.ts';
import type { Drop, DropsReport } from '../../src/views/drops.ts';
import type { ExplainReport } from '../../src/views/origin.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { manifestsText } from '../support/lab/network-spaces.ts';
import { Tenants } from '../support/lab/tenants.ts';

const NAME = 'e2e-drops';
const SOON = { timeout: 90_000, interval: 500 };
/** So many of each kind are sent. */
const PACKETS = 4;
const PING = ['ping', '-c', String(PACKETS), '-i', '0.2', '-W', '1'];
const SERVICE = '172.16.1.99';

const inBlue = (apiVersion: string, kind: string, name: string, spec: object): object => ({
  apiVersion,
  kind,
  metadata: { namespace: 'blue', name },
  spec,
});
const objects = [
  inBlue('networking.k8s.io/v1', 'NetworkPolicy', 'closed', {
    podSelector: {},
    policyTypes: ['Ingress'],
  }),
  inBlue('k8s.ovn.org/v1', 'EgressFirewall', 'default', {
    egress: [{ type: 'Deny', to: { cidrSelector: `${OUTSIDE.v4}/32` } }],
  }),
  inBlue('v1', 'Service', 'nobody', {
    clusterIP: SERVICE,
    clusterIPs: [SERVICE],
    ports: [{ port: 80, protocol: 'TCP' }],
  }),
];

/** What is dropped for an object, but for what the external bridge drops of routers. */
const ofPods = (all: readonly Drop[]): readonly Drop[] =>
  all.filter(({ object, reason }) => object !== undefined && !reason.startsWith('host/'));

describe.skipIf(whyNoLab !== undefined)(
  `drops${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  { timeout: 240_000 },
  () => {
    let lab: TestLab;
    let addresses: ReadonlyMap<string, string>;
    let onDefault: ReadonlyMap<string, string>;

    const heddle = async (command: string, ...args: readonly string[]): Promise<unknown> => {
      const where = ['--config', settingsFile(NAME), '--node', 'n1', '--json'];
      const { stdout, stderr } = await runInside(
        lab.record,
        heddleCommand(lab.record, [command, ...args, ...where]),
      );
      if (stdout === '') throw new Error(stderr);
      return JSON.parse(stdout);
    };
    const drops = async (...args: readonly string[]): Promise<readonly Drop[]> =>
      ((await heddle('drops', ...args)) as DropsReport).drops;
    /** Since flows were made: by reason, object and network. */
    const totals = async (): Promise<ReadonlyMap<string, number>> => {
      const sums = new Map<string, number>();
      for (const { reason, object, network, packets } of await drops('--total')) {
        const key = `${reason} ${object} ${network}`;
        sums.set(key, (sums.get(key) ?? 0) + packets);
      }
      return sums;
    };
    /** What more was dropped for somebody than at `before`. */
    const more = async (before: ReadonlyMap<string, number>): Promise<Record<string, number>> =>
      Object.fromEntries(
        [...(await totals())].flatMap(([key, packets]) => {
          const count = packets - (before.get(key) ?? 0);
          // What routers send by themselves the external bridge drops, too.
          const isOthers = key.startsWith('ovn ') || key.startsWith('host/');
          return count === 0 || isOthers ? [] : [[key, count]];
        }),
      );
    const ping = async (from: string, to: string): Promise<void> => {
      const { stdout } = await runInside(lab.record, ['pod', from, ...PING, to]);
      expect(stdout).toContain(`${PACKETS} packets transmitted, 0 received`);
    };
    const address = (pod: string, known = addresses): string =>
      known.get(pod) ?? expect.unreachable(`${pod} has no address`);

    beforeAll(async () => {
      lab = await testLab(NAME);
      const tenants = new Tenants(lab.record, { daemonArguments: ['--drops-interval', '2'] });
      writeFileSync(join(tenants.manifests, 'drops.yaml'), manifestsText(objects));
      await tenants.start();
      const byPod = async (which: 'primary' | 'default'): Promise<ReadonlyMap<string, string>> =>
        new Map(
          (await tenants.endpoints(which)).map(({ pod, addresses: [first = ''] }) => [pod, first]),
        );
      addresses = await byPod('primary');
      onDefault = await byPod('default');
      // Whatever a pod's kernel sends by itself from a link-local address is dropped, too: its port has none.
      for (const pod of addresses.keys())
        for (const device of ['eth0', 'ovn-udn1'])
          await outputInside(lab.record, [
            'pod',
            pod,
            'ip',
            '-6',
            'address',
            'flush',
            'dev',
            device,
          ]);
    }, 240_000);
    afterAll(() => lab[Symbol.asyncDispose]());

    test('what pods ask for when they come is over once it was asked: nothing is dropped for anybody', async () => {
      await expect.poll(async () => ofPods(await drops('--seconds', '4')), SOON).toEqual([]);
    });

    test('a policy of the pod that is asked', async () => {
      const before = await totals();
      await ping('blue/web-2', address('blue/web-1'));
      await expect
        .poll(() => more(before), SOON)
        .toEqual({ 'policy/default-deny NetworkPolicy blue/closed blue_l3net': PACKETS });
    });

    test('a firewall of the pod that asks, with its rule and direction', async () => {
      const before = await totals();
      await ping('blue/web-1', OUTSIDE.v4);
      await expect
        .poll(() => more(before), SOON)
        .toEqual({ 'egress/firewall EgressFirewall blue/default blue_l3net': PACKETS });
      const found = await drops('--total', '--namespace', 'blue');
      expect(found.find(({ reason }) => reason === 'egress/firewall')).toMatchObject({
        networkObject: 'UserDefinedNetwork blue/l3net',
        direction: 'Egress',
        rule: { name: 'rule', source: 'reference/topology.md §18.2' },
      });
    });

    test('is in the metrics of the daemon, by network', async () => {
      const counted = async (): Promise<number> => {
        const curl = ['curl', '--silent', '--max-time', '10', 'http://127.0.0.1:9476/metrics'];
        const { stdout } = await runInside(lab.record, ['on', 'n1', ...curl]);
        const series =
          /^heddle_dropped_packets_total\{network="blue_l3net",reason="policy\/default-deny",direction="Ingress"\} (\d+)$/m;
        return Number(series.exec(stdout)?.[1] ?? 0);
      };
      // What was dropped before may not be counted yet.
      let before = NaN;
      await expect
        .poll(async () => before === (before = await counted()), { ...SOON, interval: 5000 })
        .toBe(true);
      await ping('blue/web-2', address('blue/web-1'));
      await expect.poll(async () => (await counted()) - before, SOON).toBe(PACKETS);
    });

    test('the isolation of networks: a pod of one asks the other one’s on the default network', async () => {
      const before = await totals();
      await ping('green/web-1', address('blue/web-1', onDefault));
      await expect
        .poll(async () => Object.keys(await more(before)), SOON)
        // What is asked first is who has the address.
        .toEqual(['isolation/secondary-pods cluster default']);
    });

    test('a pod that sends with an address that is not its own', async () => {
      const before = await totals();
      const other = '10.20.0.77';
      const change = (what: 'add' | 'del'): Promise<unknown> =>
        outputInside(lab.record, [
          'pod',
          'green/web-1',
          'ip',
          'address',
          what,
          `${other}/32`,
          'dev',
          'ovn-udn1',
        ]);
      // Who asks for its gateway from that address is dropped, too.
      const gateway = '10.20.0.1';
      const known = ['lladdr', macOf(gateway), 'dev', 'ovn-udn1', 'nud', 'permanent'];
      await outputInside(lab.record, [
        'pod',
        'green/web-1',
        'ip',
        'neighbour',
        'replace',
        gateway,
        ...known,
      ]);
      await change('add');
      await runInside(lab.record, [
        'pod',
        'green/web-1',
        ...PING,
        '-I',
        other,
        address('green/web-2'),
      ]);
      await change('del');
      await expect
        .poll(() => more(before), SOON)
        .toEqual({ 'port-security Pod green/web-1 green_l3net': PACKETS });
    });

    test('a service without endpoints, which refuses', async () => {
      const before = await totals();
      await runInside(lab.record, ['pod', 'blue/web-1', 'nc', '-w', '2', SERVICE, '80'], {
        input: '',
      });
      await expect
        .poll(() => more(before), SOON)
        .toEqual({ 'services/load-balancers Service blue/nobody blue_l3net': 1 });
    });

    test('who sends nothing has nothing dropped', async () => {
      expect(ofPods(await drops('--seconds', '3'))).toEqual([]);
    });

    test('explain leads from whatever drops for somebody to the same object', async () => {
      const found = (await drops('--total')).filter(({ object }) => object !== undefined);
      expect(found.length).toBeGreaterThan(4);
      for (const { key, object = '', reason } of found) {
        const { found: origins } = (await heddle('explain', key)) as ExplainReport;
        expect(origins).toHaveLength(1);
        const [origin] = origins;
        const owner = (origin?.madeOf.at(-1) ?? origin)?.owner;
        // A cookie of the external bridge stands for several flows of one object.
        expect(owner).toMatchObject({
          object: reason === 'policy/default-deny' ? 'Namespace blue' : object,
        });
      }
    });

    test('a network that is not there is told, with the ones that there are', async () => {
      const { code, stderr } = await runInside(
        lab.record,
        heddleCommand(lab.record, [
          'drops',
          'blue_l3nte',
          '--total',
          '--config',
          settingsFile(NAME),
          '--node',
          'n1',
        ]),
      );
      expect(stderr).toContain('did you mean "blue_l3net"?');
      expect(code).toBe(64);
    });
  },
);

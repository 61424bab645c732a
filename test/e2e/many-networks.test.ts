/**
 * Primary networks on one node that all have the same subnets, with packets: HEDDLE_TEST_NETWORKS says how many. 500 take most of an hour and 8 GB,
 * so by default there are few.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Endpoint, Probe } from '../../src/lab/connectivity.ts';
import { daemonProcess } from '../../src/lab/daemons.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { serveOutward } from '../../src/lab/outward.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { whileSendingDatagrams } from '../support/lab/datagram-streams.ts';
import {
  equalNetwork,
  equalService,
  podIn,
  probeMany,
  serviceIps,
  spaceName,
} from '../support/lab/equal-networks.ts';
import { stopDaemon } from '../support/lab/lab-daemons.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { nodeAddresses } from '../support/lab/matrix-tenants.ts';
import { manifestsText } from '../support/lab/network-spaces.ts';
import { proofOf } from '../support/lab/proof.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';

const COUNT = Number(process.env['HEDDLE_TEST_NETWORKS'] ?? '20');
const LIMIT_S = 120 + COUNT * 5;
const NODE = 'n1';
/** Pods are on the default network, too: a node has room for 2,044 of them there, where the default has 508. */
const NODE_SUBNETS = '10.128.0.0/14/21,fd00:10:128::/48/64';
const ALL = Array.from({ length: COUNT }, (_, index) => index);
/** One network is there before the others come, and after they have gone. */
const STAYS = COUNT;
/** So many networks, of both layers, have packets all the time while programs restart. */
const STREAMS = ALL.filter((index) => index % Math.ceil(COUNT / 8) === 0);
/** Processes of the node, by their pid files. */
const PROGRAMS: Readonly<Record<string, string>> = {
  'ovn-northd': '/run/ovn/ovn-northd.pid',
  'ovn-controller': '/run/ovn/ovn-controller.pid',
  'ovs-vswitchd': '/run/openvswitch/ovs-vswitchd.pid',
  'Northbound server': '/run/ovn/ovnnb_db.pid',
  'Southbound server': '/run/ovn/ovnsb_db.pid',
};

describe.skipIf(whyNoLab !== undefined)(
  `${COUNT} networks with the same subnets on one node${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  { timeout: LIMIT_S * 1000 },
  () => {
    const folder = ownFolder('heddle-many-networks');
    let lab: TestLab;
    let tenants: Tenants;
    let ends: ReadonlyMap<string, Endpoint>;
    let emptied: Readonly<Record<string, number>>;
    let whileTheyCame: readonly number[];

    const on = (...words: readonly string[]): Promise<string> =>
      outputInside(lab.record, ['on', NODE, ...words]);
    const end = (index: number, pod: string): Endpoint => {
      const found = ends.get(`${spaceName(index)}/${pod}`);
      if (found === undefined) throw new Error(`no pod ${spaceName(index)}/${pod}`);
      return found;
    };
    const write = (file: string, objects: readonly object[]): void => {
      writeFileSync(join(tenants.manifests, file), manifestsText(objects));
    };
    const tell = (text: string): void => {
      process.stdout.write(`${COUNT} networks: ${text}\n`);
    };
    /** Who answered each probe; with `ping` whether an echo was. */
    const answers = async (
      probes: readonly Probe[],
      seconds: number,
    ): Promise<readonly (string | undefined)[]> => {
      const results = await probeMany(lab.record, probes, seconds);
      return results.map(({ answer }) => answer?.server);
    };
    const toPeers = (from: string, to: string): readonly (Probe & { readonly server: string })[] =>
      ALL.flatMap((index) =>
        end(index, to).addresses.map((address) => ({
          from: end(index, from).namespace,
          to: address,
          port: SERVER_PORT,
          ping: false,
          server: end(index, to).pod,
        })),
      );
    const memory = async (): Promise<string> => {
      const sizes: string[] = [];
      const add = async (name: string, pid: string): Promise<void> => {
        const status = await on('cat', `/proc/${pid}/status`);
        const size = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
        sizes.push(`${name} ${size.toFixed(0)} MB`);
      };
      for (const [name, file] of Object.entries(PROGRAMS))
        await add(name, (await on('cat', file)).trim());
      await add('heddle node', String(await daemonProcess(lab.record, NODE)));
      const flows = await on('ovs-ofctl', 'dump-aggregate', 'br-int');
      return [...sizes, /flow_count=\d+/.exec(flows)?.[0]].join(', ');
    };
    /** Datagrams from pods of these networks to the host outside that had no answer, by when they were sent. */
    const lostBy = async (
      networks: readonly number[],
      during: () => Promise<void>,
    ): Promise<readonly number[]> => {
      const streams = networks.flatMap((index) =>
        Object.values(OUTSIDE).map((to) => ({ from: end(index, 'a').namespace, to })),
      );
      const sent = await whileSendingDatagrams(lab.record, streams, 20, during);
      return sent.streams.flatMap(({ lost }) => lost);
    };
    /** What networks have on a node: how many of each there are. */
    const counts = async (): Promise<Readonly<Record<string, number>>> => {
      // Flows that a bridge has learnt go by themselves.
      const lines = async (...words: readonly string[]): Promise<number> =>
        (await on(...words)).split('\n').filter((line) => /^(?!.*_timeout=).*\S/.test(line)).length;
      const rows = (program: string, table: string): Promise<number> =>
        lines(program, '--bare', '--columns=_uuid', 'list', table);
      return {
        switches: await rows('ovn-nbctl', 'Logical_Switch'),
        routers: await rows('ovn-nbctl', 'Logical_Router'),
        ports: await rows('ovn-nbctl', 'Logical_Switch_Port'),
        acls: await rows('ovn-nbctl', 'ACL'),
        addressSets: await rows('ovn-nbctl', 'Address_Set'),
        portGroups: await rows('ovn-nbctl', 'Port_Group'),
        loadBalancers: await rows('ovn-nbctl', 'Load_Balancer'),
        nat: await rows('ovn-nbctl', 'NAT'),
        datapaths: await rows('ovn-sbctl', 'Datapath_Binding'),
        interfaces: await rows('ovs-vsctl', 'Interface'),
        bridgeFlows: await lines('ovs-ofctl', 'dump-flows', 'breth0'),
        rules: await lines('ip', 'rule'),
        nft: await lines('nft', 'list', 'ruleset'),
      };
    };

    beforeAll(async () => {
      lab = await testLab('e2e-many-networks', { nodes: 1, families: 'dual' });
      tenants = new Tenants(lab.record, {
        folder,
        daemonArguments: ['--render-grace-period=1', `--cluster-subnets=${NODE_SUBNETS}`],
        seconds: LIMIT_S,
      });
      write('stays.yaml', equalNetwork(STAYS, NODE));
      await tenants.start();
      await serveOutward(lab.record);
      ends = new Map((await tenants.endpoints()).map((one) => [one.pod, one]));
      emptied = await counts();
      const began = performance.now();
      whileTheyCame = await lostBy([STAYS], async () => {
        write('networks.yaml', [
          ...ALL.flatMap((index) => equalNetwork(index, NODE)),
          podIn(0, 'c', NODE),
        ]);
        await tenants.settle();
      });
      tell(`in force after ${((performance.now() - began) / 1000).toFixed(0)} s`);
      ends = new Map((await tenants.endpoints()).map((one) => [one.pod, one]));
      const onDefault = new Map((await tenants.endpoints('default')).map((one) => [one.pod, one]));
      write(
        'services.yaml',
        ALL.flatMap((index) => {
          const b = onDefault.get(`${spaceName(index)}/b`);
          if (b === undefined) throw new Error(`pod b of ${spaceName(index)} has no address`);
          return equalService(index, b);
        }),
      );
      await tenants.settle();
      tell(await memory());
    }, LIMIT_S * 1000);
    afterAll(async () => {
      await lab[Symbol.asyncDispose]();
    });

    test('each pod reaches the pod of its own network at an address that pods of all networks have', async () => {
      const probes = [...toPeers('b', 'a'), ...toPeers('a', 'b')];
      expect(await answers(probes, 10)).toEqual(probes.map(({ server }) => server));
    });

    test('each policy stops what it does not name, in its own network', async () => {
      const pings = async (from: string, to: string): Promise<readonly boolean[]> => {
        const probes = toPeers(from, to).map(({ from: namespace, to: address }) => ({
          from: namespace,
          to: address,
        }));
        return (await probeMany(lab.record, probes, 5)).map(({ ping }) => ping !== null);
      };
      expect(await pings('b', 'a')).not.toContain(false);
      expect(await pings('a', 'b')).not.toContain(true);
    });

    test('nobody reaches a pod or a service that another network alone has', async () => {
      const probes = ALL.slice(1).flatMap((index) => [
        ...end(0, 'c').addresses.map((to) => ({ to, port: SERVER_PORT, index })),
        ...serviceIps(index - 1).map((to) => ({ to, port: 80, index })),
      ]);
      const asked = probes.map(({ index, ...one }) => ({
        ...one,
        from: end(index, 'a').namespace,
        ping: false,
      }));
      expect((await answers(asked, 3)).filter((server) => server !== undefined)).toEqual([]);
    });

    test('each pod reaches the service of its own network', async () => {
      const probes = ALL.flatMap((index) =>
        serviceIps(index).map((to) => ({
          from: end(index, 'a').namespace,
          to,
          port: 80,
          ping: false,
          server: end(index, 'b').pod,
        })),
      );
      await expect
        .poll(() => answers(probes, 10), { timeout: LIMIT_S * 1000, interval: 1000 })
        .toEqual(probes.map(({ server }) => server));
    });

    test('each pod reaches the host outside, and is seen there as the node', async () => {
      const probes = ALL.flatMap((index) =>
        ['a', 'b'].flatMap((pod) =>
          Object.values(OUTSIDE).map((to) => ({
            from: end(index, pod).namespace,
            to,
            port: SERVER_PORT,
            ping: false,
          })),
        ),
      );
      const results = await probeMany(lab.record, probes, 10);
      expect(results.map(({ answer }) => answer?.peer)).toEqual(
        ALL.flatMap(() => [...nodeAddresses(NODE), ...nodeAddresses(NODE)]),
      );
    });

    test('all are proved apart', async () => {
      const { code, verdict } = await proofOf(lab.record, NODE);
      expect(verdict.violations).toEqual([]);
      expect(code).toBe(0);
      const all = ((COUNT + 2) * (COUNT + 1)) / 2;
      expect(verdict.pairs).toEqual({ all, apart: all, connected: 0 });
    });

    test('no packet is lost while a program of the node but its switch restarts', async () => {
      const restarts: Readonly<Record<string, () => Promise<unknown>>> = {
        daemon: async () => {
          await stopDaemon(lab.record, NODE, 'kill');
          await tenants.start();
        },
        ...Object.fromEntries(
          ['northd', 'nb', 'sb', 'controller'].map((name) => [
            name,
            () => outputInside(lab.record, ['service', NODE, 'restart', name]),
          ]),
        ),
      };
      const lost: Record<string, readonly number[]> = {};
      for (const [name, restart] of Object.entries(restarts)) {
        const began = performance.now();
        lost[name] = await lostBy(STREAMS, async () => {
          await restart();
          await on('ovn-nbctl', `--timeout=${LIMIT_S}`, '--wait=hv', 'sync');
        });
        const seconds = (performance.now() - began) / 1000;
        tell(`${name} restarted: in force after ${seconds.toFixed(1)} s`);
      }
      expect(lost).toEqual(Object.fromEntries(Object.keys(restarts).map((name) => [name, []])));
    });

    test('nothing is left of networks that go, and one that was there before them loses nothing', async () => {
      const whileTheyWent = await lostBy([STAYS], async () => {
        write('services.yaml', []);
        write('networks.yaml', []);
        await tenants.settle();
        await expect.poll(counts, { timeout: LIMIT_S * 500, interval: 2000 }).toEqual(emptied);
      });
      expect([whileTheyCame, whileTheyWent]).toEqual([[], []]);
    });
  },
);

/** A cluster's everyday troubles while its pods talk: a node reboots, daemons are rolled to a new version, the API server is away. */
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { outputInside, runInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { daemonLog, daemonProcess } from '../../src/lab/daemons.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { layer3, namespace } from '../support/cluster/cluster.ts';
import { KubernetesLab, webPod, whyNoKubernetes } from '../support/lab/kubernetes-lab.ts';
import { nodeAddresses } from '../support/lab/matrix-tenants.ts';
import { whileAskingForOwners } from '../support/lab/neighbour-owners.ts';
import { whileStreaming, type Stream, type Streamed } from '../support/host/streams.ts';

const nodes = ['n1', 'n2', 'n3'] as const;
const SOON = { timeout: 90_000, interval: 300 };
/** Without streams: Open vSwitch's userspace datapath drops packets of a node at the moment when it takes up a port, whoever adds it. */
const QUIET_NODE = 'n2';
/** Longer than leases of cluster managers and nodes, than any request is waited for, and than what is no problem yet. */
const AWAY_MS = 1000 * Number(process.env['HEDDLE_TEST_AWAY_SECONDS'] ?? '45');
const why = await whyNoKubernetes();

const LOOK_MS = 5000;
const LEADS = 'heddle_cluster_leading 1';
/** With this address pods of red leave, by one of two nodes. They answer each other as those of blue do. */
const EGRESS = '172.18.0.60';
const LEAVING = 'red/on-n3';
/** Another address of the host outside: nobody but they is sent there. */
const WATCHED = '172.18.0.101';
const egressIp = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressIP',
  metadata: { name: 'red' },
  spec: {
    egressIPs: [EGRESS],
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'red' } },
  },
};
/** Where two processors have a cluster to carry, a node may be silent for longer than the default of a second. */
const SETTINGS = { 'egressip-reachability-total-timeout': '5' };

const PRIMARY = 'k8s.ovn.org/primary-user-defined-network';
const tenants = ['blue', 'red'];
const keys = tenants.flatMap((tenant) => nodes.map((node) => `${tenant}/on-${node}`));
const onNode = (key: string, node: string): object => webPod(key, { nodeName: node });

describe.skipIf(why !== undefined)(
  `faults of a cluster under traffic${why === undefined ? '' : ` (${why})`}`,
  { timeout: 300_000 + 2 * AWAY_MS },
  () => {
    let lab: KubernetesLab;
    let address: ReadonlyMap<string, string>;

    const addresses = async (): Promise<ReadonlyMap<string, string>> =>
      new Map(await Promise.all(keys.map(async (key) => [key, await lab.address(key)] as const)));
    /** Each pod that asks reaches the pod of its own tenant, although the other one's has the same address. */
    const everyAnswer = async (): Promise<string[]> =>
      Promise.all(
        tenants.flatMap((tenant) =>
          nodes.map((node) =>
            lab.answer(`${tenant}/on-n1`, address.get(`${tenant}/on-${node}`) ?? ''),
          ),
        ),
      );
    /** Between pods of other nodes than the quiet one, and to the outside. */
    const streams = (): Stream[] => [
      { from: 'blue/on-n1', to: 'blue/on-n3', address: address.get('blue/on-n3') ?? '' },
      { from: 'red/on-n3', to: 'red/on-n1', address: address.get('red/on-n1') ?? '' },
      { from: 'blue/on-n1', to: 'ext', address: OUTSIDE.v4 },
    ];
    /** The same, with the address of the EgressIP. */
    const leaving = (): Stream => ({
      from: LEAVING,
      to: 'ext',
      address: OUTSIDE.v4,
      isRenewed: true,
    });
    /** As whom the host outside sees a pod. */
    const seenAs = async (key: string): Promise<string> => {
      const ask = `/bin/nc -w 2 ${OUTSIDE.v4} ${SERVER_PORT} < /dev/null`;
      return (await lab.inPod(key, '/bin/sh', '-c', ask)).stdout.split(' ')[1] ?? 'nobody';
    };
    const inOutside = (line: string): Promise<string> =>
      outputInside(lab.record, ['ip', 'netns', 'exec', 'ext', ...line.split(' ')]);
    /** Notes who sends to the address that pods under the EgressIP alone are sent to. */
    const watchOutside = async (): Promise<void> => {
      await inOutside(`ip address add ${WATCHED}/32 dev eth0`);
      await inOutside('nft add table inet seen');
      await inOutside(
        'nft add chain inet seen input { type filter hook prerouting priority -300 ; }',
      );
      // Its server answers with the one address that it has of its own.
      await inOutside('nft add chain inet seen nat { type nat hook prerouting priority -100 ; }');
      await inOutside(`nft add rule inet seen nat ip daddr ${WATCHED} dnat ip to ${OUTSIDE.v4}`);
      for (const set of ['right', 'wrong'])
        await inOutside(`nft add set inet seen ${set} { type ipv4_addr ; flags dynamic ; }`);
      for (const [set, operator] of [
        ['right', '=='],
        ['wrong', '!='],
      ] as const)
        await inOutside(
          `nft add rule inet seen input ip daddr ${WATCHED} ip saddr ${operator} ${EGRESS} update @${set} { ip saddr }`,
        );
    };
    const sourcesIn = async (set: string): Promise<readonly string[]> =>
      [
        ...(/elements = \{([^}]*)\}/
          .exec(await inOutside(`nft list set inet seen ${set}`))?.[1]
          ?.matchAll(/[\d.]+/g) ?? []),
      ].map(([text]) => text);
    /** With which other addresses they came there; of those that came with the right one it knows. */
    const wrongOutside = async (): Promise<readonly string[]> => {
      expect(await sourcesIn('right')).toEqual([EGRESS]);
      return sourcesIn('wrong');
    };
    /** Nodes of these that have the egress address. */
    const holders = async (among: readonly string[]): Promise<readonly string[]> => {
      const shown = await Promise.all(
        among.map((node) => outputInside(lab.record, ['on', node, 'ip', '-o', 'addr'])),
      );
      return among.filter((_node, index) => shown[index]?.includes(`${EGRESS}/32`));
    };
    /** With which a node answers for its addresses outside. */
    const macOf = async (node: (typeof nodes)[number]): Promise<string> => {
      const [own] = nodeAddresses(node);
      await inOutside(`ping -c 1 -W 5 ${own}`);
      const found = await inOutside(`ip neigh show ${own}`);
      return / lladdr (\S+)/.exec(found)?.[1] ?? found;
    };
    const labelled = async (...all: readonly string[]): Promise<void> => {
      for (const node of nodes) {
        const label = `k8s.ovn.org/egress-assignable${all.includes(node) ? '=' : '-'}`;
        await lab.done(['label', 'node', node, '--overwrite', label]);
      }
    };
    /** What the daemon of a node, or the cluster manager at another port, answers to its probes and of its metrics. */
    const http = async (node: string, path: string, port = 9476): Promise<string> => {
      const url = `http://127.0.0.1:${port}/${path}`;
      const curl = ['curl', '--silent', '--max-time', '10', url];
      return (await runInside(lab.record, ['on', node, ...curl])).stdout.trim();
    };
    const probes = (): Promise<string[]> =>
      Promise.all(
        [...nodes.map((node) => [node, 9476] as const), ['n1', 9477] as const].flatMap(
          ([node, port]) => ['healthz', 'readyz'].map((path) => http(node, path, port)),
        ),
      );
    /** Of the daemons of the nodes, and the cluster manager. */
    const processes = async (): Promise<(number | string | undefined)[]> => [
      ...(await Promise.all(nodes.map((node) => daemonProcess(lab.record, node)))),
      await daemon('n1', 'heddle-cluster', 'pid'),
    ];
    const unreadable = async (node: string): Promise<number> => {
      const text = await http(node, 'metrics');
      return Number(/^heddle_objects_unreadable_seconds (.*)$/m.exec(text)?.[1]);
    };
    /** The sum of a metric of each node's daemon over its labels. */
    const counted = (metric: string): Promise<number[]> =>
      Promise.all(
        nodes.map(async (node) =>
          (await http(node, 'metrics'))
            .split('\n')
            .filter((line) => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `))
            .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0),
        ),
      );
    /** What the daemons have changed so far: rows of OVN, and the host. */
    const changes = (): Promise<number[][]> =>
      Promise.all(['heddle_zone_rows_committed_total', 'heddle_host_changes_total'].map(counted));
    /** Lines in the logs of the daemons, and of the cluster manager. */
    const logged = (): Promise<number[]> =>
      Promise.all(
        [
          ...nodes.map((node) => daemonLog(lab.record.name, node)),
          join(dirname(daemonLog(lab.record.name, 'n1')), 'heddle-cluster.log'),
        ].map(async (file) =>
          Number((await outputInside(lab.record, ['wc', '-l', file])).split(' ')[0]),
        ),
      );
    const daemon = (node: string, name: string, action: string): Promise<string> =>
      outputInside(lab.record, ['lab-daemon', node, name, action]);
    const expectNothingLost = (all: readonly Streamed[]): void => {
      const said = JSON.stringify(all);
      for (const { answers, broken, lostDatagrams, echoes, lost, failedConnections } of all) {
        expect({ broken, lostDatagrams, lost, failedConnections }, said).toEqual({
          broken: 0,
          lostDatagrams: 0,
          lost: 0,
          failedConnections: 0,
        });
        expect(Math.min(answers, echoes), said).toBeGreaterThan(20);
      }
    };

    beforeAll(async () => {
      lab = await KubernetesLab.up('e2e-kubernetes-faults', nodes.length, SETTINGS);
      await lab.apply(
        ...tenants.map((tenant) => namespace(tenant, { [PRIMARY]: '' })),
        ...tenants.map((tenant) => layer3(`${tenant}/net`, '10.20.0.0/16/24')),
        ...tenants.flatMap((tenant) => nodes.map((node) => onNode(`${tenant}/on-${node}`, node))),
      );
      await labelled('n1', 'n3');
      await lab.apply(egressIp);
      await lab.ready(...keys);
      address = await addresses();
      // Alone: a server on a node would outlive its boot.
      const servers = [{ namespace: 'ext', name: 'outside' }];
      await outputInside(lab.record, ['lab-serve'], {
        input: JSON.stringify({ servers, port: SERVER_PORT }),
      });
    }, 300_000);
    afterAll(async () => {
      await lab[Symbol.asyncDispose]();
    });

    test('both tenants have the same addresses, and each reaches its own pods', async () => {
      for (const node of nodes)
        expect(address.get(`blue/on-${node}`)).toBe(address.get(`red/on-${node}`));
      await expect.poll(everyAnswer, SOON).toEqual(keys);
      await expect.poll(() => seenAs(LEAVING), SOON).toBe(EGRESS);
    });

    test('a node that reboots: its pods come back with their addresses, nothing is lost between others, and its egress address goes to another node, where it stays', async () => {
      const before = await Promise.all(keys.map((key) => lab.pod(key)));
      const own = await macOf(QUIET_NODE);
      await labelled(QUIET_NODE);
      await expect.poll(() => holders(nodes), SOON).toEqual([QUIET_NODE]);
      await labelled(...nodes);
      await watchOutside();
      let last: Streamed | undefined;
      const owners = await whileAskingForOwners(lab.record, [EGRESS], 'reboot', async () => {
        const ways = [...streams(), { ...leaving(), address: WATCHED, isPinged: false }];
        const streamed = await whileStreaming(lab.record, ways, async () => {
          await outputInside(lab.record, ['lab-reboot', QUIET_NODE]);
          const others = nodes.filter((node) => node !== QUIET_NODE);
          await expect.poll(() => holders(others), SOON).toHaveLength(1);
          await expect.poll(() => seenAs(LEAVING), SOON).toBe(EGRESS);
          await lab.upAgain();
          await expect.poll(everyAnswer, SOON).toEqual(keys);
          await expect.poll(() => http(QUIET_NODE, 'readyz'), SOON).toBe('ok');
          expect(await holders(nodes)).toHaveLength(1);
        });
        last = streamed.pop();
        expectNothingLost(streamed);
      });
      const [first, second, ...more] = owners.get(EGRESS) ?? [];
      expect(first?.mac).toBe(own);
      expect(second?.mac).not.toBe(own);
      expect(more).toEqual([]);
      const silent = (second?.from ?? Infinity) - (first?.to ?? 0);
      process.stdout.write(`${JSON.stringify({ silent, last })}\n`);
      expect(await wrongOutside()).toEqual([]);
      expect(last?.answers).toBeGreaterThan(20);
      expect(await seenAs(LEAVING)).toBe(EGRESS);
      expect(await holders([QUIET_NODE])).toEqual([]);
      await labelled(...nodes.filter((node) => node !== QUIET_NODE));
      expect(await addresses()).toEqual(address);
      const after = await Promise.all(keys.map((key) => lab.pod(key)));
      const networks = 'k8s.ovn.org/pod-networks';
      for (const [n, { metadata }] of after.entries()) {
        expect(metadata.uid).toBe(before[n]?.metadata.uid);
        expect(metadata.annotations?.[networks]).toBe(before[n]?.metadata.annotations?.[networks]);
      }
      // The ports of the pods that had run, which Open vSwitch's database still knew.
      const ports = await outputInside(lab.record, ['on', QUIET_NODE, 'ovs-vsctl', 'show']);
      expect(ports).not.toContain('error:');
    });

    test('daemons that are rolled, node by node, cost no packet, and a pod that comes meanwhile runs', async () => {
      const streamed = await whileStreaming(lab.record, streams(), async () => {
        await daemon('n1', 'heddle-cluster', 'stop');
        for (const node of nodes) {
          await daemon(node, 'heddle-node', 'stop');
          // Its runtime asks a daemon that is not there, and asks again.
          if (node === QUIET_NODE) await lab.apply(onNode('red/during', node));
          await lab.upAgain();
        }
        await lab.ready('red/during');
      });
      expectNothingLost(streamed);
      expect(await everyAnswer()).toEqual(keys);
      expect([...address.values()]).not.toContain(await lab.address('red/during'));
    });

    test('an API server that is away for longer than a lease costs no packet, and what comes then works', async () => {
      const well = Array<string>(2 * nodes.length + 2).fill('ok');
      await expect.poll(probes, SOON).toEqual(well);
      const ways = [...streams(), leaving()];
      const streamed = await whileStreaming(lab.record, ways, async () => {
        const before = await processes();
        const [changed, lines] = [await changes(), await logged()];
        for (const name of ['kube-apiserver', 'etcd']) await daemon('n1', name, 'kill');
        for (let at = 0; at < AWAY_MS; at += LOOK_MS) {
          await sleep(LOOK_MS);
          // Nothing would be ended or taken for unready.
          expect(await probes()).toEqual(well);
          expect(await seenAs(LEAVING)).toBe(EGRESS);
        }
        expect(await everyAnswer()).toEqual(keys);
        for (const node of nodes) {
          expect(await unreadable(node)).toBeGreaterThan(AWAY_MS / 2000);
          const log = await outputInside(lab.record, ['cat', daemonLog(lab.record.name, node)]);
          expect(log).toContain("objects can't be read since");
        }
        await lab.upAgain();
        expect(await processes()).toEqual(before);
        for (const node of nodes) await expect.poll(() => unreadable(node), SOON).toBe(0);
        await expect.poll(() => http('n1', 'metrics', 9477), SOON).toContain(LEADS);
        // Nothing was removed, made or told again and again, neither while it was away nor by all that was read since.
        expect(await changes()).toEqual(changed);
        for (const [index, count] of (await logged()).entries())
          expect(count - (lines[index] ?? 0)).toBeLessThan(20);
        await lab.apply(onNode('blue/after', QUIET_NODE));
        await lab.ready('blue/after');
      });
      expectNothingLost(streamed);
      const after = await lab.address('blue/after');
      await expect.poll(() => lab.answer('blue/on-n1', after), SOON).toBe('blue/after');
      expect(await lab.answer('red/on-n1', after)).not.toBe('blue/after');
      expect(await seenAs(LEAVING)).toBe(EGRESS);
    });
  },
);

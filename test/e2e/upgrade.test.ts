/** From the last release to this version and back, node by node, while tenants talk: nothing is lost, and nothing is left of either. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { daemonProcess } from '../../src/lab/daemons.ts';
import { heddleCommand, outputInside, runInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { settingsFile } from '../../src/lab/objects.ts';
import { checkout } from '../../src/lab/paths.ts';
import { STREAM_PORT, whileStreaming, type Stream } from '../support/host/streams.ts';
import { stopDaemon } from '../support/lab/lab-daemons.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import {
  NODES,
  nodeAddresses,
  podKey,
  sliceObjects,
  tenantObjects,
  TENANTS,
  type NodeName,
  type PodName,
  type Tenant,
} from '../support/lab/matrix-tenants.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';
import { RELEASE, releaseCommit, releaseFolder } from '../support/run/release.ts';

const COMMIT = releaseCommit();
/** Limits of waits for a condition; how long it takes is not what is tested here. */
const SOON = { timeout: 120_000, interval: 500 };
const MOMENT_MS = 1000;

const whyNot =
  whyNoLab ?? (COMMIT === undefined ? `the history here has no release ${RELEASE}` : undefined);

const TALKING = TENANTS.filter(({ name }) => ['default-net', 'layer3', 'layer2'].includes(name));
const clusterIp = ({ number }: Tenant): string => `172.16.1.${100 + number}`;
const nodePort = ({ number }: Tenant): number => 30_200 + number;
const PORTS = ['TCP', 'UDP'].map((protocol) => ({
  name: protocol.toLowerCase(),
  port: STREAM_PORT,
  protocol,
}));
const manifest = (objects: readonly object[]): string =>
  objects.map((object) => stringify(object)).join('---\n');

const serviceOf = (tenant: Tenant): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: tenant.name, name: 'stream' },
  spec: {
    type: 'NodePort',
    clusterIP: clusterIp(tenant),
    clusterIPs: [clusterIp(tenant)],
    ports: PORTS.map((port) => ({ ...port, nodePort: nodePort(tenant) })),
  },
});
/** Whom the streams' servers hear: the tenant, and those who come by nodes. */
const policyOf = ({ name }: Tenant): object => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { namespace: name, name: 'streams' },
  spec: {
    podSelector: { matchLabels: { pod: 'on-n2' } },
    policyTypes: ['Ingress'],
    ingress: [
      {
        from: [
          { podSelector: {} },
          { ipBlock: { cidr: '172.18.0.0/16' } },
          { ipBlock: { cidr: '100.64.0.0/15' } },
        ],
      },
    ],
  },
});

/** The pod on n3 leaves by n1 with another address than its node's. */
const egressIpOf = ({ name, number }: Tenant): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressIP',
  metadata: { name },
  spec: {
    egressIPs: [`172.18.0.${100 + number}`],
    egressNodeSelector: { matchLabels: { 'kubernetes.io/hostname': 'n1' } },
    namespaceSelector: { matchLabels: { tenant: name } },
    podSelector: { matchLabels: { pod: 'on-n3' } },
  },
});
/** What any pod may reach outside. */
const firewallOf = ({ name }: Tenant): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressFirewall',
  metadata: { namespace: name, name: 'default' },
  spec: {
    egress: [
      { type: 'Allow', to: { cidrSelector: '172.18.0.0/16' } },
      { type: 'Deny', to: { cidrSelector: '0.0.0.0/0' } },
    ],
  },
});

describe.skipIf(whyNot !== undefined)(
  `from ${RELEASE} to this version, and back${whyNot === undefined ? '' : ` (${whyNot})`}`,
  () => {
    const folder = ownFolder('heddle-upgrade');
    let lab: TestLab;
    let tenants: Tenants;
    let streams: Stream[];

    /** The daemon of this version ends, and that of another one's sources is started as it was, or the other way round. */
    async function exchange(node: NodeName, from: string, to: string): Promise<void> {
      const pid = await daemonProcess(lab.record, node);
      const text = await outputInside(lab.record, ['cat', `/proc/${pid}/cmdline`]);
      const argv = text
        .split('\0')
        .filter((word) => word !== '')
        .map((word) => (word === from ? to : word));
      expect(argv).toContain(to);
      const locks = await tenants.logged(node, 'zone lock');
      await stopDaemon(lab.record, node);
      await outputInside(lab.record, ['lab-daemon', node, 'heddle-node', 'start', ...argv]);
      await expect.poll(() => tenants.logged(node, 'zone lock'), SOON).toBeGreaterThan(locks);
      await expect.poll(() => unready(node), SOON).toEqual('');
    }
    /** Why a node's daemon is not ready. */
    async function unready(node: NodeName): Promise<string> {
      const argv = heddleCommand(lab.record, [
        'status',
        '--json',
        '--node',
        node,
        '--config',
        settingsFile(lab.record.name),
      ]);
      const { code, stdout, stderr } = await runInside(lab.record, argv);
      return code === 0 ? '' : stdout + stderr;
    }
    /** All nodes, one after the other, while all ways are used. */
    async function roll(from: string, to: string): Promise<void> {
      const streamed = await whileStreaming(lab.record, streams, async () => {
        await sleep(MOMENT_MS);
        for (const node of NODES) await exchange(node, from, to);
        await sleep(MOMENT_MS);
      });
      for (const [
        n,
        { broken, lost, lostDatagrams, failedConnections, answers, datagrams },
      ] of streamed.entries()) {
        const way = `${streams[n]?.from} to ${streams[n]?.address}`;
        expect({ way, broken, lost, lostDatagrams, failedConnections }).toEqual({
          way,
          broken: 0,
          lost: 0,
          lostDatagrams: 0,
          failedConnections: 0,
        });
        expect(Math.min(answers, datagrams), way).toBeGreaterThan(20);
      }
    }

    beforeAll(async () => {
      writeFileSync(
        join(folder, 'tenants.yaml'),
        manifest(TALKING.flatMap((tenant) => tenantObjects(tenant))),
      );
      lab = await testLab('e2e-upgrade', { families: 'dual' });
      tenants = new Tenants(lab.record, { folder });
      await tenants.start();
      const onDefault = await tenants.endpoints('default');
      const objects = TALKING.flatMap((tenant) => [
        serviceOf(tenant),
        policyOf(tenant),
        egressIpOf(tenant),
        firewallOf(tenant),
        ...sliceObjects(
          `${tenant.name}/stream`,
          onDefault.filter(({ pod }) => pod === podKey(tenant, 'on-n2')),
        ).map((slice) => ({ ...slice, ports: PORTS })),
      ]);
      writeFileSync(join(tenants.manifests, 'services.yaml'), manifest(objects));
      const ends = await tenants.endpoints();
      streams = TALKING.flatMap((tenant): Stream[] => {
        const key = (pod: PodName): string => podKey(tenant, pod);
        const [from, to] = [key('on-n1'), key('on-n2')];
        const addressOf = (pod: string): string =>
          ends.find((end) => end.pod === pod)?.addresses[0] ?? '';
        const isPinged = false;
        return [
          { from, to: key('beside'), address: addressOf(key('beside')), isRenewed: true },
          { from, to, address: addressOf(to), isRenewed: true, isPinged },
          { from: key('on-n3'), to, address: clusterIp(tenant), isPinged, isRenewed: true },
          {
            from: 'ext',
            to,
            address: nodeAddresses('n2')[0],
            port: nodePort(tenant),
            isPinged,
            isRenewed: true,
          },
          { from: 'ext', to, address: nodeAddresses('n3')[0], port: nodePort(tenant), isPinged },
          { from: to, to: 'ext', address: OUTSIDE.v4, isRenewed: true },
          { from: key('on-n3'), to: 'ext', address: OUTSIDE.v4, isRenewed: true },
        ];
      });
    }, 180_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('connections, datagrams and echoes go on', async () => {
      const pid = await daemonProcess(lab.record, 'n1');
      const text = await outputInside(lab.record, ['cat', `/proc/${pid}/cmdline`]);
      const now =
        text.split('\0').find((word) => word.startsWith(checkout) && /main\.[jt]s$/.test(word)) ??
        '';
      const before = join(releaseFolder(COMMIT ?? ''), 'src/cli/main.ts');
      /** Objects of which a node has no row yet; of an EgressIP those nodes have some that it is for. */
      const missing = async (node: NodeName): Promise<string[]> => {
        const text = (await tenants.intent(node)).join('\n');
        const owners = TALKING.flatMap(({ name }) => [
          `NetworkPolicy ${name}/streams`,
          `EgressFirewall ${name}/default`,
          ...(node === 'n2' ? [] : [`EgressIP ${name}`]),
        ]);
        return owners.filter((owner) => !text.includes(`"${owner}"`));
      };
      for (const node of NODES) await expect.poll(() => missing(node), SOON).toEqual([]);
      // All of it works before anything is exchanged.
      await whileStreaming(lab.record, streams, () => sleep(MOMENT_MS));
      const intents = new Map<NodeName, ReadonlySet<string>>();
      for (const node of NODES) intents.set(node, new Set(await tenants.intent(node)));
      await roll(now, before);
      await roll(before, now);
      const others = async (node: NodeName): Promise<string[]> => [
        ...new Set(await tenants.intent(node)).symmetricDifference(
          intents.get(node) ?? new Set<string>(),
        ),
      ];
      for (const node of NODES) await expect.poll(() => others(node), SOON).toEqual([]);
    }, 600_000);
  },
);

/**
 * What Kubernetes' own end-to-end cases ask of network policies, and the conformance suite of ClusterNetworkPolicies, with packets: three namespaces of three pods on three nodes, and who reaches whom
 * by TCP, UDP and, where a case is about it, SCTP on two ports. On the cluster default network and on a primary network at once, with the same policies on both.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { probe } from '../../src/lab/connectivity.ts';
import { heddleCommand, runInside } from '../../src/lab/exec.ts';
import { settingsFile } from '../../src/lab/objects.ts';
import { VERSION } from '../../src/process/version.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { ownFolder } from '../support/run/left-behind.ts';
import { policyReport, type CaseResult } from '../support/lab/policy-report.ts';
import { said, shown, type Asking, type Said } from '../support/lab/explained-packets.ts';
import {
  egress,
  ingress,
  POLICY_CASES,
  port,
  randomStep,
  space,
  xa,
  za,
} from '../support/lab/policy-cases.ts';
import { cluster, type Rule } from '../support/lab/cluster-policy-cases.ts';
import { ALL, ns, of } from '../support/lab/policy-selectors.ts';
import { NODE_PEER_CASES, reachedNodes, serveOnNodes } from '../support/lab/policy-node-peers.ts';
import { reachOfStep } from '../support/lab/table-reach.ts';
import { manifestsText } from '../support/lab/network-spaces.ts';
import type { SctpServers } from '../support/lab/sctp-associations.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { SeededRandom } from '../support/run/seeded-random.ts';
import { packetReportText } from '../../src/packets/packet-report.ts';
import {
  NETWORKS,
  PODS as NODE_OF,
  sctpServers,
  spaceName,
  tableObjects,
  TruthTable,
  type PodName,
} from '../support/lab/truth-table.ts';

/** Packets whose fate is said beforehand. */
const ASKED = Number(process.env['HEDDLE_PACKETS'] ?? 40);
/** Changes of labels and policies whose effect is said beforehand. */
const CHANGES = Number(process.env['HEDDLE_CHANGES'] ?? 10);
const RANDOM = new SeededRandom();
const SOON = { timeout: 60_000, interval: 500 };

/** Services of the namespaces z, with the pods that serve them. */
const SERVICES: readonly { readonly name: string; readonly pods: readonly PodName[] }[] = [
  { name: 'one', pods: ['b'] },
  { name: 'two', pods: ['b', 'c'] },
  { name: 'none', pods: [] },
  { name: 'own', pods: ['a'] },
];

const clusterIp = (network: number, name: string): string =>
  `172.16.1.${80 + 10 * network + SERVICES.findIndex((service) => service.name === name)}`;

function servicesText(addressOf: (pod: string) => string): string {
  const objects = NETWORKS.flatMap((network, row) =>
    SERVICES.flatMap(({ name, pods: servers }) => {
      const namespace = spaceName(network, 'z');
      const ip = clusterIp(row, name);
      const ports = [{ port: 80, protocol: 'TCP', name: 'web' }];
      return [
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name, namespace },
          spec: { clusterIP: ip, clusterIPs: [ip], ports },
        },
        {
          apiVersion: 'discovery.k8s.io/v1',
          kind: 'EndpointSlice',
          metadata: {
            name: `${name}-1`,
            namespace,
            labels: {
              'kubernetes.io/service-name': name,
              'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
            },
          },
          addressType: 'IPv4',
          ports,
          endpoints: servers.map((pod, index) => ({
            // Of a primary network Kubernetes knows the addresses on the default one.
            addresses: [
              network === 'default' ? addressOf(`${namespace}/${pod}`) : `10.128.0.${200 + index}`,
            ],
            nodeName: NODE_OF[pod],
            conditions: { ready: true },
            targetRef: { kind: 'Pod', namespace, name: pod },
          })),
        },
      ];
    }),
  );
  return manifestsText(objects);
}

describe.skipIf(whyNoLab !== undefined)(
  `network policies${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-policies');
    let lab: TestLab;
    let tenants: Tenants;
    let table: TruthTable;
    let sctp: SctpServers;
    const results: CaseResult[] = [];

    beforeAll(async () => {
      writeFileSync(join(folder, 'table.yaml'), tableObjects());
      lab = await testLab('e2e-policies');
      tenants = new Tenants(lab.record, { folder });
      await tenants.start();
      table = await TruthTable.of(tenants);
      sctp = await sctpServers(tenants, table.ends);
    }, 120_000);
    afterAll(async () => {
      // The suite's own report, for who asks for one.
      const file = process.env['HEDDLE_POLICY_REPORT'];
      const date = new Date().toISOString();
      if (file !== undefined)
        writeFileSync(file, policyReport(results, { version: VERSION, date }));
      rmSync(folder, { recursive: true });
      await sctp[Symbol.asyncDispose]();
      await lab[Symbol.asyncDispose]();
    });

    afterEach(({ task }) => {
      const names = task.name.startsWith('CNP') ? task.name.replace(/:.*/, '').split(', ') : [];
      const isPassed = task.result?.state === 'pass';
      results.push(...names.map((name) => ({ name, isPassed })));
    });

    test.each(POLICY_CASES)('%s', async (_, ...steps) => {
      for (const step of steps) await table.holds(step);
    });

    test('CNPAdminTierHairpin', async () => {
      const addressOf = (pod: string): string =>
        table.ends.find((end) => end.pod === pod)?.addresses[0] ?? '';
      writeFileSync(join(tenants.manifests, 'services.yaml'), servicesText(addressOf));
      const pods = NETWORKS.map((network) => `${network}-z/a`);
      /** Networks on which the pod a of namespace z reaches itself by its service. */
      const reached = async (): Promise<readonly string[]> => {
        const probes = pods.map((pod, row) => ({
          from: table.ends.find((end) => end.pod === pod)?.namespace ?? '',
          to: clusterIp(row, 'own'),
          port: 80,
          ping: false,
        }));
        const results = await probe(lab.record, probes, 1);
        return pods.filter((pod, n) => results[n]?.answer?.server === pod);
      };
      await table.apply({});
      await expect.poll(reached, SOON).toEqual(pods);
      const rule: Rule = ['Deny', { namespaces: ns('z') }];
      await table.apply({
        cluster: (world) => ({ hairpin: cluster(world, 'Admin', 15, { ingress: [rule] }, 'z') }),
      });
      expect(await reached()).toEqual([]);
    });

    test.each(NODE_PEER_CASES)('%s', async (_, ...steps) => {
      await serveOnNodes(lab.record);
      await table.apply({});
      const { asked, reached: before } = await reachedNodes(lab.record, table.ends);
      // Pods of both networks reach nodes without policies: what a step closes was open.
      for (const network of NETWORKS)
        for (const to of ['n1', 'n2', 'n3'])
          expect(
            [...before].filter((text) => text.startsWith(`${network}-x/`) && text.includes(to)),
          ).not.toEqual([]);
      for (const { step, open } of steps) {
        await table.apply(step);
        const expected = asked
          .filter((one) => before.has(one.text) && (one.space !== 'x' || open(one)))
          .map(({ text }) => text);
        await expect
          .poll(async () => [...(await reachedNodes(lab.record, table.ends)).reached], SOON)
          .toEqual(expected);
      }
    });

    test(
      `what objects say beforehand of random changes is what packets show (seed ${RANDOM.seed})`,
      async () => {
        for (let change = 0; change < CHANGES; change += 1) {
          const step = randomStep(RANDOM);
          const isOpen = reachOfStep(step);
          await table.holds({
            ...step,
            open: (from, to, via) => isOpen('primary', from, to, via),
          });
        }
      },
      60_000 + CHANGES * 20_000,
    );

    test('heddle explain says of random packets what they show', { timeout: 600_000 }, async () => {
      await table.holds({
        policies: {
          x: {
            deny: ingress(ALL),
            some: ingress(of('a'), { from: [space('y')], ports: [port(80)] }),
          },
          y: { out: egress(of('b', 'c'), { to: [space('z')] }) },
          z: { web: ingress(of('a'), { ports: [port(80, 'UDP')] }) },
        },
        open: (from, to, via) =>
          (to.space !== 'x' || (xa(to) && from.space === 'y' && via === 'tcp 80')) &&
          (from.space !== 'y' || from.pod === 'a' || to.space === 'z') &&
          (!za(to) || via === 'udp 80'),
      });
      const addressOf = (pod: string): string =>
        table.ends.find((end) => end.pod === pod)?.addresses[0] ?? '';
      writeFileSync(join(tenants.manifests, 'services.yaml'), servicesText(addressOf));
      const random = new SeededRandom();
      const asking = (): Asking => {
        const from = random.pick(table.ends);
        const [network = ''] = from.pod.split('-');
        const common = {
          from,
          port: random.pick([80, 81, 82]),
          protocol: random.pick(['tcp', 'udp'] as const),
        };
        const whom = random.number();
        if (whom < 0.25) {
          const name = random.pick(SERVICES).name;
          return { ...common, protocol: 'tcp', port: 80, destination: `svc/${network}-z/${name}` };
        }
        const to = random.pick(table.ends.filter((end) => end !== from));
        return whom < 0.4
          ? { ...common, destination: to.addresses[0] ?? '' }
          : { ...common, destination: to.pod, server: to.pod };
      };
      // Services are in force on every node.
      await expect
        .poll(async () => {
          const all: Said[] = [];
          for (const from of table.ends.filter(({ pod }) => pod.includes('-x/')))
            for (const name of ['one', 'none'])
              all.push(
                await said(lab.record, {
                  from,
                  destination: `svc/${from.pod.split('-')[0]}-z/${name}`,
                  port: 80,
                  protocol: 'tcp',
                }),
              );
          return all.filter(
            ({ verdict, report }) => verdict === 'undecided' && report.part !== 'sends',
          );
        }, SOON)
        .toEqual([]);
      const all: Said[] = [];
      const rest = Array.from({ length: ASKED }, asking);
      const ask = async (): Promise<void> => {
        for (let one = rest.pop(); one !== undefined; one = rest.pop())
          all.push(await said(lab.record, one));
      };
      await Promise.all([ask(), ask(), ask()]);
      const decided = all.filter(({ verdict }) => verdict !== 'undecided');
      const answers = await shown(lab.record, decided);
      const wrong = decided.flatMap(({ verdict, asking, report }, index) =>
        // Nobody listens on port 82: that packets get there shows nothing.
        (verdict === 'reaches') === answers[index] || (asking.port === 82 && verdict === 'reaches')
          ? []
          : [`${report.packet}: ${verdict}, ${answers[index]}\n${packetReportText(report)}`],
      );
      expect(wrong.join('\n\n'), `seed ${random.seed}`).toBe('');
      const undecided = all.filter(({ verdict }) => verdict === 'undecided');
      const why = [...new Set(undecided.map(({ report }) => report.why))].join('\n');
      const counts = Object.groupBy(all, ({ verdict }) => verdict);
      if (process.env['HEDDLE_SHOW'] !== undefined)
        console.log(
          Object.entries(counts).map(([verdict, some]) => `${verdict}: ${some.length}`),
          why,
        );
      expect(undecided.length, why).toBeLessThan(ASKED / 2);
      expect(counts['reaches']?.length).toBeGreaterThan(ASKED / 12);
      expect(counts['does not reach']?.length).toBeGreaterThan(ASKED / 12);
    });

    test.each([
      ['default-z/b', 'default-x/b:80', 1, 'does not reach'],
      ['default-x/a', 'default-y/a:80', 0, 'reaches'],
      ['default-x/a', '192.0.2.1:80', 2, "can't be decided here"],
    ])('the command from %s to %s ends with %i', async (from, to, exit, verdict) => {
      const node = table.ends.find(({ pod }) => pod === from)?.node ?? '';
      const where = ['--config', settingsFile('e2e-policies'), '--node', node];
      const { code, stdout, stderr } = await runInside(
        lab.record,
        heddleCommand(lab.record, ['explain', from, to, ...where]),
      );
      expect(stdout.split('\n')[0], stderr).toBe(`Pod ${from} → ${to}: ${verdict}`);
      expect(code).toBe(exit);
    });
  },
);

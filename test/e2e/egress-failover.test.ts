/** Egress addresses of nodes that lose their wire, their tunnels or their daemon: with packets, and with what kernels say of their addresses. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { probe, type Endpoint } from '../../src/lab/connectivity.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { manifestsFolder, OUTSIDE } from '../../src/lab/node-facts.ts';
import { serveOutward } from '../../src/lab/outward.ts';
import { stateFolder } from '../../src/lab/paths.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { whileSendingDatagrams } from '../support/lab/datagram-streams.ts';
import { addCards } from '../support/lab/egress-nodes.ts';
import { stopDaemon } from '../support/lab/lab-daemons.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { nodeAddresses } from '../support/lab/matrix-tenants.ts';
import { manifestsText, podOn, spaceObjects } from '../support/lab/network-spaces.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';

const SOON = { timeout: 60_000, interval: 200 };
const EGRESS = '172.18.0.60';
const HEALTH_PORT = 9107;
const NODES = ['n1', 'n2'] as const;
/** Daemons stand still for a second where a machine is short of processors: a node lets go then, with or without a move. */
const LEASE_S = 5;
const daemonArguments = [`--egressip-reachability-total-timeout=${LEASE_S}`];
/** What a node logs when its lease ends. */
const LET_GO = 'no cluster manager asks: egress addresses are let go';
type NodeName = (typeof NODES)[number];

describe.skipIf(whyNoLab !== undefined)(
  `egress addresses of nodes that fail${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-egress-failover');
    let lab: TestLab;
    let tenants: Tenants;
    let ends: readonly Endpoint[];

    const on = (node: NodeName, ...words: readonly string[]): Promise<string> =>
      outputInside(lab.record, ['on', node, ...words]);
    const write = (labelled: readonly NodeName[], drained: readonly NodeName[] = []): void => {
      const path = join(manifestsFolder(lab.record.name), 'nodes.yaml');
      const nodes = parseAllDocuments(readFileSync(path, 'utf8')).map(
        (document) => document.toJS() as { metadata: { name: NodeName }; spec?: object },
      );
      writeFileSync(
        path,
        manifestsText(
          nodes.map(({ metadata: { name }, spec: _spec, ...node }) => ({
            ...node,
            metadata: {
              name,
              labels: {
                'kubernetes.io/hostname': name,
                ...(labelled.includes(name) ? { 'k8s.ovn.org/egress-assignable': '' } : {}),
              },
            },
            ...(drained.includes(name) ? { spec: { unschedulable: true } } : {}),
          })),
        ),
      );
    };
    const label = (...labelled: readonly NodeName[]): void => write(labelled);
    /** As whom the host outside sees the pods of the first node. */
    const seen = async (): Promise<readonly (string | undefined)[]> => {
      const near = ends.filter(({ node }) => node === 'n1');
      const results = await probe(
        lab.record,
        near.map(({ namespace }) => ({
          from: namespace,
          to: OUTSIDE.v4,
          port: SERVER_PORT,
          ping: false,
        })),
        1,
      );
      return near.map((_, index) => results[index]?.answer?.peer);
    };
    const outside = (...words: readonly string[]): Promise<string> =>
      outputInside(lab.record, ['ip', 'netns', 'exec', 'ext', ...words]);
    /** Has kernels say from now on when they get and lose the address. */
    const watch = async (): Promise<void> => {
      for (const node of NODES) {
        const pid = `/tmp/monitor-${node}`;
        await on(
          node,
          'sh',
          '-c',
          `[ ! -e ${pid} ] || kill $(cat ${pid}); ip -ts -4 monitor address > /tmp/addresses-${node} 2>&1 & echo $! > ${pid}`,
        );
      }
    };
    /** `n1 came`, `n2 went`, by the clock that both share, with milliseconds since the first. */
    const moves = async (): Promise<readonly { readonly what: string; readonly at: number }[]> => {
      const found: { what: string; at: number }[] = [];
      for (const node of NODES) {
        const lines = await on(node, 'cat', `/tmp/addresses-${node}`);
        for (const line of lines.split('\n')) {
          const [, time] = /^\[([^\]]+)\]/.exec(line) ?? [];
          if (time === undefined || !line.includes(`${EGRESS}/32`)) continue;
          const what = line.includes('Deleted') ? 'went' : 'came';
          found.push({ what: `${node} ${what}`, at: Date.parse(`${time}Z`) });
        }
      }
      return found.toSorted((a, b) => a.at - b.at);
    };
    /** The address was never at both nodes since the watch began. */
    const expectOneHolder = async (first: NodeName): Promise<void> => {
      const holders = new Set<string | undefined>([first]);
      for (const { what } of await moves()) {
        const [node, verb] = what.split(' ');
        if (verb === 'came') holders.add(node);
        else holders.delete(node);
        expect(holders.size).toBeLessThan(2);
      }
    };
    /** Whether the manager has written down that a node is to be ready for the address. */
    const isPrepared = (): boolean =>
      readFileSync(
        join(stateFolder(lab.record.name), 'state/objects/egressips.k8s.ovn.org/fixed.json'),
        'utf8',
      ).includes('prepare');
    const has = async (node: NodeName): Promise<boolean> =>
      (await on(node, 'ip', '-o', 'addr')).includes(`${EGRESS}/32`);
    /** Nobody asks the second node, nor does it ask anybody, for its health; all else goes on. */
    const cut = async (): Promise<void> => {
      await on('n2', 'nft', 'add table inet cut');
      for (const hook of ['input', 'output']) {
        await on(
          'n2',
          'nft',
          `add chain inet cut ${hook} { type filter hook ${hook} priority -500; }`,
        );
        for (const port of ['dport', 'sport'])
          await on('n2', 'nft', `add rule inet cut ${hook} tcp ${port} ${HEALTH_PORT} drop`);
      }
    };
    const heal = async (): Promise<void> => {
      // There or not.
      for (const verb of ['add', 'delete']) await on('n2', 'nft', `${verb} table inet cut`);
    };
    /** How often nodes let go because nobody asked them: on a machine on which daemons stand still for a whole lease. */
    const leasesEnded = async (): Promise<number> => {
      let sum = 0;
      for (const node of NODES) sum += await tenants.logged(node, LET_GO);
      return sum;
    };
    /** The daemon that starts first manages the cluster, and goes on. */
    const firstManages = async (): Promise<void> => {
      await stopDaemon(lab.record, 'n2');
      await tenants.start();
    };
    const atSecond = async (): Promise<void> => {
      label('n2');
      await expect.poll(() => has('n2'), SOON).toBe(true);
      await expect.poll(() => has('n1'), SOON).toBe(false);
      label('n1', 'n2');
      await expect.poll(seen, SOON).toEqual([EGRESS, EGRESS]);
    };

    beforeAll(async () => {
      writeFileSync(
        join(folder, 'objects.yaml'),
        manifestsText([
          ...(['plain', 'flat'] as const).flatMap((namespace) => [
            ...spaceObjects(namespace, { leaves: 'fixed' }),
            podOn('n1', namespace, 'near'),
            podOn('n2', namespace, 'far'),
          ]),
          {
            apiVersion: 'k8s.ovn.org/v1',
            kind: 'EgressIP',
            metadata: { name: 'fixed' },
            spec: { egressIPs: [EGRESS], namespaceSelector: { matchLabels: { leaves: 'fixed' } } },
          },
        ]),
      );
      lab = await testLab('e2e-egress-failover', { nodes: 2, families: 'dual' });
      tenants = new Tenants(lab.record, { folder, daemonArguments });
      await tenants.start();
      await firstManages();
      await serveOutward(lab.record);
      ends = await tenants.endpoints();
    }, 120_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('an address stays while both nodes are well', async () => {
      await atSecond();
    });

    test('nothing of the host is reached by it, and it is answered for', async () => {
      const listener = ['nc', '-l', '-k', '-p', '8099'];
      await on(
        'n2',
        'sh',
        '-c',
        `${listener.join(' ')} </dev/null >/dev/null 2>&1 & echo $! > /tmp/listener`,
      );
      const reaches = async (address: string): Promise<boolean> =>
        (await outside('sh', '-c', `nc -z -w 1 ${address} 8099 && echo yes || echo no`)).trim() ===
        'yes';
      await expect.poll(() => reaches(nodeAddresses('n2')[0] ?? ''), SOON).toBe(true);
      expect(await reaches(EGRESS)).toBe(false);
      await on('n2', 'sh', '-c', 'kill $(cat /tmp/listener)');
      await outside(
        'arping',
        '-c',
        '1',
        '-f',
        '-I',
        (await outside('sh', '-c', `ip -o route get ${EGRESS}`)).split(' dev ')[1]?.split(' ')[0] ??
          '',
        EGRESS,
      );
    });

    test('a node that is drained loses its address, and no packet', async () => {
      const drain = async (...drained: readonly NodeName[]): Promise<void> => {
        write(NODES, drained);
        for (const node of NODES)
          await expect.poll(() => has(node), SOON).toBe(!drained.includes(node));
      };
      // Gateway routers of both nodes know whom they send to, as they do where pods of theirs have sent something.
      for (const node of ['n2', 'n1'] as const) {
        await drain(node);
        await expect.poll(seen, SOON).toEqual([EGRESS, EGRESS]);
      }
      await watch();
      const endedBefore = await leasesEnded();
      const asked = ends.map(({ namespace }) => ({ from: namespace, to: OUTSIDE.v4 }));
      const { streams, sources } = await whileSendingDatagrams(lab.record, asked, 2, async () => {
        await drain('n2');
        await drain('n1');
      });
      expect(Object.keys(sources)).toEqual([EGRESS]);
      // Of a machine that is too slow nothing is said by what was lost.
      expect(await leasesEnded(), 'leases that ended meanwhile').toBe(endedBefore);
      expect(ends.map(({ pod: key }, index) => [key, streams[index]?.lost])).toEqual(
        ends.map(({ pod: key }) => [key, []]),
      );
      expect(streams.every(({ sent }) => sent > 100)).toBe(true);
      await expectOneHolder('n2');
      label(...NODES);
    });

    test('while the manager is killed in the middle of a move no packet leaves with another address, and the next one brings it to its place', async () => {
      await atSecond();
      await watch();
      await expect.poll(isPrepared, SOON).toBe(false);
      const asked = ends.map(({ namespace }) => ({ from: namespace, to: OUTSIDE.v4 }));
      try {
        const { streams, sources } = await whileSendingDatagrams(lab.record, asked, 2, async () => {
          write(NODES, ['n2']);
          await expect.poll(isPrepared, { ...SOON, interval: 5 }).toBe(true);
          await stopDaemon(lab.record, 'n1', 'kill');
          await tenants.start();
          await expect.poll(() => has('n1'), SOON).toBe(true);
          await expect.poll(() => has('n2'), SOON).toBe(false);
        });
        expect(Object.keys(sources)).toEqual([EGRESS]);
        expect(streams.every(({ sent }) => sent > 100)).toBe(true);
        await expectOneHolder('n2');
      } finally {
        await firstManages();
      }
    });

    test('a node that the manager does not reach lets its address go before the other one has it, and gets it no more', async () => {
      await atSecond();
      await watch();
      try {
        // It goes on answering on the wire, for whatever it has.
        await cut();
        await expect.poll(() => has('n1'), SOON).toBe(true);
        await expect.poll(seen, SOON).toEqual([EGRESS, EGRESS]);
        const found = await moves();
        expect(found.map(({ what }) => what)).toEqual(['n2 went', 'n1 came']);
      } finally {
        await heal();
      }
      await expect.poll(seen, SOON).toEqual([EGRESS, EGRESS]);
      expect(await has('n2')).toBe(false);
    });

    test.each([
      ['ovn-northd', 'northd'],
      ['ovn-controller', 'controller'],
      ['the Northbound server', 'nb'],
      ['the Southbound server', 'sb'],
      ["Open vSwitch's database server", 'ovsdb'],
      ['ovs-vswitchd', 'vswitchd'],
    ])(
      'no packet leaves with another address while %s of the node that has it is killed and starts again',
      async (_, name) => {
        await atSecond();
        const asked = ends.map(({ namespace }) => ({ from: namespace, to: OUTSIDE.v4 }));
        const { sources } = await whileSendingDatagrams(lab.record, asked, 2, async () => {
          await outputInside(lab.record, ['service', 'n2', 'kill', name]);
          await outputInside(lab.record, ['service', 'n2', 'start', name]);
          await expect.poll(seen, SOON).toEqual([EGRESS, EGRESS]);
        });
        expect(Object.keys(sources)).toEqual([EGRESS]);
        expect(sources[EGRESS]).toBeGreaterThan(100);
      },
    );

    /** The external bridge of a node, and the card by which it reaches the network outside. */
    const wireOf = async (
      node: NodeName,
    ): Promise<{ readonly bridge: string; readonly wire: string }> => {
      const mappings = 'external_ids:ovn-bridge-mappings';
      const text = await on(node, 'ovs-vsctl', 'get', 'Open_vSwitch', '.', mappings);
      const bridge = /physnet:([^,"]+)/.exec(text)?.[1] ?? '';
      const ports = (await on(node, 'ovs-vsctl', 'list-ports', bridge)).split('\n');
      const wire = ports.find((port) => port !== '' && !port.startsWith('patch-')) ?? '';
      return { bridge, wire };
    };

    test('a node that loses its wire is followed by the other one', async () => {
      await atSecond();
      const { wire } = await wireOf('n2');
      await on('n2', 'ip', 'link', 'set', wire, 'down');
      try {
        await expect.poll(seen, { ...SOON, interval: 50 }).toEqual([EGRESS, EGRESS]);
      } finally {
        await on('n2', 'ip', 'link', 'set', wire, 'up');
      }
    });

    describe('where tunnels go by another card', () => {
      /** On the userspace datapath the address of a tunnel has to be that of a bridge. */
      const tunnelsByCard = async (node: NodeName): Promise<void> => {
        const type = await on(node, 'ovs-vsctl', 'get', 'Bridge', 'br-int', 'datapath_type');
        const script = [
          'ip address flush dev card',
          `ovs-vsctl add-br brcard -- set Bridge brcard datapath_type=${type.trim()} -- add-port brcard card`,
          `ip address add 10.9.0.${node.slice(1)}/24 dev brcard`,
          'ip link set brcard up',
        ];
        await on(node, 'sh', '-ec', script.join('\n'));
      };
      const lose = async (node: NodeName, other: NodeName): Promise<void> => {
        const { bridge, wire } = await wireOf(node);
        const message = `egress IP ${EGRESS} moves from node ${node} to node ${other}: node ${node}: uplink ${wire} of ${bridge} is down`;
        const told = async (): Promise<number> => await tenants.logged('n1', message);
        const [toldBefore, endedBefore] = [await told(), await leasesEnded()];
        await on(node, 'ip', 'link', 'set', wire, 'down');
        try {
          await expect.poll(() => has(other), SOON).toBe(true);
          await expect.poll(seen, SOON).toEqual([EGRESS, EGRESS]);
          expect(await has(node)).toBe(false);
          expect(await told()).toBe(toldBefore + 1);
          // It was reached all the time.
          expect(await leasesEnded()).toBe(endedBefore);
        } finally {
          await on(node, 'ip', 'link', 'set', wire, 'up');
        }
      };

      test('a node that loses its wire is left for the other one, and has the address again when that one loses its own', async () => {
        await addCards(lab.record, NODES);
        for (const node of ['n2', 'n1'] as const) {
          await stopDaemon(lab.record, node, 'kill');
          await tunnelsByCard(node);
        }
        tenants = new Tenants(lab.record, {
          folder,
          daemonArguments: [...daemonArguments, '--encap-ip=10.9.0.0/24'],
        });
        await tenants.start();
        await firstManages();
        await atSecond();
        await watch();
        await lose('n2', 'n1');
        await lose('n1', 'n2');
        await expectOneHolder('n2');
      });
    });
  },
);

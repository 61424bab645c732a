/** Nodes on which an ovn-kubernetes ran are given to `heddle node` while pods talk: rows, packets, and what is left of it. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { startDaemon } from '../../src/lab/daemons.ts';
import { stopDaemon } from '../support/lab/lab-daemons.ts';
import { heddleCommand, outputInside, runInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { settingsFile } from '../../src/lab/objects.ts';
import { nodeSockets, remote, stateFolder } from '../../src/lab/paths.ts';
import { MARK } from '../../src/desired/rows.ts';
import { OvsdbClient } from 'ovsdb-client-ts';
import {
  countSets,
  leaveAsReference,
  leaveSets,
  mapOf,
  northboundRows,
  UUID,
  type WireRow,
} from '../support/zone/as-reference.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { ownFolder } from '../support/run/left-behind.ts';
import {
  podKey,
  sliceObjects,
  tenantObjects,
  TENANTS,
  type NodeName,
  type PodName,
  type Tenant,
} from '../support/lab/matrix-tenants.ts';
import {
  STREAM_PORT,
  whileStreaming,
  type Stream,
  type Streamed,
} from '../support/host/streams.ts';
import { DatagramSender } from '../support/host/datagram-sender.ts';
import {
  deniedSenders,
  egressObjects,
  egressPodObjects,
  egressStreams,
  LEAVES_BY,
  OutsideWatch,
} from '../support/lab/egress-in-force.ts';
import { leaveHostAsReference, leftOnHost } from '../support/lab/host-as-reference.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { TransactionGate } from '../support/ovsdb/transaction-gate.ts';
import { until } from '../support/run/until.ts';

/** Limits of waits for a condition; how long it takes is not what is tested here. */
const WAITING = { limit: 120_000, pause: 200 };
const NODES = ['n1', 'n2', 'n3'] as const;
/** A busy machine must not pass for a node that has failed. */
const ARGUMENTS = ['--egressip-reachability-total-timeout=20'];
/** More than go in one transaction. */
const MANY = 1000;
/** egressip-node-healthcheck-port. */
const HEALTH_PORT = 9107;
/** Traffic before and after. */
const MOMENT_MS = 1000;

/** The default network, and one of Layer3 and of Layer2. */
const MOVED = TENANTS.filter(({ name }) => ['default-net', 'layer3', 'layer2'].includes(name));
const ENDPOINTS = ['on-n2', 'beside'] as const;
const clusterIp = ({ number }: Tenant): string => `172.16.1.${100 + number}`;

const manifest = (objects: readonly object[]): string =>
  objects.map((object) => stringify(object)).join('---\n');

const PORTS = ['TCP', 'UDP'].map((protocol) => ({
  name: protocol.toLowerCase(),
  port: STREAM_PORT,
  protocol,
}));

/** A tenant whose pods call their TCP port by a name. */
const objectsOf = (tenant: Tenant): object[] =>
  tenantObjects(tenant).map((object) => {
    if (!('kind' in object) || object.kind !== 'Pod') return object;
    const { spec } = object as unknown as { spec: object };
    const ports = [{ name: 'stream', containerPort: STREAM_PORT, protocol: 'TCP' }];
    return { ...object, spec: { ...spec, containers: [{ name: 'web', image: 'web', ports }] } };
  });

const serviceOf = (tenant: Tenant): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: tenant.name, name: 'stream' },
  spec: { clusterIP: clusterIp(tenant), clusterIPs: [clusterIp(tenant)], ports: PORTS },
});

/** Of the pod on n2: streams from n1 go by a port's name, by a number, and from n3 by whose they are. */
const policyOf = ({ name }: Tenant): object => {
  const from = (pod: string): object => ({ podSelector: { matchLabels: { pod } } });
  const named = { protocol: 'TCP', port: 'stream' };
  const numbered = { protocol: 'UDP', port: STREAM_PORT };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { namespace: name, name: 'streams' },
    spec: {
      podSelector: { matchLabels: { pod: 'on-n2' } },
      policyTypes: ['Ingress'],
      ingress: [
        { from: [from('on-n1')], ports: [named] },
        { from: [from('on-n1')], ports: [numbered] },
        { from: [from('on-n3')] },
        { from: [{ ipBlock: { cidr: '192.0.2.9/24' } }] },
      ],
    },
  };
};

/** Layer3 and Layer2 reach each other. */
const CONNECT = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterNetworkConnect',
  metadata: { name: 'moved' },
  spec: {
    connectSubnets: [
      { cidr: '192.168.0.0/16', networkPrefix: 24 },
      { cidr: 'fd96::/112', networkPrefix: 120 },
    ],
    connectivity: ['PodNetwork', 'ServiceNetwork'],
    networkSelectors: [
      {
        networkSelectionType: 'PrimaryUserDefinedNetworks',
        primaryUserDefinedNetworkSelector: {
          namespaceSelector: {
            matchExpressions: [{ key: 'tenant', operator: 'In', values: ['layer3', 'layer2'] }],
          },
        },
      },
    ],
  },
};

/** Without the hashes that groups and sets are named by, which are others here. */
const unhashed = (text: string): string => text.replaceAll(/\ba(\d{15,20}|[\da-f]{32})\b/g, 'a…');

/** A row as text, whatever UUIDs it and others have. */
const contentOf = ({ table, columns }: WireRow): string =>
  `${table} ${JSON.stringify(columns, Object.keys(columns).toSorted()).replaceAll(UUID, 'row')}`;

/** How often each content is there. */
const contents = (rows: readonly WireRow[]): ReadonlyMap<string, number> =>
  countBy(rows.map(contentOf));
function countBy(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

const isMarked = (row: WireRow): boolean =>
  'external_ids' in row.columns && mapOf(row, 'external_ids').has(MARK);

const gone = (before: readonly WireRow[], after: readonly WireRow[]): string[] => {
  const uuids = new Set(after.map(({ uuid }) => uuid));
  return before.filter(({ uuid }) => !uuids.has(uuid)).map(contentOf);
};

/** What is another value now in rows that stayed, the mark left out: `table column column`, and in how many rows. */
function changes(
  before: readonly WireRow[],
  after: readonly WireRow[],
): Readonly<Record<string, number>> {
  const byUuid = new Map(after.map((row) => [row.uuid, row]));
  const text = (row: WireRow, column: string): string => {
    if (column !== 'external_ids') return unhashed(JSON.stringify(row.columns[column]));
    return JSON.stringify([...mapOf(row, column)].filter(([key]) => key !== MARK));
  };
  const texts = before.flatMap((row) => {
    const now = byUuid.get(row.uuid);
    if (now === undefined) return [];
    const changed = Object.keys(row.columns).filter((one) => text(row, one) !== text(now, one));
    return changed.length === 0 ? [] : [`${row.table} ${changed.sort().join(' ')}`];
  });
  return Object.fromEntries(countBy(texts));
}

/** What `heddle diff` lists on each node. */
const ofStreams = ({ name, topology }: Tenant): string =>
  `ACL ${topology === undefined ? 'default' : `${name}_net`}-network-controller:NetworkPolicy:${name}:streams:Ingress:0:tcp:-1`;
/** Policies of routers are known by what they match, and these name address sets. */
const ofSets = (name: string, network: string): readonly string[] =>
  ['ip4', 'ip6'].map(
    (ip) =>
      `Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-${name}:${ip}:${network} (${ip}.src == $a… || ${ip}.src == $a…) && ${ip}.dst == $a…`,
  );
const LEFT = [
  ...MOVED.map(ofStreams),
  ...['layer3_net', 'layer2_net'].flatMap((network) => ofSets('Pod-To-CDN-Svc', network)),
  ...['default', 'layer3_net', 'layer2_net'].flatMap((network) => ofSets('Pod-To-Node', network)),
  'ACL default-network-controller:EgressFirewall:default-net:7',
  'ACL l2_l2-network-controller:NetpolNode:l2_l2_ovn_layer2_switch:10.9.0.2',
  // Those that rows of every network name are made anew, for each family: of nodes, of EgressServices, of services open to all.
  ...Array.from({ length: 6 }, () => 'Address_Set a…'),
  'Address_Set a222',
  'Address_Set a4712',
  'Load_Balancer_Group l2_l2_clusterLBGroup',
  'Logical_Router l2_l2_transit_router',
  'Logical_Router_Policy default-network-controller:EgressIP:100:eip_default-net/gone:ip4:default ip4.src == 10.128.0.99',
  'Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-reply-traffic:ip:l2_l2 pkt.mark == 42',
  'Logical_Switch l2_l2_ovn_layer2_switch',
  'Logical_Switch_Port l2.l2_l2_web',
  'NAT default-network-controller:EgressIP:eip_default-net/gone:ip4',
  'Port_Group a111',
  'Port_Group a333',
  'Port_Group a4711',
  'QoS default-network-controller:EgressIP:103:EgressIP-Mark-Reply-Traffic:ip4:l2_l2',
  'QoS default-network-controller:EgressQoS:default-net:1000',
].sort();
/**
 * How many rows stay that are nobody's here: seven of OpenStack; a MAC binding, a group of load balancers, a meter with its band and a protection
 * that no id tells of.
 */
const OTHERS = 12;
/**
 * What the other one writes differently: blocks of policies; meters of firewalls; options of load balancers, and the order of endpoints; the chassis of ports at which
 * addresses are translated.
 */
const DIFFERENT = {
  'ACL match': MOVED.length,
  'ACL meter': 2 * MOVED.length,
  'Load_Balancer options': 1,
  'Load_Balancer options vips': 2 * MOVED.length,
  'Logical_Router_Port gateway_chassis ha_chassis_group': MOVED.length,
};
/** Groups whose rows differ: of streams, of the pods that policies close, of namespaces with a firewall. */
const GROUPS = 3 * MOVED.length;

describe.skipIf(whyNoLab !== undefined)(
  `nodes of an ovn-kubernetes${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-take-over');
    const clients = new Map<NodeName, OvsdbClient>();
    /** What Heddle had written, by node. */
    const written = new Map<NodeName, readonly WireRow[]>();
    let lab: TestLab;
    let tenants: Tenants;
    let streams: Stream[];
    let outside: OutsideWatch;

    const clientOf = (node: NodeName): OvsdbClient => {
      const found = clients.get(node);
      if (found === undefined) throw new Error(`no client of ${node}`);
      return found;
    };
    const rowsOf = (node: NodeName): Promise<WireRow[]> => northboundRows(clientOf(node));

    /** What `heddle diff` says is left: `table key`. */
    async function left(node: NodeName, ...more: string[]): Promise<string[]> {
      const sockets = nodeSockets(stateFolder(lab.record.name), node);
      const argv = heddleCommand(lab.record, [
        'diff',
        '--json',
        `--config=${settingsFile(lab.record.name)}`,
        `--node=${node}`,
        `--nb=${remote(sockets.nb)}`,
        `--sb=${remote(sockets.sb)}`,
        `--socket=${join(stateFolder(lab.record.name), node, 'heddle-node.sock')}`,
        ...more,
      ]);
      let stdout = '';
      // Rows that a daemon before has written say nothing of the one that is there.
      const isPlanned = async (): Promise<boolean> => {
        const answer = await runInside(lab.record, ['on', node, ...argv]);
        stdout = answer.stdout;
        if (stdout === '' && !answer.stderr.includes('has made no plan yet'))
          throw new Error(answer.stderr);
        return stdout !== '';
      };
      await until('its first plan', isPlanned, WAITING);
      const found = JSON.parse(stdout) as { left: { table: string; key: string }[] };
      return found.left.map(({ table, key }) => unhashed(`${table} ${key}`)).sort();
    }

    /** Every way a byte, a datagram and an echo go during `what`, and a moment before and after. */
    const during = (what: () => Promise<unknown>): Promise<Streamed[]> =>
      whileStreaming(lab.record, streams, async () => {
        await sleep(MOMENT_MS);
        await what();
        await sleep(MOMENT_MS);
      });
    const expectKept = async (streamed: readonly Streamed[]): Promise<void> => {
      expect(await outside.wrong()).toEqual([]);
      const kept = streamed.map(({ broken, lost, lostDatagrams }, n) => {
        const { from = '', address = '' } = streams[n] ?? {};
        return { way: `${from} to ${address}`, broken, lost, lostDatagrams };
      });
      expect(kept).toEqual(kept.map(({ way }) => ({ way, broken: 0, lost: 0, lostDatagrams: 0 })));
      for (const [n, { answers, datagrams, echoes }] of streamed.entries()) {
        const least = streams[n]?.isPinged === false ? datagrams : Math.min(datagrams, echoes);
        expect(Math.min(answers, least), kept[n]?.way).toBeGreaterThan(5);
      }
    };
    /** The same while pods try what their firewalls deny, and the host outside notes what should not come. */
    const watching = async (what: () => Promise<unknown>): Promise<Streamed[]> => {
      await using senders = new AsyncDisposableStack();
      const all = deniedSenders(MOVED).map((one) =>
        senders.use(new DatagramSender(lab.record, one)),
      );
      await until(
        'the firewalls to be tried',
        () => all.every(({ isSending }) => isSending),
        WAITING,
      );
      await outside.forget();
      return await during(what);
    };
    /** True when all rows of ours are, whatever else there is. */
    const isAdopted = async (node: NodeName): Promise<boolean> =>
      (await rowsOf(node)).filter(isMarked).length === markedOf(node);
    /** True when the rows are those that Heddle had written, and so many of others. */
    const isTaken = async (node: NodeName): Promise<boolean> => {
      const rows = await rowsOf(node);
      const [found, wanted] = [contents(rows), contents(written.get(node) ?? [])];
      for (const [content, count] of wanted) if ((found.get(content) ?? 0) < count) return false;
      return rows.length === (written.get(node)?.length ?? 0) + OTHERS;
    };
    const markedOf = (node: NodeName): number => (written.get(node) ?? []).filter(isMarked).length;

    const sbctl = (node: NodeName, ...command: string[]): Promise<string> =>
      outputInside(lab.record, ['on', node, 'ovn-sbctl', '--timeout=30', '--bare', ...command]);
    /** Other nodes' chassis that carry our mark. */
    const markedChassis = async (node: NodeName): Promise<number> => {
      const found = await sbctl(node, '--columns=external_ids', 'find', 'Chassis');
      return found.split(/\s+/).filter((member) => member.startsWith(`${MARK}=`)).length;
    };

    /** While no manager is heard by a node: what it may have is not known there. */
    const unheard = async (node: NodeName, what: () => Promise<unknown>): Promise<void> => {
      const on = (...command: string[]): Promise<string> =>
        outputInside(lab.record, ['on', node, ...command]);
      await on(
        'nft',
        `table inet unheard { chain input { type filter hook input priority 0; tcp dport ${HEALTH_PORT} drop; }; }`,
      );
      try {
        await what();
      } finally {
        await on('nft', 'delete table inet unheard');
      }
    };
    /** The fence of egress addresses is one of them. */
    const hasOurFlows = async (node: NodeName): Promise<boolean> => {
      const command = ['ovs-ofctl', '-O', 'OpenFlow13', 'dump-flows', 'breth0', 'table=12'];
      return (await outputInside(lab.record, ['on', node, ...command])).includes('actions=drop');
    };

    beforeAll(async () => {
      writeFileSync(
        join(folder, 'tenants.yaml'),
        manifest([...MOVED.flatMap(objectsOf), ...egressPodObjects(MOVED), CONNECT]),
      );
      lab = await testLab('e2e-take-over', { families: 'dual' });
      outside = new OutsideWatch(lab.record);
      await outside.start();
      tenants = new Tenants(lab.record, {
        folder,
        seconds: 180,
        daemonArguments: ARGUMENTS,
      });
      await tenants.start();
      const onDefault = await tenants.endpoints('default');
      const behind = (tenant: Tenant): object[] =>
        sliceObjects(
          `${tenant.name}/stream`,
          onDefault
            .filter(({ pod }) => ENDPOINTS.some((one) => pod === podKey(tenant, one)))
            .map(({ pod, node, addresses }) => ({ pod, node, addresses })),
        ).map((slice) => ({ ...slice, ports: PORTS }));
      const objects = MOVED.flatMap((tenant) => [
        serviceOf(tenant),
        policyOf(tenant),
        ...behind(tenant),
      ]);
      const [balanced] = onDefault.filter((end) => end.pod === 'balanced/far');
      objects.push(...egressObjects(MOVED), ...sliceObjects('balanced/lb', [balanced!]));
      writeFileSync(join(tenants.manifests, 'services.yaml'), manifest(objects));
      const ends = await tenants.endpoints();
      const addressOf = (pod: string): string =>
        ends.find((end) => end.pod === pod)?.addresses[0] ?? '';
      const overConnect = { from: 'layer3/on-n2', to: 'layer2/on-n3' };
      streams = MOVED.flatMap((tenant): Stream[] => {
        const key = (pod: PodName): string => podKey(tenant, pod);
        return [
          { from: key('on-n1'), to: key('beside'), address: addressOf(key('beside')) },
          {
            from: key('on-n1'),
            to: key('on-n2'),
            address: addressOf(key('on-n2')),
            isPinged: false,
          },
          { from: key('on-n3'), to: key('on-n2'), address: clusterIp(tenant), isPinged: false },
          { from: key('on-n2'), to: 'ext', address: OUTSIDE.v4 },
        ];
      });
      streams.push({ ...overConnect, address: addressOf(overConnect.to) }, ...egressStreams(MOVED));
      // All of it works before anybody else comes.
      await during(async () => undefined);
      // All at once: none of them learns that another one has gone.
      await Promise.all(NODES.map((node) => stopDaemon(lab.record, node, 'kill')));
      const leave = async (node: NodeName): Promise<void> => {
        const nb = remote(nodeSockets(stateFolder(lab.record.name), node).nb);
        const client = new OvsdbClient({ remotes: nb, database: 'OVN_Northbound' }).start();
        clients.set(node, client);
        await client.ready(AbortSignal.timeout(10_000));
        const pods = node === 'n1' ? ['default-net_beside'] : [];
        written.set(
          node,
          await leaveAsReference(client, { node, pods, hasEgressIp: node === LEAVES_BY }),
        );
        await leaveHostAsReference(lab.record, node);
        for (const chassis of (await sbctl(node, '--columns=name', 'find', 'Chassis')).split(/\s+/))
          if (chassis !== '') await sbctl(node, 'remove', 'Chassis', chassis, 'external_ids', MARK);
        await outputInside(lab.record, [
          'on',
          node,
          'ovn-nbctl',
          '--wait=hv',
          '--timeout=30',
          'sync',
        ]);
      };
      await Promise.all(NODES.map(leave));
    }, 480_000);
    afterAll(async () => {
      for (const client of clients.values()) await client[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('pods talk on what the other one left, and its rows that nobody asks for are listed', async () => {
      await expectKept(await watching(async () => undefined));
      for (const node of NODES) {
        expect((await rowsOf(node)).filter(isMarked), node).toEqual([]);
        expect(await markedChassis(node), node).toBe(0);
        expect(await left(node), node).toEqual(LEFT);
      }
    });

    test('rows that are equal get the mark and nothing else, what differs is changed, and no packet is lost', async () => {
      const before = await rowsOf('n1');
      const streamed = await watching(async () => {
        await unheard('n1', async () => {
          await startDaemon(lab.record, 'n1', [...ARGUMENTS, '--take-over']);
          await until('its flows', () => hasOurFlows('n1'), WAITING);
          await sleep(3 * MOMENT_MS);
        });
        await until('all rows to be ours', () => isTaken('n1'), WAITING);
      });
      await expectKept(streamed);
      const after = await rowsOf('n1');
      expect(changes(before, after)).toEqual({
        ...DIFFERENT,
        // What was held by rows that stay, and by one what is new.
        'Logical_Router nat policies': 1,
        'Logical_Router policies': MOVED.length + 1,
        'Logical_Switch qos_rules': 5,
        // Marks of EgressIPs, which go, and of the EgressService, which comes.
        'Logical_Router_Policy options': MOVED.length,
        'Port_Group acls': GROUPS,
        // A port that was made without a version of its interface.
        'Logical_Switch_Port enabled options': 1,
      });
      expect(await leftOnHost(lab.record, 'n1')).toEqual([]);
      expect(await markedChassis('n1')).toBe(NODES.length - 1);
      expect(await left('n1', '--take-over')).toEqual([]);
    });

    test('without --take-over nothing goes that the other one left; with it, later, all of it', async () => {
      const before = await rowsOf('n2');
      const listed = await left('n2');
      await expectKept(
        await watching(async () => {
          await startDaemon(lab.record, 'n2', ARGUMENTS);
          await until('our rows', () => isAdopted('n2'), WAITING);
        }),
      );
      const between = await rowsOf('n2');
      // Of a port of ours the chassis is the group's.
      expect(gone(before, between).filter((row) => !row.startsWith('Gateway_Chassis '))).toEqual(
        [],
      );
      expect(changes(before, between)).toEqual({
        ...DIFFERENT,
        'Logical_Router policies': MOVED.length + 1,
        'Logical_Switch qos_rules': 5,
        'Port_Group acls': GROUPS,
      });
      expect(await left('n2')).toEqual(listed);
      await stopDaemon(lab.record, 'n2');
      await expectKept(
        await watching(async () => {
          await startDaemon(lab.record, 'n2', [...ARGUMENTS, '--take-over']);
          await until('only our rows', () => isTaken('n2'), WAITING);
        }),
      );
      expect(await left('n2', '--take-over')).toEqual([]);
    });

    test('a daemon that is killed between its transactions goes on where it was, and no packet is lost', async () => {
      await leaveSets(clientOf('n3'), MANY);
      const { nb } = nodeSockets(stateFolder(lab.record.name), 'n3');
      /** Rows of ours, and of what goes in the end, when the daemon was killed. */
      const seen: { ours: number; left: number }[] = [];
      await expectKept(
        await watching(async () => {
          // Before it writes; after it took over; after ports that are its own lost their Gateway_Chassis; after it removed as well: its first one each time.
          for (const passed of [0, 1, 1, 1]) {
            const path = `${nb}.gate`;
            await using gate = await TransactionGate.listen(path, nb, passed);
            await startDaemon(lab.record, 'n3', [
              ...ARGUMENTS,
              '--take-over',
              `--nb=${remote(path)}`,
            ]);
            await gate.closed;
            await stopDaemon(lab.record, 'n3', 'kill');
            const rows = await rowsOf('n3');
            seen.push({ ours: rows.filter(isMarked).length, left: countSets(rows) });
          }
          await startDaemon(lab.record, 'n3', [...ARGUMENTS, '--take-over']);
          await until('all rows to be ours', () => isTaken('n3'), WAITING);
        }),
      );
      const all = markedOf('n3');
      expect(seen).toEqual([
        { ours: 0, left: MANY },
        { ours: all, left: MANY },
        { ours: all, left: MANY },
        { ours: all, left: 0 },
      ]);
      expect(await left('n3', '--take-over')).toEqual([]);
    });
  },
);

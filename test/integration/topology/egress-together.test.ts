/** Which egress feature wins where several are for one pod: the table of reference/egress.md §6.1, cell by cell, as ovn-trace has it of our rows. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Attachment } from '../../../src/model/model.ts';
import type { EgressServiceFacts } from '../../../src/model/read/egress-services.ts';
import type { EgressIp } from '../../../src/model/read/egress-ips.ts';
import type { ExternalRoute } from '../../../src/model/read/external-routes.ts';
import { egressServiceMark } from '../../../src/model/rules/egress-service-mark.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';
import { service, slice, withServices } from '../../support/zone/services.ts';
import {
  bluePod,
  bluePodDefault,
  exampleZone,
  farYellowPod,
  inLocalMode,
  yellow,
  yellowPod,
  type Zone,
} from '../../support/zone/zones.ts';

const HOP = '172.18.0.50';
const EGRESS = '172.18.0.200';
const OTHER_NODE = '172.18.0.4';
/** Packet marks: to a node with this one's address, that of the EgressIP, and to the host for its translation to a load balancer's address. */
const MARK = {
  toNode: '1008',
  egressIp: '50000',
  toHost: '1011',
} as const;

interface Place {
  readonly pod: Attachment;
  readonly aSwitch: string;
  readonly port: string;
  /** MAC address of the gateway of its pods. */
  readonly gateway: string;
  /** Of a pod on node ovn-worker2, and of a service that leads to it alone. */
  readonly farPod: string;
  readonly service: string;
  /** Cluster IP of the service with the load balancer, and the address of that. */
  readonly balanced: string;
  readonly loadBalancer: string;
}
/** By the column's first word. */
const PLACES: Readonly<Record<string, Place>> = {
  default: {
    pod: { ...bluePodDefault, namespace: 'default', pod: 'web', role: 'primary' },
    aSwitch: 'ovn-worker',
    port: 'default_web',
    gateway: '0a:58:0a:f4:00:01',
    farPod: '10.244.1.5',
    service: '10.96.2.1',
    balanced: '10.96.3.1',
    loadBalancer: '172.18.0.241',
  },
  Layer3: {
    pod: bluePod,
    aSwitch: 'blue_blue_ovn-worker',
    port: 'blue.blue_blue_pod1',
    gateway: '0a:58:67:67:00:01',
    farPod: '103.103.1.5',
    service: '10.96.2.2',
    balanced: '10.96.3.2',
    loadBalancer: '172.18.0.242',
  },
  Layer2: {
    pod: yellowPod,
    aSwitch: 'cluster_udn_yellow.net_ovn_layer2_switch',
    port: 'yellow.yellow.net_yellow_pod2',
    gateway: '0a:58:69:69:00:01',
    farPod: '105.105.0.4',
    service: '10.96.2.3',
    balanced: '10.96.3.3',
    loadBalancer: '172.18.0.243',
  },
};
const DESTINATIONS: Readonly<Record<string, (place: Place) => string>> = {
  outside: () => '8.8.8.8',
  'its class': () => '198.51.100.7',
  'another node': () => OTHER_NODE,
  'its own node': () => '172.18.0.3',
  'a pod elsewhere': ({ farPod }) => farPod,
  'a service of it': ({ service: address }) => address,
  'service kubernetes': () => '10.96.0.1',
};

const route: ExternalRoute = {
  name: 'hops',
  created: '',
  namespaceSelector: {},
  hops: [{ address: HOP, isWatched: false }],
  pods: [],
};
const egressIp = (...nodes: readonly string[]): EgressIp => ({
  name: 'out',
  created: '2026-01-01T00:00:00Z',
  namespaceSelector: {},
  podSelector: {},
  mark: Number(MARK.egressIp),
  families: ['v4'],
  items: nodes.map((node) => ({ node, address: EGRESS })),
  isHere: nodes.includes('ovn-worker'),
});
const byClass = (...nodes: readonly string[]): EgressIp => ({
  ...egressIp(...nodes),
  name: 'some',
  trafficSelector: { matchLabels: { group: 'mgmt' } },
});
const egressServicesOn = (
  host: string,
  isByNetwork = false,
  changes: Partial<EgressServiceFacts> = {},
): readonly EgressServiceFacts[] =>
  Object.values(PLACES).map(({ pod: { namespace } }) => ({
    key: `${namespace}/lb`,
    namespace,
    name: 'lb',
    created: '',
    isByNetwork,
    host,
    isHere: host === 'ovn-worker',
    ...changes,
  }));
const OBJECTS: Readonly<Record<string, Partial<Zone>>> = {
  'EgressService here': { egressServices: egressServicesOn('ovn-worker') },
  'EgressService elsewhere': { egressServices: egressServicesOn('ovn-worker2') },
  'EgressService by network': { egressServices: egressServicesOn('ALL', true) },
  'EgressService here by table': {
    egressServices: egressServicesOn('ovn-worker', false, { table: 1200 }),
  },
  'EgressService by network and table': {
    egressServices: egressServicesOn('ALL', true, { table: 1200 }),
  },
  'EgressService nowhere': { egressServices: egressServicesOn('') },
  'EgressIP here': { egressIps: [egressIp('ovn-worker')] },
  'EgressIP elsewhere': { egressIps: [egressIp('ovn-worker2')] },
  'EgressIP nowhere': { egressIps: [egressIp()] },
  'class here': { egressIps: [byClass('ovn-worker')] },
  'class elsewhere': { egressIps: [byClass('ovn-worker2')] },
  'class nowhere': { egressIps: [{ ...byClass(), mark: Number(MARK.egressIp) + 1 }] },
  'external route': { externalRoutes: [route] },
};

const pods = Object.values(PLACES).map(({ pod }) => pod);
const base: Zone = withServices(
  {
    ...exampleZone,
    namespaces: [...exampleZone.namespaces, 'yellow'],
    networks: [...exampleZone.networks, yellow],
    trafficClasses: [
      { name: 'mgmt', labels: { group: 'mgmt' }, cidrs: ['198.51.100.0/24', '192.0.2.0/24'] },
    ],
    selectors: Object.fromEntries(
      pods.map(({ namespace }) => [`${namespace}/lb`, { app: 'balanced' }]),
    ),
    attachments: pods,
    remoteAttachments: [farYellowPod],
    pods: pods.map(({ namespace, pod: name, node }) => ({
      namespace,
      name,
      node,
      labels: { app: 'balanced' },
      namedPorts: [],
    })),
  },
  service('default/kubernetes', { clusterIPs: ['10.96.0.1'], ports: [{ port: 443 }] }),
  slice('default/kubernetes', [OTHER_NODE], { ports: [{ port: 6443 }] }),
  ...Object.values(PLACES).flatMap(({ pod: { namespace, network }, farPod, ...place }) => {
    const key = `${namespace}/far`;
    return [
      service(
        `${namespace}/lb`,
        { type: 'LoadBalancer', clusterIPs: [place.balanced] },
        { loadBalancer: { ingress: [{ ip: place.loadBalancer }] } },
      ),
      service(key, { clusterIPs: [place.service], ports: [{ port: 443 }] }),
      slice(key, [`${farPod} on ovn-worker2`], {
        ports: [{ port: 8443 }],
        ...(namespace === 'default' ? {} : { network }),
      }),
    ];
  }),
);
const withObjects = (words: string): Zone =>
  words
    .split(', ')
    .filter((word) => word !== 'nothing')
    .reduce<Zone>((zone, word) => {
      const more = OBJECTS[word] ?? unknown(word);
      const egressIps = [...(zone.egressIps ?? []), ...(more.egressIps ?? [])];
      return { ...zone, ...more, egressIps };
    }, base);
const unknown = (word: string): never => {
  throw new Error(`no such thing: ${word}`);
};

interface Row {
  readonly has: string;
  readonly to: string;
  readonly cells: readonly string[];
}
/** The table of the page: columns after the first two, and rows; `any` stands for each of the others' first cells. */
function readTable(): { readonly columns: readonly string[]; readonly rows: readonly Row[] } {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/egress.md'), 'utf8');
  const section = page.slice(page.indexOf(' All together\n')).split('\n### ')[1] ?? '';
  const lines = section
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
  const [[, , ...columns] = [], , ...rest] = lines;
  const rows = rest.map(([has = '', to = '', ...cells]) => ({ has, to, cells }));
  return { columns, rows };
}
const TABLE = readTable();
const CASES = [...new Set(TABLE.rows.map(({ has }) => has))].filter((has) => has !== 'any');

/** What happens to a packet, in the words of the table. */
function wordsOf(has: string, trace: string, { pod, loadBalancer }: Place): string {
  const last = (pattern: RegExp): string | undefined => [...trace.matchAll(pattern)].at(-1)?.[1];
  const out = last(/\/\* output to "([^"]+)"/g) ?? '';
  // What a management port sends is the host's, which gives it the node's address.
  const mark = last(/pkt\.mark = (\d+)/g);
  const isByNetwork = has.includes('EgressService by network');
  if (out.startsWith('k8s-')) return mark === MARK.toHost && !isByNetwork ? 'L, host' : 'host';
  if (
    /^(?:[\w.]*tstor-ovn-worker2|trtor-GR_[\w.]*_ovn-worker2|yellow\.yellow\.net_yellow_far)$/.test(
      out,
    )
  )
    return 'other node';
  // The bridge leads it to the host.
  if (out.startsWith('breth0_') && mark === String(egressServiceMark(`${pod.namespace}/lb`)))
    return isByNetwork ? 'host' : 'L, host';
  if (!out.startsWith('breth0_')) return trace.includes('drop;') ? 'nothing' : out;
  const source = last(/ct_snat\(ip4\.src=([\d.]+)\)/g);
  const hasEgress = mark === MARK.egressIp || (source === EGRESS && mark !== MARK.toNode);
  const next = last(/reg0 = ([\d.]+|ip4\.dst);/g);
  const ways: Readonly<Record<string, string>> = {
    [HOP]: 'hop',
    '172.18.0.1': 'gateway',
    'ip4.dst': 'directly',
  };
  const who = mark === String(egressServiceMark(loadBalancer)) ? 'L' : hasEgress ? 'E' : 'node';
  return `${who}, ${ways[next ?? ''] ?? next}`;
}

describe('the table', () => {
  test('has a row of each case for what leaves, and of each destination', () => {
    const destinations = new Set(TABLE.rows.map(({ to }) => to));
    expect(destinations).toEqual(new Set(Object.keys(DESTINATIONS)));
    const outside = TABLE.rows.filter(({ to }) => to === 'outside').map(({ has }) => has);
    const egressIps = Object.keys(OBJECTS).filter((one) => one.startsWith('EgressIP '));
    expect(outside.toSorted()).toEqual(
      [
        'nothing',
        ...Object.keys(OBJECTS),
        ...egressIps.map((one) => `${one}, external route`),
        'EgressService here, EgressIP elsewhere',
        'EgressService nowhere, EgressIP here',
        'EgressService by network, EgressIP here',
        'EgressService here, external route',
        'class nowhere, EgressIP here',
      ].toSorted(),
    );
    expect(TABLE.columns).toHaveLength(6);
  });
});

describe.each(CASES)('a pod with %s', (has) => {
  let ovn: OvnZone;
  beforeAll(async () => {
    ovn = await OvnZone.start();
  }, 60_000);
  afterAll(() => ovn[Symbol.asyncDispose]());

  test.each(['shared', 'local'])(
    'in %s gateway mode',
    async (mode) => {
      const zone = withObjects(has);
      expect(await ovn.apply(mode === 'local' ? inLocalMode(zone) : zone)).toEqual([]);
      const found: Row[] = [];
      const wanted: Row[] = [];
      for (const { to, cells, ...row } of TABLE.rows) {
        if (row.has !== has && row.has !== 'any') continue;
        const columns = [...TABLE.columns.entries()].filter(([, column]) => column.endsWith(mode));
        const traced = columns.map(async ([, column]) => {
          const place = PLACES[column.split(',')[0] ?? ''] ?? unknown(column);
          const address = (DESTINATIONS[to] ?? unknown(to))(place);
          const isNear = to === 'a pod elsewhere' && column.startsWith('Layer2');
          const packet = [
            `inport=="${place.port}"`,
            `eth.src==${place.pod.macAddress}`,
            `eth.dst==${isNear ? farYellowPod.macAddress : place.gateway}`,
            `ip4.src==${place.pod.addresses[0]?.replace(/\/.*/, '')}`,
            `ip4.dst==${address}`,
            'ip.ttl==64',
            'tcp.dst==443',
          ].join(' && ');
          return wordsOf(
            has,
            await ovn.traceText(place.aSwitch, packet, ...Array<string>(6).fill('--ct=new')),
            place,
          );
        });
        found.push({ has: row.has, to, cells: await Promise.all(traced) });
        wanted.push({ has: row.has, to, cells: columns.map(([index]) => cells[index] ?? '') });
      }
      expect(found).toEqual(wanted);
    },
    60_000,
  );
});

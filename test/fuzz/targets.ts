/** What reads input from outside: how it is called, recorded good inputs, and what it may throw. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { aclLogging } from '../../src/api/annotations/acl-logging.ts';
import { bandwidth } from '../../src/api/annotations/bandwidth-annotations.ts';
import * as network from '../../src/api/annotations/network-annotations.ts';
import * as selection from '../../src/api/annotations/network-selection.ts';
import * as node from '../../src/api/annotations/node-annotations.ts';
import * as pod from '../../src/api/annotations/pod-annotations.ts';
import { policyFor } from '../../src/api/annotations/policy-for.ts';
import type { Annotated, Reading } from '../../src/api/annotations/annotations.ts';
import { answerConversionReview } from '../../src/api/conversion/conversion-review.ts';
import * as kinds from '../../src/api/kinds.ts';
import { readNad } from '../../src/api/nad/registered-nad.ts';
import { isPlainObject } from '../../src/api/plain-object.ts';
import { formatFieldError } from '../../src/api/validation/field-errors.ts';
import { formatManifestError, parseManifest } from '../../src/api/validation/manifest.ts';
import { readStored } from '../../src/api/validation/stored-object.ts';
import { validateObject } from '../../src/api/validation/validate.ts';
import { CniError } from '../../src/cni/protocol/cni-error.ts';
import { readRequest, VARIABLES, versionOf } from '../../src/cni/protocol/request.ts';
import { errorResult } from '../../src/cni/protocol/result.ts';
import { answerLine } from '../../src/control/control-socket.ts';
import { controlMethods, type ZoneView } from '../../src/zone/zone-view.ts';
import { askedPacket } from '../../src/packets/asked-packet.ts';
import { readTrace, TraceTextError } from '../../src/packets/trace-text.ts';
import { traceEnds, decisionsOf } from '../../src/packets/trace-end.ts';
import { askedOrigin } from '../../src/views/asked-origin.ts';
import { DEFAULT_SETTINGS } from '../../src/model/settings.ts';
import type { HostState } from '../../src/node/linux/host-state.ts';
import {
  foundLink,
  foundNeighbour,
  foundRoute,
  foundRule,
} from '../../src/node/linux/linux-found.ts';
import {
  addAddress,
  addLink,
  addRule,
  deleteConnections,
  MalformedMessage,
  readConnection,
  readRouteEvent,
  replaceNeighbour,
  replaceRoute,
} from 'rtnetlink-ts';
import { foundTable } from '../../src/node/nftables/nft-state.ts';
import { parseFlow } from '../../src/node/openflow/flow-plan.ts';
import { nodeAnnotations } from '../../src/node/announcer/node-facts.ts';
import { changeText, chassisPlan } from '../../src/node/chassis/plan.ts';
import { chassisSettings, type ChassisSettings } from '../../src/node/chassis/settings.ts';
import { RowReference } from '../../src/desired/rows.ts';
import { zoneFeatures } from '../../src/topology/features.ts';
import { isReferenceRow, networkOfReferenceRow } from '../../src/topology/rows/reference-rows.ts';
import { applyMergePatch, mergePatchBetween, type JsonObject } from '../../src/store/json.ts';

export interface FuzzTarget {
  readonly name: string;
  readonly corpus: readonly string[];
  /** Reads one input; gives the texts that people or programs get to see of it. May throw what `isOwnError` knows. */
  readonly run: (input: string) => readonly string[] | Promise<readonly string[]>;
  readonly isOwnError?: (error: unknown) => boolean;
}

const SETTINGS = DEFAULT_SETTINGS;
const EXAMPLES = readFileSync(resolve(import.meta.dirname, '../unit/api/examples.yaml'), 'utf8');
const TENANTS = ['blue', 'green', 'blue-pods', 'green-pods'].map((name) =>
  readFileSync(join(import.meta.dirname, `../../examples/two-tenants/${name}.yaml`), 'utf8'),
);
const documents = [EXAMPLES, ...TENANTS].flatMap((text) =>
  parseAllDocuments(text).map((document) => document.toJS() as JsonObject | null),
);
const examples = documents.filter((one) => one !== null);
const exampleTexts = examples.map((object) => JSON.stringify(object));

/** A value of an input that is JSON; undefined for one that is not. */
function parsed(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return undefined;
  }
}

// --- annotations

const SUBNETS = '{"default":["10.244.1.0/24"],"blue_net":["10.20.1.0/24","fd00:20:0:1::/64"]}';
const POD_NETWORKS = JSON.stringify({
  default: {
    ip_addresses: ['10.244.1.5/24'],
    mac_address: '0a:58:0a:f4:01:05',
    gateway_ips: ['10.244.1.1'],
    routes: [{ dest: '10.244.0.0/16', nextHop: '10.244.1.1' }],
    ip_address: '10.244.1.5/24',
    gateway_ip: '10.244.1.1',
    role: 'primary',
  },
  'blue/net': {
    ip_addresses: ['10.20.1.5/24'],
    mac_address: '0a:58:0a:14:01:05',
    tunnel_id: 7,
    role: 'secondary',
  },
});
const GATEWAY = JSON.stringify({
  default: {
    mode: 'shared',
    'bridge-id': 'br-ex',
    'interface-id': 'br-ex_n1',
    'mac-address': '02:42:ac:12:00:0b',
    'ip-addresses': ['172.18.0.11/24'],
    'ip-address': '172.18.0.11/24',
    'next-hops': ['172.18.0.100'],
    'next-hop': '172.18.0.100',
    'node-port-enable': 'true',
    'vlan-id': '0',
  },
});
const SELECTIONS = JSON.stringify([
  {
    name: 'net',
    namespace: 'blue',
    ips: ['10.20.1.5/24'],
    mac: '0a:58:0a:14:01:05',
    interface: 'net1',
    'default-route': ['10.20.1.1'],
    'ipam-claim-reference': 'vm',
  },
]);

const ANNOTATIONS: readonly (readonly [
  key: string,
  read: (object: Annotated) => Reading<unknown>,
  ...good: string[],
])[] = [
  ['k8s.ovn.org/acl-logging', aclLogging, '{"deny":"alert","allow":"notice"}'],
  ['kubernetes.io/ingress-bandwidth', bandwidth, '10M', '1e3'],
  [network.NETWORK_NAME, network.annotatedNetworkName, 'blue_net'],
  [network.NETWORK_ID, network.networkId, '5'],
  [network.TUNNEL_KEYS, network.tunnelKeys, '[16711685,16715781]'],
  [
    network.CONNECT_SUBNETS,
    network.connectSubnets,
    '{"layer3_1":{"ipv4":"192.168.0.0/24","ipv6":"fd99::/64"}}',
  ],
  [network.CONNECT_TUNNEL_KEY, network.connectTunnelKey, '17'],
  [selection.NETWORKS, selection.networkSelections, SELECTIONS, 'blue/net@net1, red/other'],
  [selection.DEFAULT_NETWORK_SELECTION, selection.defaultNetworkSelection, SELECTIONS, 'blue/net'],
  [node.NODE_SUBNETS, node.nodeSubnets, SUBNETS],
  [node.NODE_ID, node.nodeId, '3'],
  [
    node.NODE_TRANSIT_ADDRESSES,
    node.nodeTransitAddresses,
    '{"ipv4":"100.88.0.2/16","ipv6":"fd97::2/64"}',
  ],
  [node.GATEWAY_CONFIG, node.gatewayConfig, GATEWAY],
  [node.CHASSIS_ID, node.chassisId, '89f7a4c5-3c9c-4e3e-a5d6-7e6c6b5a4f3e'],
  [node.PRIMARY_ADDRESSES, node.primaryAddresses, '{"ipv4":"172.18.0.3/16"}'],
  [node.HOST_CIDRS, node.hostCidrs, '["172.18.0.3/16","fd00:172:18::3/64"]'],
  [
    'k8s.ovn.org/node-mgmt-port-mac-addresses',
    node.managementPortMacs,
    '{"default":"0a:58:0a:f4:01:02"}',
  ],
  [node.ENCAP_IPS, node.encapIps, '["172.18.0.3"]'],
  ['k8s.ovn.org/gateway-mtu-support', node.gatewayMtuSupport, 'false'],
  [pod.POD_NETWORKS, pod.podNetworks, POD_NETWORKS],
  [pod.OPEN_DEFAULT_PORTS, pod.openDefaultPorts, '- protocol: tcp\n  port: 80\n- protocol: icmp\n'],
  ['k8s.ovn.org/requested-primary-udn', pod.requestedPrimaryUdn, 'net'],
  ['k8s.ovn.org/primary-udn-ipamclaim', pod.primaryUdnIpamClaim, 'vm'],
  ['k8s.v1.cni.cncf.io/policy-for', policyFor, 'blue/net, red/other'],
];

const annotationTargets = ANNOTATIONS.map(([key, read, ...corpus]): FuzzTarget => ({
  name: `annotation ${key}`,
  corpus,
  run: (input) => {
    const metadata = { name: 'web', namespace: 'blue', annotations: { [key]: input } };
    const { errors } = read({ kind: 'Pod', metadata });
    for (const error of errors)
      if (error.key !== key || !error.message.includes('Pod blue/web'))
        throw new Error(`an error that names neither object nor key: ${error.message}`);
    return errors.map(({ message }) => message);
  },
}));

// --- objects

const NAD_CONFIGS = [
  {
    cniVersion: '1.1.0',
    name: 'blue_net',
    type: 'ovn-k8s-cni-overlay',
    netAttachDefName: 'blue/net',
    topology: 'layer3',
    role: 'primary',
    subnets: '10.20.0.0/16/24,fd00:20::/48/64',
    joinSubnet: '100.65.0.0/16,fd99::/64',
    mtu: 1400,
  },
  {
    cniVersion: '1.0.0',
    name: 'flat',
    type: 'ovn-k8s-cni-overlay',
    netAttachDefName: 'blue/net',
    topology: 'layer2',
    subnets: '10.30.0.0/24',
    excludeSubnets: '10.30.0.0/28',
    reservedSubnets: '10.30.0.64/26',
    allowPersistentIPs: true,
  },
  {
    cniVersion: '1.0.0',
    name: 'wire',
    type: 'ovn-k8s-cni-overlay',
    netAttachDefName: 'blue/net',
    topology: 'localnet',
    vlanID: 17,
    physicalNetworkName: 'physnet',
    subnets: '192.0.2.0/24',
  },
  {
    cniVersion: '0.4.0',
    name: 'list',
    plugins: [{ type: 'ovn-k8s-cni-overlay', netAttachDefName: 'blue/net', topology: 'layer2' }],
  },
].map((config) => JSON.stringify(config));

const nads: FuzzTarget = {
  name: 'NAD',
  corpus: NAD_CONFIGS,
  run: (input) => {
    const reading = readNad(
      {
        apiVersion: 'k8s.cni.cncf.io/v1',
        kind: 'NetworkAttachmentDefinition',
        metadata: { name: 'net', namespace: 'blue' },
        spec: { config: input },
      },
      SETTINGS,
    );
    return reading.kind === 'invalid' ? [reading.error] : [];
  },
};

const manifests: FuzzTarget = {
  name: 'manifest',
  corpus: [...EXAMPLES.split(/^---$/m), ...TENANTS, ...exampleTexts],
  run: (input) => {
    const { errors, warnings } = parseManifest(input, 'a.yaml');
    return [...errors, ...warnings].map(formatManifestError);
  },
};

const validation: FuzzTarget = {
  name: 'object',
  corpus: exampleTexts,
  run: (input) => {
    const value = parsed(input);
    const result = validateObject(value);
    return result.kind === 'invalid' ? result.errors.map(formatFieldError) : [];
  },
};

const KINDS = Object.values(kinds).filter(
  (one): one is typeof kinds.pods => isPlainObject(one) && 'plural' in one,
);
const stored: FuzzTarget = {
  name: 'object of an API server',
  corpus: exampleTexts,
  run: (input) => {
    const value = parsed(input);
    const name = isPlainObject(value) ? value['kind'] : undefined;
    const kind = KINDS.find((one) => one.kind === name) ?? kinds.pods;
    const reading = readStored(kind, value);
    return reading.kind === 'value' ? [] : [reading.error];
  },
};

const patches: FuzzTarget = {
  name: 'merge patch',
  corpus: exampleTexts,
  run: (input) => {
    const value = parsed(input);
    if (!isPlainObject(value)) return [];
    for (const before of examples.slice(0, 5)) {
      const after = applyMergePatch(before, value as JsonObject);
      if (isPlainObject(after)) mergePatchBetween(before, after);
    }
    return [];
  },
};

const networks = examples.filter(
  ({ kind }) => typeof kind === 'string' && kind.endsWith('UserDefinedNetwork'),
);
const reviews: FuzzTarget = {
  name: 'conversion review',
  corpus: networks.flatMap((object) =>
    ['k8s.ovn.org/v1', 'k8s.ovn.org/v1alpha1'].map((desiredAPIVersion) =>
      JSON.stringify({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'ConversionReview',
        request: { uid: 'a', desiredAPIVersion, objects: [object] },
      }),
    ),
  ),
  run: (input) => {
    const answer = answerConversionReview(parsed(input));
    return answer === undefined ? [] : [answer.response.result.message ?? ''];
  },
};

// --- sockets

const CNI_CONFIG = JSON.stringify({ cniVersion: '1.0.0', name: 'heddle', type: 'heddle' });
const cniText = (command: string, config: string): string =>
  [
    {
      CNI_COMMAND: command,
      CNI_CONTAINERID: 'abc',
      CNI_NETNS: '/run/netns/x',
      CNI_IFNAME: 'eth0',
      CNI_ARGS: 'IgnoreUnknown=1;K8S_POD_NAMESPACE=blue;K8S_POD_NAME=web;K8S_POD_UID=1',
      CNI_PATH: '/opt/cni/bin',
    },
  ]
    .flatMap((environment) => VARIABLES.map((name) => environment[name]))
    .concat(config)
    .join('\0');
const withResult = {
  ...(JSON.parse(CNI_CONFIG) as object),
  prevResult: { ips: [{ address: '10.244.1.5/24' }] },
};
const withContainers = {
  ...(JSON.parse(CNI_CONFIG) as object),
  cniVersion: '1.1.0',
  'cni.dev/valid-attachments': [{ containerID: 'a', ifname: 'eth0' }],
};
const cni: FuzzTarget = {
  name: 'CNI request',
  corpus: [
    ...['ADD', 'DEL', 'VERSION'].map((command) => cniText(command, CNI_CONFIG)),
    ...NAD_CONFIGS.map((config) => cniText('ADD', config)),
    cniText('CHECK', JSON.stringify(withResult)),
    cniText('GC', JSON.stringify(withContainers)),
    cniText('STATUS', JSON.stringify(withContainers)),
  ],
  run: (input) => {
    try {
      readRequest(input);
      return [];
    } catch (error) {
      if (!(error instanceof CniError)) throw error;
      return [JSON.stringify(errorResult(versionOf(input), error))];
    }
  },
};

/** Answers at once; what a daemon does for an answer is not what is tried here. */
const VIEW: ZoneView = {
  about: () => ({ node: 'n1', pid: 1, options: {}, versions: { heddle: '', node: '' } }),
  status: () => Promise.reject(new Error('no status')),
  plan: () => Promise.reject(new Error('no plan')),
  diff: () => Promise.reject(new Error('no plan')),
  host: () => Promise.reject(new Error('no host')),
  underlay: () => Promise.reject(new Error('no host')),
  drops: () => Promise.reject(new Error('no host')),
  explain: (asked) => Promise.reject(new Error(askedOrigin(asked).kind)),
  packet: (asked) => Promise.reject(new Error(askedPacket(asked).destination.kind)),
  changes: () => ({ node: 'n1', since: '', count: 0, changes: [] }),
};
const answer = answerLine(controlMethods(VIEW), { debug: () => undefined, warn: () => undefined });
const control: FuzzTarget = {
  name: 'control socket',
  corpus: [
    { jsonrpc: '2.0', id: 1, method: 'about' },
    { jsonrpc: '2.0', id: 'x', method: 'plan', params: { details: false } },
    { jsonrpc: '2.0', id: 2, method: 'diff', params: {} },
    { jsonrpc: '2.0', id: null, method: 'host' },
    { jsonrpc: '2.0', id: 3, method: 'explain', params: { asked: 'default via 10.0.0.1' } },
    {
      jsonrpc: '2.0',
      id: 4,
      method: 'packet',
      params: { pod: 'blue/web', destination: '[fd00::1]:80/udp', namespace: 'blue' },
    },
  ].map((request) => JSON.stringify(request)),
  run: async (input) => {
    const line = await answer(input.replaceAll('\n', ''), new AbortController().signal);
    const { error } = JSON.parse(line ?? '{}') as { error?: { message: string } };
    // An id comes back as it came.
    return error === undefined ? [] : [error.message];
  },
};

const traces: FuzzTarget = {
  name: 'ovn-trace',
  corpus: [
    [
      '# tcp,reg14=0x1,dl_src=0a:58:0a:14:00:05,nw_src=10.20.0.5,nw_dst=10.20.0.6,tp_dst=80',
      '',
      'ingress(dp="blue_net_n1", inport="blue.net_blue_web")',
      '-----------------------------------------------------',
      ' 6. ls_in_acl_eval (northd.c:7100): ip && (tcp), priority 2001, uuid 5b2d3f1f',
      '    reg8[17] = 1;',
      '    next;',
      ' 7. ls_in_acl_action (northd.c:7200): reg8[17] == 1, priority 1000, uuid 6c1c9b9d',
      '    drop;',
    ].join('\n'),
  ],
  run: (input) => {
    try {
      const events = readTrace(input);
      const ends = traceEnds(events);
      return [JSON.stringify([ends, decisionsOf(events, ends)])];
    } catch (error) {
      if (!(error instanceof TraceTextError)) throw error;
      return [error.message];
    }
  },
};

// --- what the kernel says

const netlinkMessages: FuzzTarget = {
  name: 'netlink',
  corpus: [
    addLink({ name: 'h0', mac: '0a:58:a9:fe:00:01', kind: { kind: 'vrf', table: 10_001 } }),
    addAddress({ device: 7, address: 'fd00::1/64', protocol: 99 }),
    replaceRoute({
      destination: '10.0.0.0/8',
      table: 10_001,
      metrics: { mtu: 1400, congctl: 'reno' },
      expires: 600,
      preference: 1,
      hops: [{ via: '10.0.0.1', device: 7, weight: 2 }, { device: 8 }],
    }),
    addRule({ family: 'v4', priority: 2000, mark: 0x1001, table: 10_001 }),
    replaceNeighbour({ device: 7, address: '10.0.0.1', mac: '0a:58:a9:fe:00:01' }),
    deleteConnections({ zone: 7, original: { source: '10.0.0.1', destination: '10.0.0.2' } }),
  ].map(({ type, body }) => `${type} ${Buffer.from(body).toString('latin1')}`),
  run: (input) => {
    const [type = ''] = input.split(' ');
    const body = new Uint8Array(Buffer.from(input.slice(type.length + 1), 'latin1'));
    const message = { type: Number(type), flags: 0, sequence: 1, body };
    const nameOf = (): string => 'eth0';
    try {
      const event = readRouteEvent(message);
      readConnection(message);
      if (event?.kind === 'link') foundLink(event.link, [], nameOf);
      if (event?.kind === 'route') foundRoute(event.route, nameOf);
      if (event?.kind === 'rule') foundRule(event.rule);
      if (event?.kind === 'neighbour') foundNeighbour(event.neighbour, nameOf);
      return [];
    } catch (error) {
      if (error instanceof MalformedMessage) return [error.message];
      throw error;
    }
  },
};
const nftLists: FuzzTarget = {
  name: 'nft -j',
  corpus: [
    [
      { metainfo: { version: '1.1.3' } },
      { table: { family: 'inet', name: 'heddle' } },
      {
        chain: {
          family: 'inet',
          table: 'heddle',
          name: 'out',
          handle: 1,
          type: 'filter',
          hook: 'output',
          prio: 0,
          policy: 'accept',
        },
      },
      {
        set: {
          family: 'inet',
          table: 'heddle',
          name: 's',
          type: ['ipv4_addr', 'inet_service'],
          elem: [{ concat: ['10.0.0.1', 80] }, { elem: { val: '10.0.0.2', comment: 'c' } }],
          flags: ['interval'],
        },
      },
      {
        map: {
          family: 'inet',
          table: 'heddle',
          name: 'm',
          type: 'ipv4_addr',
          map: 'mark',
          elem: [['10.0.0.1', 5]],
        },
      },
      {
        rule: {
          family: 'inet',
          table: 'heddle',
          chain: 'out',
          handle: 3,
          comment: 'x',
          expr: [
            { match: { op: '==', left: { meta: { key: 'iifname' } }, right: 'eth0' } },
            { counter: { packets: 1 } },
            { drop: null },
          ],
        },
      },
    ],
  ].map((list) => JSON.stringify(list)),
  run: (input) => {
    const value = parsed(input);
    if (Array.isArray(value)) foundTable(value);
    return [];
  },
};
const flows: FuzzTarget = {
  name: 'ovs-ofctl',
  corpus: [
    ' cookie=0xdeff105, table=0, priority=100,ip,in_port=2,nw_dst=10.0.0.0/8 actions=ct(commit,zone=64000,exec(load:0x1->NXM_NX_CT_MARK[])),output:1',
  ],
  run: (input) => {
    parseFlow(input);
    return [];
  },
};

// --- rows that others write into databases

/** A value as a column of a database may have it: a text, a number, a set or a map of texts. */
function columnValue(value: unknown): unknown {
  if (value === null) return undefined;
  if (Array.isArray(value)) return value.map(textOf);
  if (!isPlainObject(value)) return value;
  return new Map(Object.entries(value).map(([key, one]) => [key, textOf(one)]));
}
const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '');

const CLAIMS = Map.groupBy(
  zoneFeatures.flatMap(({ claims }) => claims),
  ({ table }) => table,
);
const IDS = {
  heddle: 'blue/net',
  'k8s.ovn.org/id': 'default-network-controller:NetpolNamespace:blue:Ingress',
};
const rows: FuzzTarget = {
  name: 'row of a database',
  corpus: [...CLAIMS.keys()].map((table) =>
    JSON.stringify({
      table,
      container: 'blue_net_ovn_cluster_router',
      columns: {
        name: 'blue_web',
        type: 'remote',
        external_ids: { ...IDS, pod: 'true', namespace: 'blue', node: 'n2' },
        action: 'drop',
        rate: 25,
        match: 'ip4.src == 10.20.0.0/16',
        priority: 1004,
        ip_prefix: '10.20.0.0/16',
        policy: 'src-ip',
        nexthop: '100.64.0.2',
        nexthops: ['100.64.0.2'],
        output_port: 'rtos-n1',
        logical_ip: '10.20.1.0/24',
        external_ip: '169.254.0.11',
        logical_port: 'rtoe-GR_n1',
        ip: '169.254.0.1',
        cidr: '10.20.0.0/16',
        chassis: 'C1',
        ports: ['a', 'b'],
        options: { 'requested-tnl-key': '5' },
      },
    }),
  ),
  run: (input) => {
    const value = parsed(input);
    if (!isPlainObject(value)) return [];
    const columns = isPlainObject(value['columns']) ? value['columns'] : {};
    const row = {
      uuid: 'a',
      column: (name: string) => columnValue(Object.hasOwn(columns, name) ? columns[name] : null),
    };
    const table = textOf(value['table']);
    for (const { keyOf, container } of CLAIMS.get(table) ?? []) {
      const holder =
        container === undefined
          ? undefined
          : new RowReference(container.table, textOf(value['container']));
      const key = keyOf(row, holder);
      if (key !== undefined && typeof key !== 'string') throw new Error('a key that is no text');
    }
    isReferenceRow(row, table);
    networkOfReferenceRow(row);
    return [];
  },
};

const HOST: HostState = {
  devices: [
    {
      name: 'br-ex',
      mac: '02:42:ac:12:00:0b',
      addresses: [{ address: '172.18.0.11/24', isLasting: true }],
    },
  ],
  defaultRoutes: [{ dev: 'br-ex', nextHop: '172.18.0.100', metric: 100 }],
};
const CHASSIS: ChassisSettings = {
  encapIps: [],
  southbound: 'unix:/run/ovn/ovnsb_db.sock',
  monitorAll: true,
  inactivityProbe: 100_000,
  waitBeforeClear: 8000,
  lflowCache: { isEnabled: true, limit: 0, limitKb: 0 },
  given: new Set(['monitor-all']),
};
const openVswitch: FuzzTarget = {
  name: 'external_ids of Open_vSwitch',
  corpus: [
    {
      'system-id': '89f7a4c5-3c9c-4e3e-a5d6-7e6c6b5a4f3e',
      hostname: 'n1',
      'ovn-encap-type': 'geneve',
      'ovn-encap-ip': '172.18.0.11,fd00:172:18::11',
      'ovn-bridge-mappings': 'physnet:br-ex,other:br-2',
      'ovn-remote': 'unix:/var/run/ovn/ovnsb_db.sock',
      'ovn-is-interconn': 'true',
      'ovn-monitor-all': 'false',
      'heddle-set-ovn-monitor-all': 'true',
      'heddle-set-ovn-gone': 'x',
      'ovn-ofctrl-wait-before-clear': '0',
    },
  ].map((ids) => JSON.stringify(ids)),
  run: (input) => {
    const found = columnValue(parsed(input));
    const externalIds = found instanceof Map ? (found as ReadonlyMap<string, string>) : new Map();
    const facts = { node: 'n1', encapIps: ['172.18.0.11'], flows: 'kept' } as const;
    const { changes, problems, notes } = chassisPlan(externalIds, chassisSettings(CHASSIS, facts));
    const said = nodeAnnotations(
      { ...HOST, externalIds },
      {
        node: 'n1',
        settings: SETTINGS,
        gateway: { mode: 'shared', nextHops: [], vlan: 0 },
        knownBy: ['172.18.0.11'],
      },
    );
    return [
      ...changes.map((change) => changeText(externalIds, change)),
      ...problems,
      ...notes,
      ...(said.kind === 'awaited' ? [said.message] : Object.values(said.annotations)),
    ];
  },
};

export const TARGETS: readonly FuzzTarget[] = [
  ...annotationTargets,
  nads,
  manifests,
  validation,
  stored,
  patches,
  reviews,
  cni,
  control,
  netlinkMessages,
  nftLists,
  flows,
  rows,
  traces,
  openVswitch,
];

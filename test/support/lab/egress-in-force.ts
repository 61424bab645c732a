/** All kinds of egress objects in force at once, and what the host outside sees of the packets that they are about. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { outputInside } from '../../../src/lab/exec.ts';
import { manifestsFolder, OUTSIDE } from '../../../src/lab/node-facts.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import type { Stream } from '../host/streams.ts';
import { nodeAddresses, type Tenant } from './matrix-tenants.ts';
import { manifestsText } from './network-spaces.ts';

/** The EgressIP, and the address of the load balancer; both leave by n1. */
const EGRESS = '172.18.0.50';
const BALANCER = '203.0.113.240';
export const LEAVES_BY = 'n1';
/** Addresses of the host outside: who is sent there is one of those that are meant, and nobody else. */
const [DENIED, BY_EGRESS_IP, BY_SERVICE, BY_ROUTE] = [
  '172.18.0.101',
  '172.18.0.102',
  '172.18.0.103',
  '198.51.100.9',
];
const DSCP = 46;
/** On n1 and on n2. */
const FIXED = ['near', 'far'];

const pod = (namespace: string, name: string, nodeName: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace, name, labels: { pod: name } },
  spec: { nodeName, containers: [{ name: 'main', image: 'box' }] },
});
const only = { matchExpressions: [{ key: 'pod', operator: 'In', values: FIXED }] };

const qosOf = ({ name, topology }: Tenant): object =>
  topology === undefined
    ? {
        apiVersion: 'k8s.ovn.org/v1',
        kind: 'EgressQoS',
        metadata: { namespace: name, name: 'default' },
        spec: { egress: [{ dscp: DSCP, dstCIDR: `${BY_EGRESS_IP}/32`, podSelector: only }] },
      }
    : {
        apiVersion: 'k8s.ovn.org/v1alpha1',
        kind: 'NetworkQoS',
        metadata: { namespace: name, name: 'marked' },
        spec: {
          priority: 1,
          podSelector: only,
          egress: [
            { dscp: DSCP, classifier: { to: [{ ipBlock: { cidr: `${BY_EGRESS_IP}/32` } }] } },
          ],
        },
      };

/** Pods of each tenant that leave with the EgressIP, and two of namespaces of the default network. */
export const egressPodObjects = (tenants: readonly Tenant[]): readonly object[] => [
  ...tenants.flatMap(({ name }) => [pod(name, 'near', 'n1'), pod(name, 'far', 'n2')]),
  ...['balanced', 'routed'].flatMap((name) => [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { leaves: name } } },
    pod(name, 'far', 'n2'),
  ]),
];

export const egressObjects = (tenants: readonly Tenant[]): readonly object[] => [
  ...tenants.flatMap((tenant) => [
    {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'EgressFirewall',
      metadata: { namespace: tenant.name, name: 'default' },
      spec: {
        egress: [
          { type: 'Deny', to: { cidrSelector: `${DENIED}/32` } },
          { type: 'Allow', to: { cidrSelector: '0.0.0.0/0' } },
        ],
      },
    },
    qosOf(tenant),
  ]),
  {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'EgressIP',
    metadata: { name: 'fixed' },
    spec: {
      egressIPs: [EGRESS],
      namespaceSelector: {
        matchExpressions: [
          { key: 'tenant', operator: 'In', values: tenants.map(({ name }) => name) },
        ],
      },
      podSelector: only,
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'balanced', name: 'lb' },
    spec: {
      type: 'LoadBalancer',
      clusterIP: '172.16.1.240',
      clusterIPs: ['172.16.1.240'],
      selector: { pod: 'far' },
      ports: [{ name: 'web', port: 80 }],
    },
    status: { loadBalancer: { ingress: [{ ip: BALANCER }] } },
  },
  {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'EgressService',
    metadata: { namespace: 'balanced', name: 'lb' },
    spec: {
      sourceIPBy: 'LoadBalancerIP',
      nodeSelector: { matchLabels: { 'kubernetes.io/hostname': LEAVES_BY } },
    },
  },
  {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'AdminPolicyBasedExternalRoute',
    metadata: { name: 'hop' },
    spec: {
      from: { namespaceSelector: { matchLabels: { leaves: 'routed' } } },
      nextHops: { static: [{ ip: '172.18.0.100' }] },
    },
  },
];

/** What leaves, to each by its own address. */
export const egressStreams = (tenants: readonly Tenant[]): readonly Stream[] =>
  [
    ...tenants.flatMap(({ name }) =>
      FIXED.map((one) => ({ from: `${name}/${one}`, address: BY_EGRESS_IP ?? '' })),
    ),
    { from: 'balanced/far', address: BY_SERVICE ?? '' },
    { from: 'routed/far', address: BY_ROUTE ?? '' },
  ].map((one) => ({ ...one, to: 'ext', isPinged: false }));

/** Where the firewalls let nobody. */
export const deniedSenders = (tenants: readonly Tenant[]) =>
  tenants.flatMap(({ name }) =>
    FIXED.map((one) => ({ from: `${name}/${one}`, address: DENIED ?? '', port: 9, source: 9009 })),
  );

/** The host outside of a lab, which notes what should not have come. */
export class OutsideWatch {
  readonly #lab: LabRecord;

  constructor(lab: LabRecord) {
    this.#lab = lab;
  }

  #run(line: string): Promise<string> {
    return outputInside(this.#lab, ['ip', 'netns', 'exec', 'ext', ...line.split(' ')]);
  }

  /** Gives it its addresses, and lets the EgressIP be on n1. */
  async start(): Promise<void> {
    const path = join(manifestsFolder(this.#lab.name), 'nodes.yaml');
    const nodes = parseAllDocuments(readFileSync(path, 'utf8')).map(
      (document) => document.toJS() as { metadata: { name: string; labels?: object } },
    );
    for (const { metadata } of nodes)
      metadata.labels = {
        ...metadata.labels,
        'kubernetes.io/hostname': metadata.name,
        ...(metadata.name === LEAVES_BY ? { 'k8s.ovn.org/egress-assignable': '' } : {}),
      };
    writeFileSync(path, manifestsText(nodes));
    for (const address of [DENIED, BY_EGRESS_IP, BY_SERVICE, BY_ROUTE])
      await this.#run(`ip address add ${address}/32 dev eth0`);
    await this.#run(`ip route replace ${BALANCER} via ${nodeAddresses(LEAVES_BY)[0]} dev eth0`);
    await this.#run('nft add table inet seen');
    await this.#run(
      'nft add chain inet seen input { type filter hook prerouting priority -300 ; }',
    );
    // Its server answers with the one address that it has of its own.
    await this.#run('nft add chain inet seen nat { type nat hook prerouting priority -100 ; }');
    await this.#run(
      `nft add rule inet seen nat ip daddr { ${BY_EGRESS_IP}, ${BY_SERVICE}, ${BY_ROUTE} } dnat ip to ${OUTSIDE.v4}`,
    );
    await this.#run(
      'nft add set inet seen wrong { type ipv4_addr . ipv4_addr . dscp ; flags dynamic ; }',
    );
    for (const match of [
      `ip daddr ${DENIED}`,
      `ip daddr ${BY_EGRESS_IP} ip saddr != ${EGRESS}`,
      `ip daddr ${BY_EGRESS_IP} ip dscp != ${DSCP}`,
      `ip daddr ${BY_SERVICE} ip saddr != ${BALANCER}`,
      `ip daddr ${BY_ROUTE} ip saddr != ${nodeAddresses('n2')[0]}`,
    ])
      await this.#run(
        `nft add rule inet seen input ${match} update @wrong { ip daddr . ip saddr . ip dscp }`,
      );
  }

  /** From now on it notes what comes. */
  async forget(): Promise<void> {
    await this.#run('nft flush set inet seen wrong');
  }

  /** `<to> . <from> . <dscp>` of packets that should have left otherwise, or not at all. */
  async wrong(): Promise<readonly string[]> {
    const listed = await this.#run('nft list set inet seen wrong');
    return (/elements = \{([^}]*)\}/.exec(listed)?.[1] ?? '')
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== '');
  }
}

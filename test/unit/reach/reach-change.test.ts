import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/api/objects.ts';
import type { Pod, Service } from '../../../src/api/types.ts';
import { reachChange, type Reach } from '../../../src/reach/reach-change.ts';
import type { ReachLine } from '../../../src/reach/reach-lines.ts';
import { whoReaches } from '../../../src/reach/who-reaches.ts';
import { ReachWorld } from '../../../src/reach/reach-world.ts';
import {
  namespace,
  networkPolicy,
  ownNetwork,
  policedPod,
  PolicedZone,
} from '../../support/zone/policed-zone.ts';
import { secondaryLayer3 } from '../../support/zone/zone-variants.ts';
import { colored, connectedZone, exampleZone, type Zone } from '../../support/zone/zones.ts';

const web = policedPod('blue/web', {
  on: 'blue/blue',
  address: '103.103.0.11/24',
  labels: { app: 'web' },
});
const db = policedPod('green/db', {
  on: 'green/green-net',
  address: '104.104.0.11/24',
  labels: { app: 'db' },
  ports: [{ name: 'sql', containerPort: 5432 }],
});
const plain = policedPod('red/plain', { address: '10.244.0.11/24' });
const spaces = [namespace('blue', ownNetwork), namespace('green', ownNetwork), namespace('red')];
const sql = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'green', name: 'db' },
  spec: {
    clusterIPs: ['10.96.0.50'],
    selector: { app: 'db' },
    ports: [{ protocol: 'TCP', port: 5000, targetPort: 'sql' }],
  },
} as Service;

function reachOf(zone: Zone, ...objects: readonly KubeObject[]): Reach {
  const { facts } = PolicedZone.of(zone, ...spaces, ...objects);
  facts.refresh(0);
  const pods = objects.filter((one): one is Pod => one.kind === 'Pod');
  const services = objects.filter((one): one is Service => one.kind === 'Service');
  return { world: new ReachWorld(facts, pods, services), ways: [] };
}

const text = ({ from, to, ports, by, pairs }: ReachLine): string =>
  [`${from} → ${to}`, ports.join('; '), by ?? [], pairs === 1 ? [] : pairs].flat().join(' | ');

const change = (before: Reach, after: Reach) => {
  const { opens, closes } = reachChange(before, after);
  return { opens: opens.map(text), closes: closes.map(text) };
};

const unconnected: Zone = { ...connectedZone, connects: [] };
const sharing: Zone = {
  ...connectedZone,
  connects: [{ ...colored, hasPods: false, hasServices: true }],
};

const bridged: Zone = {
  ...connectedZone,
  connects: [{ ...colored, hasPods: false, hasServices: true, members: [], bridged: [1, 3] }],
};

describe('a connection of networks that overlap', () => {
  const pods = [web, db, plain, sql];
  const by = 'blue/web → green/db | tcp 5000 | Service green/db';
  const toBlue = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'blue' } } };
  const closes = (policy: KubeObject): readonly string[] =>
    change(reachOf(bridged, ...pods), reachOf(bridged, ...pods, policy)).closes.filter(
      (one) => one === by,
    );

  test('opens services, and no pods', () => {
    expect(change(reachOf(unconnected, ...pods), reachOf(bridged, ...pods))).toEqual({
      opens: [by],
      closes: [],
    });
  });

  test('shows the sender’s policies the cluster IP and the service’s port', () => {
    const egress = (peer: object, port: number): KubeObject =>
      networkPolicy('blue/out', {
        podSelector: {},
        policyTypes: ['Egress'],
        egress: [{ to: [peer], ports: [{ port }] }],
      });
    expect(closes(egress({ ipBlock: { cidr: '10.96.0.50/32' } }, 5000))).toEqual([]);
    expect(closes(egress({ ipBlock: { cidr: '10.96.0.50/32' } }, 5432))).toEqual([by]);
    expect(closes(egress({ namespaceSelector: {} }, 5000))).toEqual([by]);
  });

  test('shows the receiver’s policies the join subnet and the pod’s port', () => {
    const ingress = (peer: object): KubeObject =>
      networkPolicy('green/in', {
        podSelector: {},
        policyTypes: ['Ingress'],
        ingress: [{ from: [peer], ports: [{ port: 5432 }] }],
      });
    expect(closes(ingress({ ipBlock: { cidr: '100.65.0.0/16' } }))).toEqual([]);
    expect(closes(ingress({ ipBlock: { cidr: '103.103.0.0/16' } }))).toEqual([by]);
    expect(closes(ingress(toBlue))).toEqual([by]);
  });
});

describe('a connection of networks', () => {
  const pods = [web, db, plain, sql];

  test('of pods opens both ways, and leads to nobody else', () => {
    expect(change(reachOf(unconnected, ...pods), reachOf(connectedZone, ...pods))).toEqual({
      opens: ['blue/web → green/db | everything', 'green/db → blue/web | everything'],
      closes: [],
    });
  });

  test('of services alone opens these, at their ports', () => {
    const by = 'blue/web → green/db | tcp 5000 | Service green/db';
    expect(change(reachOf(unconnected, ...pods), reachOf(sharing, ...pods))).toEqual({
      opens: [by],
      closes: [],
    });
    expect(change(reachOf(connectedZone, ...pods), reachOf(sharing, ...pods))).toEqual({
      opens: [by],
      closes: ['blue/web → green/db | everything', 'green/db → blue/web | everything'],
    });
  });

  test('of services does not open what a policy behind them closes', () => {
    const closed = networkPolicy('green/closed', { podSelector: {}, policyTypes: ['Ingress'] });
    expect(change(reachOf(sharing, ...pods), reachOf(sharing, ...pods, closed)).closes).toEqual([
      'blue/web → green/db | tcp 5000 | Service green/db',
    ]);
  });
});

describe('pods', () => {
  test('that come and go open and close what they reach', () => {
    const more = policedPod('blue/more', { on: 'blue/blue', address: '103.103.0.12/24' });
    const found = change(reachOf(unconnected, web), reachOf(unconnected, web, more));
    expect(found).toMatchObject({ closes: [] });
    expect(found.opens).toEqual([
      'blue/more → blue/web | everything',
      'blue/more → outside 0.0.0.0/0 | everything',
      'blue/web → blue/more | everything',
    ]);
  });

  test('that are copies of one are told by its name', () => {
    const copies = ['a', 'b', 'c'].map((name, n): Pod => {
      const pod = policedPod(`blue/front-5d4f-${name}`, {
        on: 'blue/blue',
        address: `103.103.0.${20 + n}/24`,
        labels: { app: 'front', 'pod-template-hash': '5d4f' },
      });
      const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'front-5d4f', uid: 'u' };
      const ownerReferences = [{ ...owner, controller: true }];
      return { ...pod, metadata: { ...pod.metadata, ownerReferences } };
    });
    const only = networkPolicy('blue/only', {
      podSelector: { matchLabels: { app: 'web' } },
      ingress: [{ ports: [{ port: 80 }] }],
    });
    expect(
      change(reachOf(unconnected, web, ...copies), reachOf(unconnected, web, ...copies, only)),
    ).toEqual({ opens: [], closes: ['blue/front → blue/web | everything but tcp 80 | 3'] });
  });

  test('open ports to the default network, and nothing else', () => {
    const [nadKey, address] = ['default', '10.244.0.3/24'];
    const both = {
      ...policedPod('blue/both', { on: 'blue/blue', address: '103.103.0.30/24' }),
    };
    const annotations = {
      'k8s.ovn.org/pod-networks': JSON.stringify({
        [nadKey]: {
          ip_addresses: [address],
          ip_address: address,
          mac_address: '0a:58:0a:f4:00:03',
          role: 'infrastructure-locked',
        },
        ...(JSON.parse(both.metadata.annotations?.['k8s.ovn.org/pod-networks'] ?? '{}') as object),
      }),
    };
    const open = { 'k8s.ovn.org/open-default-ports': '[{protocol: tcp, port: 9100}]' };
    const podWith = (more: object): Pod => ({
      ...both,
      metadata: { ...both.metadata, annotations: { ...annotations, ...more } },
    });
    expect(
      change(reachOf(unconnected, plain, podWith({})), reachOf(unconnected, plain, podWith(open))),
    ).toEqual({ opens: ['red/plain → blue/both | tcp 9100'], closes: [] });
  });
});

describe('an egress firewall', () => {
  const firewall = {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'EgressFirewall',
    metadata: { namespace: 'blue', name: 'default' },
    spec: {
      egress: [
        {
          type: 'Allow',
          to: { cidrSelector: '192.0.2.0/24' },
          ports: [{ protocol: 'TCP', port: 443 }],
        },
        { type: 'Allow', to: { cidrSelector: '198.51.100.0/24' } },
        { type: 'Deny', to: { cidrSelector: '0.0.0.0/0' } },
      ],
    },
  };

  test('closes what it does not allow, range by range, and for its namespace alone', () => {
    const pods = [web, db, plain];
    expect(change(reachOf(unconnected, ...pods), reachOf(unconnected, ...pods, firewall))).toEqual({
      opens: [],
      closes: [
        'blue/web → outside 0.0.0.0/0 but 192.0.2.0/24, 198.51.100.0/24 | everything',
        'blue/web → outside 192.0.2.0/24 | everything but tcp 443',
      ],
    });
  });

  test('closes a secondary network with a gateway, too, which opens what it leads to', () => {
    const networks = (secondaryGateway?: string): Zone => ({
      ...unconnected,
      networks: [
        ...unconnected.networks,
        { ...secondaryLayer3, ...(secondaryGateway === undefined ? {} : { secondaryGateway }) },
      ],
    });
    const { annotations = {}, ...metadata } = web.metadata;
    const entries = JSON.parse(annotations['k8s.ovn.org/pod-networks'] ?? '{}') as object;
    const both: Pod = {
      ...web,
      metadata: {
        ...metadata,
        annotations: {
          ...annotations,
          'k8s.v1.cni.cncf.io/networks': 'sec',
          'k8s.ovn.org/pod-networks': JSON.stringify({
            ...entries,
            'blue/sec': {
              ip_addresses: ['10.80.0.5/24'],
              mac_address: '0a:58:0a:50:00:05',
              role: 'secondary',
            },
          }),
        },
      },
    };
    const name = 'blue/web';
    expect(change(reachOf(networks(), both), reachOf(networks('{}'), both))).toEqual({
      opens: [`${name} → outside 0.0.0.0/0 | everything`],
      closes: [],
    });
    const { closes } = change(
      reachOf(networks('{}'), both),
      reachOf(networks('{}'), both, firewall),
    );
    // By both of its networks.
    expect(closes).toEqual([
      `${name} → outside 0.0.0.0/0 but 192.0.2.0/24, 198.51.100.0/24 | everything | 2`,
      `${name} → outside 192.0.2.0/24 | everything but tcp 443 | 2`,
    ]);
  });

  test('and a policy both count', () => {
    const policy = networkPolicy('blue/out', {
      podSelector: {},
      policyTypes: ['Egress'],
      egress: [{ to: [{ ipBlock: { cidr: '192.0.2.0/24', except: ['192.0.2.128/25'] } }] }],
    });
    const before = reachOf(unconnected, web, policy);
    expect(change(before, reachOf(unconnected, web, policy, firewall))).toEqual({
      opens: [],
      closes: ['blue/web → outside 192.0.2.0/24 but 192.0.2.128/25 | everything but tcp 443'],
    });
  });
});

test('nothing that changes is nothing', () => {
  const reach = reachOf(connectedZone, web, db, plain, sql);
  expect(change(reach, reachOf(connectedZone, web, db, plain, sql))).toEqual({
    opens: [],
    closes: [],
  });
});

test('pods that nobody can place are left out, and why is said', () => {
  const lost = policedPod('nowhere/lost', { address: '10.244.0.99/24' });
  const { world } = reachOf(exampleZone, lost);
  expect(world.leftOut).toMatchObject([
    { pod: 'nowhere/lost', why: expect.stringContaining('no namespace "nowhere"') as string },
  ]);
});

test('who reaches a pod is told for each of its networks, with the policies that decide', () => {
  const closed = networkPolicy('green/closed', {
    podSelector: { matchLabels: { app: 'db' } },
    ingress: [{ ports: [{ port: 5432 }] }],
  });
  const { world } = reachOf(connectedZone, web, db, plain, sql, closed);
  expect(whoReaches(world, 'green/db').filter(({ role }) => role === 'primary')).toEqual([
    {
      network: 'cluster_udn_green-net',
      role: 'primary',
      by: [{ from: 'blue/web', to: 'green/db', ports: ['tcp 5432'], pairs: 1 }],
      policies: ['NetworkPolicy green/closed'],
    },
  ]);
  expect(whoReaches(world, 'green/nobody')).toEqual([]);
});

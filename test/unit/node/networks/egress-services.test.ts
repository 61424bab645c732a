import { expect, test } from 'vitest';
import type { DesiredRow } from '../../../../src/desired/rows.ts';
import type { EgressServiceFacts } from '../../../../src/model/read/egress-services.ts';
import { hostUnits } from '../../../support/host/host-units.ts';
import { service, withServices } from '../../../support/zone/services.ts';
import {
  bluePodDefault,
  exampleZone,
  inLocalMode,
  type Zone,
} from '../../../support/zone/zones.ts';

const own = {
  ...bluePodDefault,
  namespace: 'default',
  pod: 'web',
  role: 'primary',
} as const;
const far = {
  ...own,
  pod: 'far',
  node: 'ovn-worker2',
  addresses: ['10.244.1.5/24'],
  macAddress: '0a:58:0a:f4:01:05',
};

function zoneWith(changes: Partial<EgressServiceFacts>, spec: object = {}): Zone {
  const lb = service(
    'default/lb',
    { type: 'LoadBalancer', clusterIPs: ['10.96.3.3'], ...spec },
    { loadBalancer: { ingress: [{ ip: '172.18.0.239' }, { ip: '172.18.0.240' }] } },
  );
  return {
    ...withServices(exampleZone, lb),
    selectors: { 'default/lb': { app: 'web' } },
    attachments: [own],
    remoteAttachments: [far],
    pods: [own, far].map(({ pod, node }) => ({
      namespace: 'default',
      name: pod,
      node,
      labels: { app: 'web' },
      namedPorts: [],
    })),
    egressServices: [
      {
        key: 'default/lb',
        namespace: 'default',
        name: 'lb',
        created: '',
        isByNetwork: false,
        host: 'ovn-worker',
        isHere: true,
        ...changes,
      },
    ],
  };
}
const rowsOf = (zone: Zone): readonly DesiredRow[] =>
  hostUnits(zone)
    .flatMap(({ rows }) => rows)
    .filter(({ object }) => object === 'EgressService default/lb');
const elementsOf = (zone: Zone): readonly string[] =>
  rowsOf(zone)
    .filter(({ table }) => table === 'element')
    .map(({ columns: { set, element, value } }) =>
      [set, element, value].filter((text) => typeof text === 'string').join(' '),
    )
    .toSorted();
const rulesOf = (zone: Zone): readonly string[] =>
  rowsOf(zone)
    .filter(({ table }) => table === 'rule')
    .map(({ key }) => key)
    .toSorted();

test('pods of all nodes leave the chosen one with the last address of the load balancer (reference/node.md §3.7)', () => {
  const zone = zoneWith({});
  expect(elementsOf(zone)).toEqual([
    'egress-service-pods-v4 10.244.0.3',
    'egress-service-pods-v4 10.244.1.5',
    'egress-service-snat-v4 10.244.0.3 172.18.0.240',
    'egress-service-snat-v4 10.244.1.5 172.18.0.240',
    'egress-service-sources-v4 10.244.0.3 . 172.18.0.240',
    'egress-service-sources-v4 10.244.1.5 . 172.18.0.240',
  ]);
  expect(rulesOf(zone)).toEqual([]);
});

test('by the other node, or by none, nothing of them leaves here', () => {
  for (const host of ['ovn-worker2', ''])
    expect(rowsOf(zoneWith({ host, isHere: false }))).toEqual([]);
});

test('in local gateway mode pods of this node that leave elsewhere, or nowhere, are kept from leaving as the node', () => {
  for (const host of ['ovn-worker2', ''])
    expect(elementsOf(inLocalMode(zoneWith({ host, isHere: false })))).toEqual([
      'egress-elsewhere-v4 10.244.0.3',
    ]);
  const here = elementsOf(inLocalMode(zoneWith({})));
  expect(here.filter((element) => element.startsWith('egress-elsewhere'))).toEqual([]);
});

test('by its network each node lets its own pods leave, with no address of the service', () => {
  expect(elementsOf(zoneWith({ isByNetwork: true, host: 'ALL', isHere: false }))).toEqual([
    'egress-service-networks-v4 10.244.0.3',
    'egress-service-pods-v4 10.244.0.3',
  ]);
});

test('what they send, and what the service answers, is led into its routing table (reference/node.md §2.4)', () => {
  const common = [
    'inet priority 5000 from 10.244.0.3/32 lookup 1200',
    'inet priority 5000 from 10.244.1.5/32 lookup 1200',
    'inet priority 5000 from 10.96.3.3/32 lookup 1200',
  ];
  expect(rulesOf(zoneWith({ table: 1200 }))).toEqual(common);
  const local = {
    externalTrafficPolicy: 'Local',
    ports: [{ port: 80, nodePort: 30_080 }],
  };
  expect(rulesOf(zoneWith({ table: 1200 }, local))).toEqual(
    [...common, 'inet priority 5000 from 169.254.0.3/32 sport 30080 lookup 1200'].toSorted(),
  );
});

test("a table of a tenant's network is refused by name, and nothing leaves", () => {
  const zone = zoneWith({ table: 10_002 });
  expect(rowsOf(zone)).toEqual([]);
  expect(JSON.stringify(hostUnits(zone).flatMap(({ problems }) => problems))).toContain(
    'spec.network: 10002 is, or may become, the routing table of a network of Heddle',
  );
});

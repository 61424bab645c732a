/** Two tenants whose networks have one subnet, a third one that is connected with the first, and names of services on each, which nodes answer. */
import type { EndpointSlice } from '../../../src/api/types.ts';
import { readSliceNames } from '../../../src/model/read/endpoint-names.ts';
import type { NameView } from '../../../src/model/rules/network-names.ts';
import type { ZoneFacts } from '../../../src/model/zone/zone.ts';
import { clusterDns, service, slice, withServices } from './services.ts';
import {
  blue,
  colored,
  factsOf,
  green,
  networkName,
  dualZone,
  type Zone,
  type ZoneNetwork,
} from './zones.ts';

/** Its subnet is that of `blue`. */
export const red: ZoneNetwork = {
  ...blue,
  name: networkName('red_red'),
  id: 2,
  masquerade: { v4: { gatewayRouter: '169.254.0.13', managementPort: '169.254.0.14' } },
  nads: ['red/red'],
  namespaces: ['red'],
  object: 'UserDefinedNetwork red/red',
};

const HEADLESS = 'service.kubernetes.io/headless';
const CONTROLLER = { 'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io' };

const labelled = (one: EndpointSlice, labels: Readonly<Record<string, string>>): EndpointSlice => ({
  ...one,
  metadata: { ...one.metadata, labels: { ...one.metadata.labels, ...labels } },
});
/** What Kubernetes itself writes of a service. */
export const source = (key: string, addresses: readonly string[]): EndpointSlice =>
  labelled(slice(key, addresses, { name: 'source' }), CONTROLLER);

const ports = [
  { name: 'http', port: 8080 },
  { name: 'raft', port: 7000, protocol: 'UDP' },
];
/** A StatefulSet of a tenant on a network: `web-0`, `web-1`, and a pod that is not ready. */
const stateful = (namespace: string, network: string, net: string): readonly EndpointSlice[] => [
  source(`${namespace}/web`, ['10.244.0.5', '10.244.1.5']),
  labelled(
    slice(
      `${namespace}/web`,
      [
        { addresses: [`${net}.0.5`], hostname: 'web-0' },
        { addresses: [`${net}.1.5`], hostname: 'web-1' },
        { addresses: [`${net}.1.6`], hostname: 'web-2', conditions: { ready: false } },
      ],
      { network, ports },
    ),
    { [HEADLESS]: '' },
  ),
];

const SLICES: readonly EndpointSlice[] = [
  ...stateful('blue', 'blue_blue', '103.103'),
  ...stateful('red', 'red_red', '103.103'),
  ...stateful('green', 'cluster_udn_green-net', '104.104'),
  slice('blue/api', ['103.103.0.7'], {
    network: 'blue_blue',
    ports: [{ name: 'http', port: 8080 }],
  }),
  // Its pods have no address on the network yet.
  source('blue/coming', ['10.244.0.9']),
  slice('blue/by-hand', ['192.0.2.9'], { name: 'hand' }),
];

export const namedZone: Zone = {
  ...withServices(
    {
      ...dualZone,
      settings: { ...dualZone.settings, networkNames: true },
      networks: [...dualZone.networks.filter(({ id }) => id === 0), blue, red, green],
      connects: [colored],
      namespaces: ['blue', 'red', 'green', 'default', 'kube-system', 'plain'],
    },
    ...clusterDns,
    service('default/kubernetes', { clusterIPs: ['10.96.0.1'] }),
    service('plain/web', { clusterIPs: ['10.96.4.1'] }),
    service('blue/api', { clusterIPs: ['10.96.1.1'], ports: [{ name: 'http', port: 80 }] }),
    service('red/api', { clusterIPs: ['10.96.2.1'], ports: [{ name: 'http', port: 80 }] }),
    service('green/api', { clusterIPs: ['10.96.3.1'], ports: [{ name: 'http', port: 80 }] }),
  ),
};

/** Facts of the zone, with the networks of these ids labelled, and these slices besides. */
export function namedFacts(
  zone: Zone = namedZone,
  named: readonly string[] = ['blue/blue', 'red/red'],
  slices: readonly EndpointSlice[] = [],
): ZoneFacts {
  const facts = factsOf(zone);
  for (const nad of named) {
    const definition = facts.definitions.peek(nad);
    if (definition === undefined) throw new Error(`no NAD ${nad}`);
    facts.definitions.put(nad, { ...definition, labels: { 'k8s.ovn.org/network-names': 'true' } });
  }
  for (const one of [...SLICES, ...slices]) {
    const { namespace = '', name, annotations = {} } = one.metadata;
    const network = annotations['k8s.ovn.org/endpointslice-network'] ?? '';
    facts.sliceNames.put(`${namespace}/${network}${name}`, readSliceNames(one, zone.settings));
  }
  facts.refresh(0);
  return facts;
}

/** What is known from a network: of `blue`, unless another id is given. */
export function viewOf(facts: ZoneFacts = namedFacts(), id = blue.id): NameView {
  const view = facts.namesFrom(id);
  if (view === undefined) throw new Error(`no network ${id}`);
  return view;
}

/** So many tenants, with ids from 1 on, all with the subnet and the names of `blue` in their own namespaces `t1`, `t2` …, all of which ask for names. */
export function manyNamedFacts(count: number): ZoneFacts {
  const tenants = Array.from({ length: count }, (_, at) => at + 1);
  const networkOf = (id: number): ZoneNetwork => ({
    ...blue,
    name: networkName(`t${id}_net`),
    id,
    masquerade: {},
    nads: [`t${id}/net`],
    namespaces: [`t${id}`],
    object: `UserDefinedNetwork t${id}/net`,
  });
  const zone: Zone = {
    ...namedZone,
    networks: [...namedZone.networks.filter(({ id }) => id === 0), ...tenants.map(networkOf)],
    connects: [],
    namespaces: [...tenants.map((id) => `t${id}`), 'default', 'kube-system'],
  };
  return namedFacts(
    zone,
    tenants.map((id) => `t${id}/net`),
    tenants.flatMap((id) => stateful(`t${id}`, `t${id}_net`, '103.103')),
  );
}

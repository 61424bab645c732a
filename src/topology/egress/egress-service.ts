/**
 * Pods that leave as an EgressService says (reference/egress.md §4): on the default network by the host of one node, on primary networks by the gateway
 * router there, and where a routing table is named by the host behind it. While nobody was chosen, and for what is not known of a pod, they send nothing out: everything that leads out for them is in a policy of
 * the pod, so that zones need not agree on when anything is there.
 */

import { familyOf, ipOf } from '../../allocators/addresses.ts';
import { ovnPrefix } from '../../api/nad/network-name.ts';
import { feature } from '../../desired/features.ts';
import { RowReference } from '../../desired/rows.ts';
import type { Network } from '../../model/model.ts';
import { EVERY_HOST } from '../../model/read/egress-services.ts';
import { DEFAULT_NETWORK } from '../../model/read/networks.ts';
import {
  DEFAULT_CONTROLLER,
  gatewayRouter,
  isDefault,
  layer3Names,
  podSwitch,
} from '../../model/rules/names.ts';
import { clusterFamilies, nodeRanges } from '../../model/rules/network-addresses.ts';
import { egressServiceObject, type EgressServicePort } from '../../model/zone/egress-services.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { routerOf } from '../connect/connect-rows.ts';
import {
  MARK_EGRESS_REPLY,
  MARK_EGRESS_SERVICE,
  MARK_EGRESS_TO_NODE,
  MARK_OWN_POD,
  POLICY_EGRESS_ARRIVAL,
  POLICY_EGRESS_SERVICE,
  POLICY_EGRESS_SERVICE_MARK,
  POLICY_NO_REROUTE,
  QOS_EGRESS_IP_REPLY,
} from '../numbers.ts';
import { enabledServiceIps, nodeIps } from '../rows/address-sets.ts';
import { OBJECT_ID, objectIds, SERVICE_ELSEWHERE, SERVICE_ID } from '../rows/object-ids.ts';
import { policyKey } from '../rows/row-keys.ts';
import { POLICY_CLAIM } from '../rows/router-rows.ts';
import { QOS_CLAIM } from '../rows/switch-rows.ts';
import { repliesOut } from '../parts/egress-ip-base.ts';
import { holds, Rows } from '../rows/unit-rows.ts';
import { nextHop } from './egress-ip.ts';

const fromPod = (address: string): string => `${ipOf(address)}.src == ${address}`;

const rerouteKey = (router: string, address: string): string =>
  policyKey(router, POLICY_EGRESS_SERVICE, fromPod(address));

/** Policies without which a port must not be: its pod would leave with its node's address. */
export const serviceReroutesOf = (
  facts: ZoneFacts,
  port: EgressServicePort | undefined,
): readonly RowReference[] => {
  const name = port?.isOwn === true ? port.network : undefined;
  const topology = name === undefined ? undefined : facts.rendered.part(name, 'topology');
  if (port === undefined || name === undefined || topology === undefined) return [];
  const { router } = routerOf({ name, topology }, facts.nodeName);
  return port.addresses.map(
    (address) => new RowReference('Logical_Router_Policy', rerouteKey(router, address)),
  );
};

export const egressServicePodRows = feature({
  name: 'egress/egress-service',
  over: (facts: ZoneFacts) => facts.egressServicePorts,
  subject: (facts, key) => facts.egressServicePorts.get(...key)?.network,
  objects(facts, key) {
    const service = facts.egressServicePorts.peek(...key)?.service;
    return service === undefined ? undefined : [egressServiceObject(service)];
  },
  rules: {
    reroute: {
      text: 'A pod behind an EgressService leaves by the host of the node that was chosen; while none was it sends nothing out of its network.',
      source: 'reference/topology.md §18.5',
    },
    'keep-way': {
      text: 'What it sends to nodes, to services open to all, and in answer to who came by its gateway router, keeps its way.',
      source: 'reference/topology.md §18.5',
    },
    mark: {
      text: 'On a primary network the gateway router of the chosen node marks what leaves, and the bridge gives it the address of the mark, or leads it to the host.',
      source: 'reference/topology.md §18.5',
    },
    network: {
      text: 'Where the network says the address, pods of a primary network leave by their own node, without a routing table as pods without an EgressService.',
      source: 'reference/topology.md §18.5',
    },
    arrival: {
      text: 'Of what other nodes send here to leave, that of pods that leave here passes.',
      source: 'reference/topology.md §18.5',
    },
  },
  claims: [POLICY_CLAIM, QOS_CLAIM],
  build(facts, key, out) {
    const port = facts.egressServicePorts.get(...key);
    const network = port && facts.rendered.get(port.network);
    if (port === undefined || network === undefined) return;
    const object = egressServiceObject(port.service);
    const place = facts.placeOfService(port.service);
    const isPrimary = !isDefault(network);
    // The host behind the gateway router has the table.
    const isByOwnHost = isPrimary && place?.host === EVERY_HOST && place.table !== undefined;
    const rows = Rows.northbound(out, object);
    for (const address of port.addresses) {
      const why = isPrimary ? facts.whyNotByTable(port.service, familyOf(address)) : undefined;
      if (why !== undefined && port.isOwn) out.problem(object, why);
      const host = why === undefined ? (place?.host ?? '') : '';
      const exitsBy = isByOwnHost && host !== '' ? (port.isOwn ? facts.nodeName : '') : host;
      addReroute(rows, facts, network, port, address, exitsBy);
      if (port.isOwn) addKeptWays(rows, facts, network, port, address);
      if (isPrimary && exitsBy === facts.nodeName) {
        const exit = facts.egressServiceExit(port.service, familyOf(address));
        if (typeof exit === 'string') out.problem(object, exit);
        const mark = typeof exit === 'string' ? undefined : exit?.mark;
        addExit(rows, facts, network, port, address, mark);
      }
      if (isPrimary && exitsBy === EVERY_HOST && port.isOwn)
        addUnmarkedExit(rows, facts, network, port, address);
    }
  },
});

/** A row that says by its ids for which service it is there. */
function addPolicy(
  rows: Rows,
  router: string,
  port: EgressServicePort,
  policy: {
    readonly priority: number;
    readonly match: string;
    readonly action: 'allow' | 'drop' | 'reroute';
    readonly nexthops?: readonly string[];
    readonly options?: Readonly<Record<string, string>>;
  },
  sets: readonly string[] = [],
): void {
  rows.naming(
    sets.map((name) => new RowReference('Address_Set', name)),
    'Logical_Router_Policy',
    policyKey(router, policy.priority, policy.match),
    {
      ...policy,
      external_ids: { [SERVICE_ID]: `${port.service}${port.isOwn ? '' : SERVICE_ELSEWHERE}` },
    },
    holds('Logical_Router', router, 'policies'),
  );
}

function addReroute(
  all: Rows,
  facts: ZoneFacts,
  network: Network,
  port: EgressServicePort,
  address: string,
  host: string,
): void {
  const isHere = host === facts.nodeName || (host === EVERY_HOST && port.isOwn);
  const isByHost = isHere && isDefault(network);
  const isByNetwork = host === EVERY_HOST && !isDefault(network);
  // Those of other nodes go to the gateway router here by themselves, and nowhere where they don't leave here.
  if (!port.isOwn && !isByHost) return;
  const { router } = routerOf(network, facts.nodeName);
  const policy = { priority: POLICY_EGRESS_SERVICE, match: fromPod(address) };
  if (isByNetwork) {
    // As a pod without one, whatever EgressIPs have it.
    const isMarked = network.topology === 'layer2' && facts.own('gateway')?.mode === 'shared';
    const options = isMarked ? { pkt_mark: String(MARK_OWN_POD) } : {};
    addPolicy(all.by('network'), router, port, { ...policy, action: 'allow', options });
    return;
  }
  const nexthop = isByHost
    ? managementAddress(facts, address)
    : host === '' || host === EVERY_HOST
      ? undefined
      : nextHop(facts, network, { node: host }, address);
  addPolicy(all.by('reroute'), router, port, {
    ...policy,
    ...(nexthop === undefined ? { action: 'drop' } : { action: 'reroute', nexthops: [nexthop] }),
    ...(isByHost ? { options: { pkt_mark: String(MARK_EGRESS_SERVICE) } } : {}),
  });
}

/** Address of the host on the default network. */
const managementAddress = (facts: ZoneFacts, address: string): string | undefined =>
  nodeRanges(facts.subnetsOn(DEFAULT_NETWORK, facts.nodeName)).find(
    ({ family }) => family === familyOf(address),
  )?.management;

function addKeptWays(
  all: Rows,
  facts: ZoneFacts,
  network: Network,
  port: EgressServicePort,
  address: string,
): void {
  const rows = all.by('keep-way');
  const [ip, family] = [ipOf(address), familyOf(address)];
  const ids = objectIds(DEFAULT_CONTROLLER, 'EgressService', {
    priority: String(QOS_EGRESS_IP_REPLY),
    name: `${port.namespace}/${port.pod}`,
    'ip-family': ip,
    network: network.name,
  });
  rows.keyed(
    'QoS',
    ids[OBJECT_ID],
    {
      direction: 'from-lport',
      priority: QOS_EGRESS_IP_REPLY,
      match: repliesOut(address, family, facts, network),
      action: new Map([['mark', MARK_EGRESS_REPLY]]),
      external_ids: ids,
    },
    holds('Logical_Switch', podSwitch(network, facts.nodeName), 'qos_rules'),
  );
  // On the default network a set has them all.
  if (isDefault(network) || !clusterFamilies(facts.settings).includes(family)) return;
  const { router } = routerOf(network, facts.nodeName);
  for (const [{ name }, options] of [
    [nodeIps(family), { pkt_mark: String(MARK_EGRESS_TO_NODE) }],
    [enabledServiceIps(family), {}],
  ] as const)
    addPolicy(
      rows,
      router,
      port,
      {
        priority: POLICY_NO_REROUTE,
        match: `${fromPod(address)} && ${ip}.dst == $${name}`,
        action: 'allow',
        options,
      },
      [name],
    );
}

/** At the gateway router no EgressIP marks it. */
function addUnmarkedExit(
  all: Rows,
  facts: ZoneFacts,
  network: Network,
  port: EgressServicePort,
  address: string,
): void {
  addPolicy(all.by('network'), gatewayRouter(ovnPrefix(network.name), facts.nodeName), port, {
    priority: POLICY_EGRESS_SERVICE_MARK,
    match: `${fromPod(address)} && pkt.mark == 0`,
    action: 'allow',
  });
}

/** What is needed on the node by whose gateway router pods of a primary network leave; without a mark they don't. */
function addExit(
  all: Rows,
  facts: ZoneFacts,
  network: Network,
  port: EgressServicePort,
  address: string,
  mark: number | undefined,
): void {
  const gateway = gatewayRouter(ovnPrefix(network.name), facts.nodeName);
  addPolicy(all.by('mark'), gateway, port, {
    priority: POLICY_EGRESS_SERVICE_MARK,
    match: `${fromPod(address)} && pkt.mark == 0`,
    ...(mark === undefined
      ? { action: 'drop' }
      : { action: 'allow', options: { pkt_mark: String(mark) } }),
  });
  if (!port.isOwn && network.topology === 'layer3')
    addPolicy(all.by('arrival'), routerOf(network, facts.nodeName).router, port, {
      priority: POLICY_EGRESS_ARRIVAL,
      match: `inport == "${layer3Names(network.name, facts.nodeName).routerToTransit}" && ${fromPod(address)}`,
      action: 'allow',
    });
}

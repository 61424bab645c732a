/** Marks and rates of what pods send, by EgressQoS and NetworkQoS (reference/topology.md §18.4). */

import { familyOf, ipOf, type Family } from '../../allocators/addresses.ts';
import { feature } from '../../desired/features.ts';
import { RowReference } from '../../desired/rows.ts';
import type { NetworkName } from '../../model/model.ts';
import type { PolicyPort } from '../../model/read/policies.ts';
import { qosObject, type Qos, type QosRule } from '../../model/read/qos.ts';
import { controllerOf, DEFAULT_CONTROLLER, isDefault, podSwitch } from '../../model/rules/names.ts';
import { prefixesOf } from '../../model/rules/qos-cost.ts';
import type { PodSelection } from '../../model/rules/selections.ts';
import { QOS_RULES_OF_PRIORITY } from '../../model/zone/qos-ties.ts';
import { SOURCES } from '../../model/zone/qos.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { networkOf, networkRank } from '../networks/network-feature.ts';
import { QOS_EGRESS, QOS_NETWORK } from '../numbers.ts';
import { inSets } from '../policy/matches.ts';
import { familiesOf } from '../policy/placed.ts';
import { anyOf } from '../rows/acls.ts';
import {
  ADDRESS_SET_CLAIM,
  addAddressSet,
  egressQosPods,
  networkQosPods,
  type AddressSet,
} from '../rows/address-sets.ts';
import { NETWORK_ID, OBJECT_ID, objectIds } from '../rows/object-ids.ts';
import { QOS_CLAIM } from '../rows/switch-rows.ts';
import { holds, Rows } from '../rows/unit-rows.ts';

/** Addresses of the pods that rules mean, and of those to whom these send. */
export const qosAddresses = feature({
  name: 'egress/qos-addresses',
  over: (facts: ZoneFacts) => facts.qosPlacements.distinct('set'),
  rank: networkRank,
  subject: networkOf,
  objects: (_facts, [, kind, namespace, name]) => [qosObject({ kind, namespace, name })],
  rules: {
    addresses: {
      text: 'Pods of this node whose packets a QoS rule means are in a set by their addresses on the network, and so are pods of all nodes to whom it is about packets.',
      source: 'reference/topology.md §18.4',
    },
  },
  claims: [ADDRESS_SET_CLAIM],
  build(facts, [network, kind, namespace, name, set], out) {
    const qos = facts.qoses.get(kind, namespace, name);
    if (qos === undefined) return;
    const rows = Rows.northbound(out, qosObject(qos)).by('addresses');
    const controller = controllerOn(facts, network, qos);
    const isOfSources = kind === 'EgressQoS' || set === SOURCES;
    const rule = qos.rules[set === SOURCES ? 0 : Number(set)];
    if (rule === undefined) return;
    if (!isOfSources) facts.requireOtherPods();
    for (const family of familiesOf(facts, network))
      if (isOfSources)
        addAddressSet(
          rows,
          sourcesOf(qos, controller, Number(set), family),
          facts.ownAddressesOf(network, rule.pods.id, family),
        );
      else
        for (const [place, { id }] of destinationsOf(rule))
          addAddressSet(
            rows,
            networkQosPods(controller, qos, set, place, family),
            facts.addressesOf(network, id, family),
          );
  },
});

export const qosRules = feature({
  name: 'egress/qos',
  over: (facts: ZoneFacts) => facts.qosPlacements.distinct('unit'),
  rank: networkRank,
  subject: networkOf,
  objects: (_facts, [, kind, namespace, name]) => [qosObject({ kind, namespace, name })],
  rules: {
    rule: {
      text: 'What a QoS rule means gets its mark on the switch of the pods, after load balancing, and no more passes than its rate. Of two objects with one priority that mean one pod the rules of the older one come first.',
      source: 'reference/topology.md §18.4',
    },
  },
  claims: [QOS_CLAIM],
  build(facts, [network, kind, namespace, name], out) {
    const qos = facts.qoses.get(kind, namespace, name);
    const topology = facts.rendered.part(network, 'topology');
    if (qos === undefined || topology === undefined) return;
    const object = qosObject(qos);
    const families = familiesOf(facts, network);
    if (families.length === 0)
      return out.problem(
        object,
        `pods have no addresses on network ${network}, which has no subnets, and are not known there: nothing of them is marked or limited; select networks with subnets`,
      );
    if (topology === 'layer3' && facts.subnetsOn(network, facts.nodeName).length === 0)
      return out.waitFor(`a subnet of network ${network} on node ${facts.nodeName}`);
    const { mostQosFlows: mostFlows } = facts.settings.policies;
    if (facts.qosCosts.get(network, kind, namespace, name)?.isTooCostly !== false)
      return out.problem(
        object,
        `its rules would cost a node more than ${mostFlows} flows on network ${network} (max-flows-per-qos), counted with the pods that they mean: until it costs less nothing of them is marked or limited there; write fewer rules, address blocks and ports, or select fewer pods`,
      );
    const rows = Rows.northbound(out, object).by('rule');
    const controller = controllerOn(facts, network, qos);
    const offset = facts.qosOffsetOf(network, qos);
    const container = holds(
      'Logical_Switch',
      podSwitch({ name: network, topology }, facts.nodeName),
      'qos_rules',
    );
    for (const [index, rule] of qos.rules.entries()) {
      const found = matchOf(qos, { rule, index, controller, families, mostFlows });
      if (found === undefined) continue;
      const { rate, burst } = rule;
      const ids = idsOf(qos, controller, index);
      rows.naming(
        found.sets.map((set) => new RowReference('Address_Set', set)),
        'QoS',
        ids[OBJECT_ID],
        {
          direction: 'to-lport',
          priority: priorityOf(qos, index) + offset,
          match: found.match,
          action: new Map([['dscp', rule.dscp]]),
          bandwidth: new Map([
            ...(rate === undefined ? [] : [['rate', rate] as const]),
            ...(burst === undefined ? [] : [['burst', burst] as const]),
          ]),
          external_ids:
            kind === 'NetworkQoS' && !isDefault({ name: network })
              ? { ...ids, [NETWORK_ID]: network }
              : ids,
        },
        container,
      );
    }
  },
});

/** As in ovn-kubernetes, which knows one network of a namespace: an EgressQoS has the ids of the default one there, whichever it is. */
const controllerOn = (facts: ZoneFacts, network: NetworkName, { kind, namespace }: Qos): string =>
  kind === 'EgressQoS' && facts.namespaceNetworks.get(namespace)?.networks[0] === network
    ? DEFAULT_CONTROLLER
    : controllerOf(network);

const priorityOf = ({ kind, priority }: Qos, index: number): number =>
  kind === 'EgressQoS'
    ? QOS_EGRESS - index
    : QOS_NETWORK + QOS_RULES_OF_PRIORITY * priority + index;

const idsOf = (qos: Qos, controller: string, index: number): ReturnType<typeof objectIds> =>
  qos.kind === 'EgressQoS'
    ? objectIds(controller, qos.kind, {
        priority: String(priorityOf(qos, index)),
        name: qos.namespace,
      })
    : objectIds(controller, qos.kind, {
        name: `${qos.namespace}:${qos.name}`,
        'rule-index': String(index),
      });

/** A set for each rule of an EgressQoS, and one for all of a NetworkQoS. */
const sourcesOf = (qos: Qos, controller: string, index: number, family: Family): AddressSet =>
  qos.kind === 'EgressQoS'
    ? egressQosPods(controller, qos.namespace, priorityOf(qos, index), family)
    : networkQosPods(controller, qos, SOURCES, 0, family);

/** Pods to whom a rule is about packets, by the places of the destinations. */
const destinationsOf = ({ to }: QosRule): readonly (readonly [number, PodSelection])[] =>
  to.flatMap((one, place) => (one.kind === 'pods' ? [[place, one.selection] as const] : []));

interface RuleOnNetwork {
  readonly rule: QosRule;
  readonly index: number;
  readonly controller: string;
  readonly families: readonly Family[];
  readonly mostFlows: number;
}

interface Match {
  readonly match: string;
  readonly sets: readonly string[];
}

/** As ovn-kubernetes writes it, as long as that costs no more; undefined where no packet matches, as exceptions cover all blocks. */
function matchOf(qos: Qos, onNetwork: RuleOnNetwork): Match | undefined {
  const { rule, index, controller, families } = onNetwork;
  const sources = families.map(
    (family) => [family, sourcesOf(qos, controller, index, family).name] as const,
  );
  const sets = sources.map(([, name]) => name);
  if (qos.kind === 'EgressQoS') {
    const [block] = rule.to;
    const to =
      block?.kind === 'block'
        ? `${ipOf(block.block.cidr)}.dst == ${block.block.cidr}`
        : `${IP.v4}.dst == 0.0.0.0/0 || ${IP.v6}.dst == ::/0`;
    const from = anyOf(sources.map(([family, name]) => `${IP[family]}.src == $${name}`));
    return { match: `(${to}) && ${from}`, sets };
  }
  const destinations = rule.to.map((one, place) => destinationOf(qos, onNetwork, one, place));
  sets.push(...destinations.flatMap((one) => one.sets));
  const terms = destinations.flatMap((one) => one.terms);
  const ports = portsOf(rule.ports);
  const isPlain = destinations.every((one) => one.isPlain) && terms.length < 2;
  // Lists of one field OVN puts together (conjunctions); of what is about several fields it makes each pair.
  const alternatives =
    isPlain && rule.ports.length < 2
      ? [[families, terms.map(({ term }) => term), ports] as const]
      : families.flatMap((family) =>
          (ports.length === 0 ? [[]] : ports.map((port) => [port])).map(
            (port) =>
              [
                [family],
                terms.filter((one) => one.family === family).map(({ term }) => term),
                port,
              ] as const,
          ),
        );
  const matches = alternatives.flatMap(([from, to, port]) =>
    rule.to.length > 0 && to.length === 0
      ? []
      : [
          [
            anyOf([
              ...inSets(
                'src',
                new Map(
                  sources
                    .filter(([family]) => from.includes(family))
                    .map(([family, name]) => [family, [name]]),
                ),
              ).values(),
            ]),
            ...(to.length === 0 ? [] : [anyOf(to)]),
            ...port,
          ].join(' && '),
        ],
  );
  const [only] = matches;
  if (only === undefined) return undefined;
  const match = matches.length === 1 ? only : matches.map((one) => `(${one})`).join(' || ');
  return { match, sets };
}

const IP = { v4: 'ip4', v6: 'ip6' } as const;

interface Destination {
  readonly terms: readonly { readonly family: Family; readonly term: string }[];
  readonly sets: readonly string[];
  /** A block as it is. */
  readonly isPlain: boolean;
}

/** Of exceptions what they leave of the block is listed: OVN multiplies out what is negated. */
function destinationOf(
  qos: Qos,
  { index, controller, families, mostFlows }: RuleOnNetwork,
  one: QosRule['to'][number],
  place: number,
): Destination {
  if (one.kind === 'block') {
    const { cidr, except } = one.block;
    const family = familyOf(cidr);
    const isPlain = except.length === 0;
    const left = isPlain ? [cidr] : prefixesOf(one.block, mostFlows);
    const list = isPlain ? cidr : `{${left.join(',')}}`;
    return {
      terms: left.length === 0 ? [] : [{ family, term: `${IP[family]}.dst == ${list}` }],
      sets: [],
      isPlain,
    };
  }
  const names = families.map(
    (family) =>
      [family, networkQosPods(controller, qos, String(index), place, family).name] as const,
  );
  return {
    terms: names.map(([family, name]) => ({ family, term: `${IP[family]}.dst == {$${name}}` })),
    sets: names.map(([, name]) => name),
    isPlain: false,
  };
}

/** By protocol, ports as they are written; one without a port means all of its protocol. */
function portsOf(ports: readonly PolicyPort[]): readonly string[] {
  const protocols = [...Map.groupBy(ports, ({ protocol }) => protocol)].sort(([a], [b]) =>
    a < b ? -1 : 1,
  );
  return protocols.map(([protocol, own]) => {
    const numbers = [...new Set(own.map(({ port }) => port))];
    if (numbers.includes(undefined)) return protocol;
    const list = numbers.length === 1 ? `${numbers[0]}` : `{${numbers.join(',')}}`;
    return `${protocol} && ${protocol}.dst == ${list}`;
  });
}

/** How pods leave by other network cards than the gateway's, with egress addresses there (reference/egress.md §1.11). */
import { familyOf, macOf } from '../../allocators/addresses.ts';
import { SETTINGS } from '../../desired/rows.ts';
import { feature, type Feature } from '../../desired/features.ts';
import { ONE } from '../../facts/keys.ts';
import type { HostCard } from '../../model/zone/host-routes.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import { DEFAULT_ROUTE, HostRows } from '../host-rows.ts';
import {
  CARD_TABLES,
  MAIN_TABLE,
  MARK_TO_NODE_ADDRESS,
  RULE_EGRESS_POD,
  RULE_EGRESS_TO_NODE,
  UNREACHABLE_METRIC,
} from '../numbers.ts';
import type { HostSettings } from './host-network.ts';
import { forwarding } from './sysctls.ts';

/** Routing table of a card; undefined where it would be that of a network. */
const cardTable = (
  { index }: Pick<HostCard, 'index'>,
  { routingTables }: HostSettings,
): number | undefined => (CARD_TABLES + index < routingTables ? CARD_TABLES + index : undefined);

export const egressCards = (settings: HostSettings): Feature<ZoneFacts> =>
  feature({
    name: 'host/egress-card',
    over: ({ hostCards }: ZoneFacts) => hostCards,
    objects: (facts, [device]) =>
      facts.egressPlaces.keysBy('card', device).map((egressIp) => `EgressIP ${egressIp}`),
    rules: {
      'card-table': {
        text: 'A network card with egress addresses has a routing table with its own routes; what has none there goes nowhere.',
        source: 'reference/egress.md §1.11',
      },
      'card-forwarding': {
        text: 'The host forwards the answers that come by such a card.',
        source: 'reference/egress.md §1.11',
      },
    },
    claims: [],
    build(facts, [device], out) {
      const [user] = facts.egressPlaces.keysBy('card', device);
      const card = facts.hostCards.get(device);
      if (user === undefined || card === undefined) return;
      const object = `EgressIP ${user}`;
      const rows = new HostRows(out, object);
      const table = cardTable(card, settings);
      if (table === undefined) {
        out.problem(
          object,
          `the routing table of network card ${device} would be ${CARD_TABLES + card.index}, which is that of a network: no pod leaves by it; give networks others (--routing-table-id-start)`,
        );
        return;
      }
      for (const family of clusterFamilies(facts.settings)) {
        forwarding(rows.by('card-forwarding'), family, device);
        const common = { family, table };
        const ways = rows.by('card-table');
        ways.route({
          ...common,
          type: 'unreachable',
          dst: DEFAULT_ROUTE,
          metric: UNREACHABLE_METRIC,
        });
        const routes = card.routes[family] ?? [];
        for (const route of routes) ways.route({ ...common, ...route });
        if (!routes.some(({ dst }) => dst === DEFAULT_ROUTE))
          ways.route({ ...common, dst: DEFAULT_ROUTE, dev: device });
      }
    },
  });

export const egressCardPods = (settings: HostSettings): Feature<ZoneFacts> =>
  feature({
    name: 'host/egress-card-pod',
    over: ({ egressPorts }: ZoneFacts) => egressPorts,
    objects(facts, key) {
      const egressIp = facts.egressPorts.peek(...key)?.egressIp;
      return egressIp === undefined ? undefined : [`EgressIP ${egressIp}`];
    },
    rules: {
      'card-rule': {
        text: 'What a pod with an egress address on a network card sends is routed by the table of the card.',
        source: 'reference/egress.md §1.11',
      },
    },
    claims: [],
    build(facts, key, out) {
      const egressIp = facts.egressPorts.part(key, 'egressIp');
      // What leaves as an EgressService says takes no card.
      if (egressIp === undefined || facts.egressServicePorts.get(...key) !== undefined) return;
      const rows = new HostRows(out, `EgressIP ${egressIp}`, 'card-rule');
      for (const { from, card } of facts.cardExitsOf(...key)) {
        const index = facts.hostCards.part(card, 'index');
        const table = index === undefined ? undefined : cardTable({ index }, settings);
        if (table !== undefined)
          rows.rule({ family: familyOf(from), priority: RULE_EGRESS_POD, from, table });
      }
    },
  });

/** What networks of users send out by a card: the bridge leads it to the host, known by an address of the EgressIP (reference/egress.md §1.11). */
export const egressCardNetworks = (settings: HostSettings): Feature<ZoneFacts> =>
  feature({
    name: 'host/egress-card-networks',
    over: (facts: ZoneFacts) => facts.egressUses,
    objects: (_facts, [egressIp]) => [`EgressIP ${egressIp}`],
    rules: {
      'card-rule': {
        text: 'What networks of users send out by a network card is routed by the table of the card.',
        source: 'reference/egress.md §1.11',
      },
      'card-neighbour': {
        text: 'Answers go to the external bridge, where the address of the EgressIP is a neighbour.',
        source: 'reference/egress.md §1.11',
      },
    },
    claims: [],
    build(facts, [egressIp], out) {
      const dev = facts.own('gateway')?.bridge;
      if (dev === undefined) return;
      const rows = new HostRows(out, `EgressIP ${egressIp}`);
      for (const { from, card } of facts.cardExitsOfNetworks(egressIp)) {
        const index = facts.hostCards.part(card, 'index');
        const table = index === undefined ? undefined : cardTable({ index }, settings);
        if (table === undefined) continue;
        rows
          .by('card-rule')
          .rule({ family: familyOf(from), priority: RULE_EGRESS_POD, from, table });
        rows.by('card-neighbour').neighbour({ dev, address: from, mac: macOf(from) });
      }
    },
  });

/** In local gateway mode all that pods send passes the host: what is for nodes keeps its way. */
export const egressToNodes: Feature<ZoneFacts> = {
  name: 'host/egress-to-nodes',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    'to-nodes': {
      text: 'In local gateway mode what pods with an egress address on a network card send to nodes is routed as what others send.',
      source: 'reference/egress.md §1.11',
    },
  },
  claims: [],
  build(facts, _args, out) {
    if (facts.own('gateway')?.mode !== 'local') return;
    if (facts.egressPlaces.keysBy('onCard').length === 0) return;
    const rows = new HostRows(out, SETTINGS, 'to-nodes');
    for (const family of clusterFamilies(facts.settings))
      rows.rule({
        family,
        priority: RULE_EGRESS_TO_NODE,
        fwmark: MARK_TO_NODE_ADDRESS,
        table: MAIN_TABLE,
      });
    rows.sysctl('net/ipv4/conf/all/src_valid_mark', { value: '1' });
  },
};

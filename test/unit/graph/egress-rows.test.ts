/** What pictures show of how pods leave. */
import { expect, test } from 'vitest';
import { dotText } from '../../../src/graph/dot.ts';
import type { GraphRow } from '../../../src/graph/graph-row.ts';
import { mermaidText } from '../../../src/graph/mermaid.ts';
import { topologyGraph } from '../../../src/graph/topology-graph.ts';

const BLUE = new Map([['k8s.ovn.org/network', 'blue_net']]);

const row = (
  table: string,
  key: string,
  object: string,
  columns: Record<string, unknown>,
  holder?: readonly [table: string, key: string],
): GraphRow => ({
  table,
  key,
  object,
  columns,
  holders: holder === undefined ? [] : [{ table: holder[0], key: holder[1] }],
});

const ROUTER = ['Logical_Router', 'blue_router'] as const;
const SWITCH = ['Logical_Switch', 'blue_switch'] as const;
const network: readonly GraphRow[] = [
  row(...ROUTER, 'UserDefinedNetwork blue/net', { external_ids: BLUE }),
  row(...SWITCH, 'UserDefinedNetwork blue/net', { external_ids: BLUE }),
  row(
    'Logical_Switch_Port',
    'blue_web',
    'Pod blue/web',
    { addresses: '0a:58:0a:f4:00:03 10.40.0.3', external_ids: new Map([['pod', 'true']]) },
    SWITCH,
  ),
];

const boxesOf = (rows: readonly GraphRow[], exits?: ReadonlyMap<string, readonly string[]>) => {
  const { networks } = topologyGraph([...network, ...rows], exits);
  const [blue] = networks;
  return {
    boxes: (blue?.boxes ?? [])
      .filter(({ kind }) => kind === 'egress')
      .map(({ title, lines }) => [title, ...lines]),
    at: (blue?.lines ?? [])
      .filter(({ from, to }) => [from, to].some((id) => id.includes(' egress ')))
      .map(({ from, to }) => [from, to].find((id) => !id.includes(' egress '))),
  };
};
const policy = (object: string): GraphRow =>
  row('Logical_Router_Policy', object, object, {}, ROUTER);

test('without egress objects there is none', () => {
  expect(boxesOf([])).toEqual({ boxes: [], at: [] });
});

test('an EgressIP is at the router that leads its pods, with its addresses and their nodes', () => {
  const exits = new Map([['EgressIP shop', ['172.18.0.200 at n1', '172.18.0.201 at n2']]]);
  expect(boxesOf([policy('EgressIP shop'), policy('EgressIP shop')], exits)).toEqual({
    boxes: [['EgressIP', 'shop: 172.18.0.200 at n1, 172.18.0.201 at n2']],
    at: ['blue_router'],
  });
});

test('objects of one kind are in one box, and of many the number is shown', () => {
  const names = Array.from({ length: 20 }, (_, n) => `EgressIP ip${String(n).padStart(2, '0')}`);
  const { boxes } = boxesOf(names.map(policy));
  expect(boxes).toHaveLength(1);
  expect(boxes[0]?.slice(0, 2)).toEqual(['EgressIP', 'ip00']);
  expect(boxes[0]?.at(-1)).toBe('and 8 more');
});

test('an external route is there with its next hops', () => {
  const route = (key: string, nexthop: string): GraphRow =>
    row(
      'Logical_Router_Static_Route',
      key,
      'AdminPolicyBasedExternalRoute gw',
      { nexthop },
      ROUTER,
    );
  expect(boxesOf([route('a', '172.18.0.52'), route('b', '172.18.0.51')]).boxes).toEqual([
    ['AdminPolicyBasedExternalRoute', 'gw: by 172.18.0.51, by 172.18.0.52'],
  ]);
});

test('a firewall is where its pods are, with how many rules allow and deny; marks are at their switch', () => {
  const ids = new Map([['k8s.ovn.org/owner-controller', 'blue_net-network-controller']]);
  const acl = (action: string): GraphRow =>
    row('ACL', action, 'EgressFirewall blue/default', { action, external_ids: ids }, [
      'Port_Group',
      'a123',
    ]);
  const qos = row('QoS', 'q', 'EgressQoS blue/default', {}, SWITCH);
  expect(boxesOf([acl('allow'), acl('drop'), acl('drop'), qos])).toEqual({
    boxes: [
      ['EgressFirewall', 'blue/default: 1 allow, 2 deny'],
      ['EgressQoS', 'blue/default: 1 rule'],
    ],
    at: ['blue_switch', 'blue_switch'],
  });
});

test('a firewall of a network that is not here hangs nowhere', () => {
  const acl = row('ACL', 'x', 'EgressFirewall red/default', { action: 'drop' }, [
    'Port_Group',
    'a123',
  ]);
  expect(boxesOf([acl]).boxes).toEqual([]);
});

test('it is drawn in each language', () => {
  const graph = topologyGraph([...network, policy('EgressIP shop')]);
  expect(dotText(graph)).toMatch(/label="EgressIP\\lshop\\l", shape=cds/);
  expect(mermaidText(graph)).toContain('[\\"EgressIP<br/>shop"/]');
});

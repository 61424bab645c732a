import { cookieOf } from '../../../../src/node/openflow/pipeline.ts';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Wanted } from '../../../../src/node/reconcile/claims.ts';
import {
  parseFlow,
  planFlows,
  unfloodedPorts,
  type FoundBridge,
  type FoundFlow,
} from '../../../../src/node/openflow/flow-plan.ts';
import { numberedFlow } from '../../../../src/node/openflow/numbered-flow.ts';
import {
  flowKey,
  matchText,
  OPENFLOW,
  portNamed,
  withNumbers,
  type OpenFlowRow,
} from '../../../../src/node/openflow/flow-rows.ts';

interface WantedFlow {
  readonly priority: number;
  readonly match: string;
  readonly actions: string;
  readonly cookie?: string;
}

const wanted = ({
  priority,
  match,
  actions,
  cookie = '0xdeff105',
}: WantedFlow): Wanted<OpenFlowRow> => {
  const columns = { bridge: 'br-ex', table: 0, priority, cookie, match, actions };
  const row: OpenFlowRow = {
    database: OPENFLOW,
    table: 'flow',
    key: `br-ex ${flowKey(columns)}`,
    columns,
    containers: [],
    rule: 'r',
    object: 'UserDefinedNetwork blue/net',
  };
  return { row, owner: { id: '["f","net"]', order: 0 } };
};

const found = (
  lines: readonly string[],
  ports: Readonly<Record<string, string>> = {},
): FoundBridge => {
  const flows = new Map<string, FoundFlow>();
  for (const line of lines) {
    const flow = parseFlow(line);
    if (flow !== undefined) flows.set(flowKey(flow), flow);
  }
  return { flows, noFlood: new Set(), numberOf: (name) => ports[name] };
};

describe('a line of ovs-ofctl dump-flows', () => {
  test('is a flow, with its fields in the order of their names', () => {
    expect(
      parseFlow(
        ' cookie=0xdeff105, table=1, priority=100,ct_state=+est+trk,ct_mark=0x1,ip actions=check_pkt_larger(1414)->NXM_NX_REG0[0],resubmit(,11)',
      ),
    ).toEqual({
      cookie: '0xdeff105',
      table: 1,
      priority: 100,
      match: 'ct_mark=0x1,ct_state=+est+trk,ip',
      actions: 'check_pkt_larger(1414)->NXM_NX_REG0[0],resubmit(,11)',
      isSpecial: false,
    });
  });

  test('leaves out what is usual', () => {
    expect(parseFlow(' priority=0 actions=NORMAL')).toMatchObject({
      cookie: '0x0',
      table: 0,
      match: '',
    });
    expect(parseFlow(' cookie=0xdeff105, table=3, actions=LOCAL')).toMatchObject({
      table: 3,
      priority: 32_768,
      match: '',
    });
    expect(parseFlow('NXST_FLOW reply (xid=0x4):')).toBeUndefined();
  });

  test('tells timeouts from fields', () => {
    expect(
      parseFlow(
        ' cookie=0x1, table=20, hard_timeout=3, priority=100,arp,arp_op=2 actions=output:3',
      ),
    ).toMatchObject({
      isSpecial: true,
      match: 'arp,arp_op=2',
    });
  });
});

test('ports that are not flooded', () => {
  const text = [
    'OFPST_PORT_DESC reply (xid=0x2):',
    ' 1(eth0): addr:aa:55:aa:55:00:0f',
    '     config:     0',
    ' 3(patch-x): addr:9e:44:55:0b:be:1a',
    '     config:     PORT_DOWN NO_FLOOD',
    '     state:      LIVE',
    ' LOCAL(br-ex): addr:02:42:ac:12:00:03',
    '     config:     NO_FLOOD',
  ].join('\n');
  expect([...unfloodedPorts(text)]).toEqual(['3', 'LOCAL']);
});

describe('a plan of flows', () => {
  test('adds, changes and removes what is ours, and nothing else', () => {
    const plan = planFlows(
      'br-ex',
      found(
        [
          ' cookie=0xdeff105, priority=1,in_port=1 actions=drop',
          ' cookie=0xdeff105, priority=2,in_port=1 actions=drop',
          ' cookie=0xdeff105, priority=3,in_port=1 actions=drop',
          ' cookie=0x77, priority=4,in_port=1 actions=drop',
          ' priority=0 actions=NORMAL',
        ],
        { a: '1' },
      ),
      [
        wanted({ priority: 1, match: 'in_port={a}', actions: 'drop' }),
        wanted({ priority: 2, match: 'in_port={a}', actions: 'NORMAL' }),
        wanted({ priority: 5, match: 'in_port={a}', actions: 'output:{a}' }),
      ],
    );
    expect(plan.changes.map(({ command }) => command)).toEqual([
      'add table=0,priority=2,cookie=0xdeff105,in_port=1,actions=NORMAL',
      'add table=0,priority=5,cookie=0xdeff105,in_port=1,actions=output:1',
      'delete_strict cookie=0xdeff105/0x7fffffffffffffff,table=0,priority=3,in_port=1',
    ]);
  });

  test('a cookie says for which object a flow is there; one without says nothing', () => {
    const cookie = cookieOf('Service blue/web');
    const there = found([
      ` cookie=${cookie}, priority=1,in_port=1 actions=drop`,
      ' cookie=0xdeff105, priority=2,in_port=1 actions=drop',
      ' cookie=0x304, priority=3,in_port=1 actions=drop',
      ' cookie=0xdeff10500000001, priority=4,in_port=1 actions=drop',
    ]);
    const { changes } = planFlows('br-ex', there, []);
    expect(changes.map(({ marks }) => marks)).toEqual([[cookie], undefined, undefined]);
    expect(changes[0]?.command).toContain(`delete_strict cookie=${cookie}/0x7fffffffffffffff`);
  });

  test('leaves the flow of somebody else: an equal one will do, another one is a problem', () => {
    const there = found([
      ' cookie=0x77, priority=1,in_port=1 actions=drop',
      ' cookie=0x77, priority=2,in_port=1 actions=drop',
    ]);
    const { changes, problems } = planFlows('br-ex', there, [
      wanted({ priority: 1, match: 'in_port=1', actions: 'drop' }),
      wanted({ priority: 2, match: 'in_port=1', actions: 'NORMAL' }),
    ]);
    expect(changes).toEqual([]);
    expect(problems).toMatchObject([
      { kind: 'held-by-other', object: 'UserDefinedNetwork blue/net' },
    ]);
    expect(problems[0]?.message).toContain('cookie 0x77');
  });

  test("a flow that is nobody's is put there when it is missing, and never removed", () => {
    const normal = wanted({ priority: 0, match: '', actions: 'NORMAL', cookie: '0x0' });
    expect(planFlows('br-ex', found([]), [normal]).changes).toHaveLength(1);
    const there = found([' priority=0 actions=NORMAL']);
    expect(planFlows('br-ex', there, [normal]).changes).toEqual([]);
    expect(planFlows('br-ex', there, []).changes).toEqual([]);
  });

  test('a flow with a timeout is not the one that was wanted', () => {
    const there = found([' cookie=0xdeff105, hard_timeout=3, priority=1,in_port=1 actions=drop']);
    const drop = wanted({ priority: 1, match: 'in_port=1', actions: 'drop' });
    expect(planFlows('br-ex', there, [drop]).changes).toMatchObject([{ action: 'change' }]);
  });

  test('without a port there is no flow of it, and that of its last number goes', () => {
    const there = found([' cookie=0xdeff105, priority=1,in_port=7 actions=drop']);
    const drop = wanted({ priority: 1, match: 'in_port={a}', actions: 'drop' });
    const { changes, problems } = planFlows('br-ex', there, [drop]);
    expect(changes).toMatchObject([{ action: 'remove' }]);
    expect(problems).toMatchObject([{ kind: 'awaited', key: 'br-ex a' }]);
  });

  test('what a plan makes is found right (property)', () => {
    const flow = fc.record({
      priority: fc.integer({ min: 0, max: 3 }),
      match: fc.constantFrom('', 'in_port=1', 'in_port=2,ip', 'arp,in_port=2'),
      actions: fc.constantFrom('drop', 'NORMAL', 'output:1,LOCAL'),
    });
    const line = ({ priority, match, actions }: WantedFlow, cookie: string): string =>
      ` cookie=${cookie}, ${[`priority=${priority}`, match].filter((word) => word !== '').join(',')} actions=${actions}`;
    const unique = fc.uniqueArray(flow, {
      selector: ({ priority, match }) => `${priority} ${match}`,
    });
    fc.assert(
      fc.property(unique, unique, (before, after) => {
        const parsed = before.flatMap((one) => parseFlow(line(one, '0xdeff105')) ?? []);
        const state = new Map(parsed.map((one) => [flowKey(one), one]));
        const wishes = after.map(wanted);
        const numberOf = (): undefined => undefined;
        const plan = planFlows('br-ex', { flows: state, noFlood: new Set(), numberOf }, wishes);
        for (const { action, key, command } of plan.changes) {
          const name = key.slice('br-ex '.length);
          const made = parseFlow(command.replace(/^add /, ' ').replace(',actions=', ' actions='));
          if (action === 'remove') state.delete(name);
          else if (made !== undefined) state.set(name, made);
        }
        expect(
          planFlows('br-ex', { flows: state, noFlood: new Set(), numberOf }, wishes).changes,
        ).toEqual([]);
        expect(state.size).toBe(after.length);
      }),
    );
  });
});

describe('names of ports', () => {
  test('become numbers, or the flow is none', () => {
    expect(
      withNumbers('in_port={a},actions=output:{b}', (name) => ({ a: '1', b: '2' })[name]),
    ).toBe('in_port=1,actions=output:2');
    expect(withNumbers('in_port={a}', () => undefined)).toBeUndefined();
  });

  test('that could be read as anything else are refused', () => {
    for (const name of ['', 'a,b', 'a}', '{a', 'a b', ':uplink', 'a=b'])
      expect(() => portNamed(name)).toThrow("can't be the name of a port");
    expect(portNamed('patch-br-ex_n1-to-br-int')).toBe('{patch-br-ex_n1-to-br-int}');
  });

  test('do not change the order of fields', () => {
    expect(matchText(['ip', 'in_port={a}', 'dl_src=x'])).toBe('dl_src=x,in_port={a},ip');
  });
});

test('a flow is numbered once, and anew when a port has another number', () => {
  const columns = {
    bridge: 'br-ex',
    table: 0,
    priority: 9,
    cookie: '0xdeff105',
    match: `in_port=${portNamed('patch-a')}`,
    actions: 'drop',
  };
  const numbers = new Map<string, string>();
  const numbered = (): string | undefined =>
    numberedFlow(columns, (name) => numbers.get(name))?.flow.match;
  expect(numbered()).toBeUndefined();
  numbers.set('patch-a', '3');
  expect(numbered()).toBe('in_port=3');
  numbers.set('patch-b', '4');
  const before = numberedFlow(columns, (name) => numbers.get(name));
  expect(numberedFlow(columns, (name) => numbers.get(name))).toBe(before);
  numbers.set('patch-a', '33');
  expect(numbered()).toBe('in_port=33');
  numbers.delete('patch-a');
  expect(numbered()).toBeUndefined();
});

import { describe, expect, test } from 'vitest';
import { ABSENCE_MEANS } from '../../../src/api/node-lease.ts';
import type { Condition } from '../../../src/api/objects.ts';
import type { NetworkOverview, Overview } from '../../../src/views/overview.ts';
import {
  filtered,
  knownNamespaces,
  networkState,
  statusView,
} from '../../../src/views/status-view.ts';

const network = (changes: Partial<NetworkOverview> = {}): NetworkOverview => ({
  name: 'blue_net',
  object: 'UserDefinedNetwork blue/net',
  subnets: [],
  conditions: [],
  nads: ['blue/net'],
  nodes: [
    { node: 'n1', subnets: [], state: 'Programmed' },
    { node: 'n2', subnets: [], state: 'Unused' },
  ],
  pods: ['blue/web'],
  siblings: [],
  ...changes,
});
const condition = (type: string, reason: string, message = 'why'): Condition => ({
  type,
  status: 'False',
  reason,
  message,
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const on = (
  ...states: readonly (readonly [NetworkOverview['nodes'][number]['state'], string?])[]
): NetworkOverview['nodes'] =>
  states.map(([state, message], index) => ({
    node: `n${index + 1}`,
    subnets: [],
    state,
    ...(message === undefined ? {} : { message }),
  }));
const overview = (changes: Partial<Overview> = {}): Overview => ({
  networks: [network()],
  connections: [],
  nodes: ['n1', 'n2'].map((name) => ({ name, daemon: { state: 'running' } })),
  waitingPods: [],
  problems: [],
  objects: [],
  notInForce: [],
  notes: [],
  ...changes,
});
const texts = (problems: readonly { object: string; message: string }[]): string[] =>
  problems.map(({ object, message }) => `${object}: ${message}`);

describe('the state of a network', () => {
  test.each([
    ['Programmed', {}],
    ['Committed', { nodes: on(['Programmed'], ['Committed']) }],
    ['Failed', { nodes: on(['Committed'], ['Failed'], ['Stale']) }],
    ['Stale', { nodes: on(['Committed'], ['Stale']) }],
    ['Unused', { nodes: on(['Unused'], ['Unknown']) }],
    ['Unknown', { nodes: on(['Unknown']) }],
    ['Refused', { conditions: [condition('NetworkCreated', 'SyncError')], nodes: on(['Unknown']) }],
    [
      'Deleting',
      { conditions: [condition('NetworkCreated', 'NetworkAttachmentDefinitionDeleted')] },
    ],
    ['Deleting', { isDeleting: true }],
  ] as const)('%s', (state, changes) => {
    expect(networkState(network(changes))).toBe(state);
  });
});

test('a node whose daemon is gone is a problem once, though the cluster manager says so, too', () => {
  const gone = 'no heartbeat of its daemon since 2026-01-01T00:00:00Z';
  const { problems } = statusView(
    overview({
      nodes: [
        {
          name: 'n1',
          daemon: { state: 'Stale', message: `${gone}, 90 s ago by the clock of this machine` },
        },
      ],
      problems: [
        {
          object: 'Node n1',
          message: `${gone}: its networks stay as they are, and nobody keeps them true; does "heddle node" run there?`,
        },
        { object: 'Node n1', message: 'something else' },
      ],
    }),
  );
  expect(texts(problems)).toEqual([
    `Node n1: Stale: ${gone}, 90 s ago by the clock of this machine: its networks stay as they are, and nobody keeps them true; does "heddle node" run there, and do its clock and that of this machine agree?`,
    'Node n1: something else',
  ]);
});

test('a daemon that answers is not missed for heartbeats that could not be written', () => {
  const full = { object: 'ZoneStatus n1', message: "can't be written: its file system is full" };
  const { problems } = statusView(
    overview({
      nodes: [{ name: 'n1', daemon: { state: 'running' } }],
      problems: [
        {
          object: 'Node n1',
          message: `no heartbeat of its daemon since noon: ${ABSENCE_MEANS}`,
        },
        full,
      ],
    }),
  );
  expect(problems).toEqual([full]);
});

test('what three objects and more say alike is one problem', () => {
  const message = "state directory /s: can't be written";
  const { problems, verdict } = statusView(
    overview({
      problems: [
        ...['a', 'b', 'c'].map((name) => ({ object: `UserDefinedNetwork blue/${name}`, message })),
        ...['x', 'y'].map((name) => ({ object: `Pod blue/${name}`, message: 'no room' })),
      ],
    }),
  );
  expect(texts(problems)).toEqual([
    `UserDefinedNetwork blue/a and 2 others: ${message}`,
    'Pod blue/x: no room',
    'Pod blue/y: no room',
  ]);
  expect(verdict).toMatch(/, 3 problems$/);
});

test('namespaces are known by networks, pods, and what is wrong', () => {
  const found = overview({
    networks: [network({ pods: ['blue/web', 'green/db'] })],
    problems: [
      { object: 'NetworkPolicy shop/deny', message: 'x' },
      { object: 'Node n1', message: 'x' },
    ],
    waitingPods: [{ pod: 'red/job', without: ['any network'] }],
  });
  expect(knownNamespaces(found)).toEqual(['blue', 'green', 'red', 'shop']);
});

test('that nobody leads comes before all else', () => {
  const { problems } = statusView(
    overview({
      nodes: [{ name: 'n1', message: 'x', daemon: { state: 'running' } }],
      problems: [{ object: 'Lease heddle/heddle-cluster-manager', message: 'y' }],
    }),
  );
  expect(texts(problems)).toEqual(['Lease heddle/heddle-cluster-manager: y', 'Node n1: x']);
});

describe('the verdict', () => {
  test('of what is well', () => {
    expect(statusView(overview())).toEqual({
      verdict: '2 nodes, 1 network, no problems',
      isWell: true,
      problems: [],
      waiting: [],
    });
  });

  test('counts what is not', () => {
    const { verdict, isWell } = statusView(
      overview({
        networks: [
          network({ nodes: on(['Failed', 'x']) }),
          network({ name: 'b', nodes: on(['Committed']) }),
        ],
        problems: [{ object: 'Pod blue/web', message: 'y' }],
      }),
      1,
    );
    expect(verdict).toBe(
      '2 nodes, 2 networks, 2 not ready, 2 problems, 1 error in manifests, 1 waiting',
    );
    expect(isWell).toBe(false);
  });
});

test('what hits a whole node comes first, then networks, then the rest', () => {
  const { problems } = statusView(
    overview({
      networks: [network({ conditions: [condition('NetworkCreated', 'SyncError', 'no label')] })],
      nodes: [{ name: 'n1', message: 'no database', daemon: { state: 'running' } }],
      problems: [{ object: 'NetworkPolicy blue/deny', message: 'torn' }],
    }),
  );
  expect(texts(problems)).toEqual([
    'Node n1: no database',
    'UserDefinedNetwork blue/net: no label',
    'NetworkPolicy blue/deny: torn',
  ]);
});

test('one thing on several nodes is told once, with its cause, and not as a condition again', () => {
  const object = 'UserDefinedNetwork blue/net';
  const { problems, waiting } = statusView(
    overview({
      networks: [
        network({
          nodes: on(['Failed', 'no room'], ['Failed', 'no room'], ['Committed']),
          conditions: [condition('NetworkReady', 'NetworkNotInDataPlane', 'n1: Failed: no room')],
        }),
      ],
      problems: [{ object, message: 'no room' }],
    }),
  );
  expect(texts(problems)).toEqual([`${object}: Failed on n1, n2: no room`]);
  expect(texts(waiting)).toEqual([
    `${object}: Committed on n3: in the databases; ovn-northd and ovn-controller have not confirmed it yet`,
  ]);
});

test('a failed allocation is told as what failed, not as where to look', () => {
  const { problems } = statusView(
    overview({
      networks: [
        network({
          conditions: [condition('NetworkAllocationSucceeded', 'InternalError', 'check events')],
        }),
      ],
      problems: [{ object: 'Node n2', message: 'network name blue_net: no subnets available' }],
    }),
  );
  expect(texts(problems)).toEqual(['Node n2: network name blue_net: no subnets available']);
});

test('a node without its daemon is one problem, however many networks it has', () => {
  const { problems } = statusView(
    overview({
      networks: [network({ nodes: on(['Stale', 'old; it was Programmed']) })],
      nodes: [{ name: 'n1', message: 'old', daemon: { state: 'Stale', message: 'old' } }],
    }),
  );
  expect(texts(problems)).toEqual([
    'Node n1: Stale: old: its networks stay as they are, and nobody keeps them true; does "heddle node" run there, and do its clock and that of this machine agree?',
  ]);
});

test('what is pending waits, and a pod is told of once', () => {
  const { problems, waiting } = statusView(
    overview({
      problems: [{ object: 'Pod blue/web', message: 'waits for a subnet' }],
      objects: [{ object: 'Pod blue/web', state: 'Pending', nodes: ['n1'] }],
      waitingPods: [{ pod: 'blue/web', without: ['any network'] }],
    }),
  );
  expect([problems, texts(waiting)]).toEqual([[], ['Pod blue/web: waits for a subnet']]);
});

describe('filtered', () => {
  const all = overview({
    networks: [
      network(),
      network({
        name: 'red_net',
        object: 'UserDefinedNetwork red/net',
        nads: ['red/net'],
        pods: [],
      }),
    ],
    problems: [
      { object: 'Node n1', message: 'a' },
      { object: 'Node n2', message: 'error for node n2, network name red_net: full' },
      { object: 'Pod blue/web', message: 'b' },
      { object: 'Pod red/web', message: 'c' },
    ],
    objects: [{ object: 'Pod blue/web', state: 'Failed', nodes: ['n1'] }],
  });
  const shown = (filter: Parameters<typeof filtered>[1]): unknown => {
    const { networks, nodes, problems } = filtered(all, filter);
    return [
      networks.map(({ name, nodes: its }) => `${name} ${its.map(({ node }) => node).join()}`),
      nodes.map(({ name }) => name),
      problems.map(({ object }) => object),
    ];
  };
  test.each([
    [
      'nothing',
      {},
      [
        ['blue_net n1,n2', 'red_net n1,n2'],
        ['n1', 'n2'],
        ['Node n1', 'Node n2', 'Pod blue/web', 'Pod red/web'],
      ],
    ],
    [
      'a namespace',
      { namespace: 'red' },
      [['red_net n1,n2'], ['n1', 'n2'], ['Node n2', 'Pod red/web']],
    ],
    ['a network', { network: 'blue/net' }, [['blue_net n1,n2'], ['n1', 'n2'], ['Pod blue/web']]],
    ['a node', { node: 'n2' }, [['blue_net n2', 'red_net n2'], ['n2'], ['Node n2', 'Pod red/web']]],
  ] as const)('by %s', (_name, filter, expected) => {
    expect(shown(filter)).toEqual(expected);
  });
});

test('what is not in force on nodes yet waits, but for what fails there', () => {
  const nodes = ['n1', 'n2'];
  const objects = ['blue', 'red'].map((name) => `EgressFirewall ${name}/default`);
  const all = overview({
    notInForce: objects.map((object) => ({ object, nodes })),
    problems: [{ object: 'EgressFirewall red/default', message: 'too much' }],
  });
  const { waiting, problems } = statusView(all);
  expect(texts(waiting)).toEqual(['EgressFirewall blue/default: not in force yet on n1, n2']);
  expect(texts(problems)).toEqual(['EgressFirewall red/default: too much']);
  expect(filtered(all, { node: 'n2', namespace: 'blue' }).notInForce).toEqual([
    { object: 'EgressFirewall blue/default', nodes: ['n2'] },
  ]);
  expect(filtered(all, { node: 'n3' }).notInForce).toEqual([]);
});

/** EgressFirewalls and rows: what a daemon writes is what they say, and a row that does not is found with its object. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { list, text, type Row } from '../../../src/verify/rows.ts';
import { prove } from '../../../src/verify/verify.ts';
import { randomStep } from '../../support/lab/policy-cases.ts';
import { SPACES } from '../../support/lab/truth-table.ts';
import { SEED } from '../../support/run/seed.ts';
import { SeededRandom } from '../../support/run/seeded-random.ts';
import {
  faulty,
  gone,
  idOf,
  isAcl,
  without,
  type RowFault,
} from '../../support/verify/changed-rows.ts';
import { PolicedNode, type PolicedStep } from '../../support/verify/policed-node.ts';

const RANDOM_STEPS = 60;

let node: PolicedNode;
beforeAll(async () => {
  node = await PolicedNode.start();
}, 60_000);
afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

/** What the proof says of a step once rows are written. */
async function proofOf(step: PolicedStep): Promise<readonly string[]> {
  await node.take(step);
  const { verdict } = prove(await node.snapshot());
  return [
    ...verdict.violations.map(({ where, what, object }) => `${where} ${what} (${object})`),
    ...verdict.undecided,
  ];
}

function randomRules(random: SeededRandom): readonly object[] {
  const to = (): object =>
    random.pick([
      { cidrSelector: '0.0.0.0/0' },
      { cidrSelector: '10.0.0.0/8' },
      { cidrSelector: '103.0.64.0/18' },
      { cidrSelector: '172.20.0.0/16' },
      { cidrSelector: '192.0.2.0/25' },
      { cidrSelector: '192.0.2.7/32' },
      { cidrSelector: '::/0' },
      { nodeSelector: {} },
      { nodeSelector: { matchLabels: { no: 'node' } } },
      { dnsName: 'www.example.org' },
    ]);
  const port = (): object => ({
    protocol: random.pick(['TCP', 'UDP', 'SCTP']),
    port: random.pick([53, 80, 443]),
  });
  const rule = (): object => ({
    type: random.pick(['Allow', 'Deny']),
    to: to(),
    ...(random.is(0.5) ? { ports: random.list(3, port) } : {}),
  });
  return [...random.list(6, rule), ...(random.is(0.5) ? [DENY] : [])];
}

const DENY = { type: 'Deny', to: { cidrSelector: '0.0.0.0/0' } };

test(`${RANDOM_STEPS} sets of random firewalls beside random policies are in force as they are`, async () => {
  const random = new SeededRandom(SEED);
  for (let index = 0; index < RANDOM_STEPS; index += 1) {
    const rules = Object.fromEntries(
      random.list(3, () => [random.pick(SPACES), randomRules(random)] as const),
    );
    const step = { ...randomStep(random), firewalls: () => rules };
    expect(await proofOf(step), JSON.stringify(step)).toEqual([]);
  }
}, 300_000);

const MANY = Array.from({ length: 40 }, (_, i) => ({
  type: 'Allow',
  to: { cidrSelector: `198.18.${i}.0/24` },
}));

const STEP: PolicedStep = {
  firewalls: () => ({
    x: [
      {
        type: 'Allow',
        to: { cidrSelector: '192.0.2.0/24' },
        ports: [{ protocol: 'TCP', port: 443 }],
      },
      { type: 'Deny', to: { nodeSelector: {} } },
      ...MANY,
      { type: 'Allow', to: { dnsName: 'www.example.org' } },
      DENY,
    ],
  }),
};

interface Fault extends RowFault {
  readonly found: readonly string[];
}

const OF_X = 'EgressFirewall primary-x/default';
const idAt = (index: number | string): RegExp => new RegExp(`:EgressFirewall:primary-x:${index}$`);
const [isWeb, isNodes, isLast] = [
  isAcl(idAt(0), 'allow'),
  isAcl(idAt(1), 'drop'),
  isAcl(idAt(43), 'drop'),
];
const isGroup = (row: Row): boolean => /^cluster_udn_p-.*:Namespace:primary-x$/.test(idOf(row));

const FAULTS: readonly (readonly [string, Fault])[] = [
  [
    'a rule that allows has no row',
    { table: 'ACL', isAt: isWeb, change: gone, found: [`${OF_X}: shut`] },
  ],
  [
    'a rule that denies has no row',
    { table: 'ACL', isAt: isLast, change: gone, found: [`${OF_X}: open`] },
  ],
  [
    'a row is about more than its rule',
    {
      table: 'ACL',
      isAt: isWeb,
      change: (row) => ({
        ...row,
        match: text(row, 'match').replace('tcp.dst == 443', 'tcp.dst >= 443'),
      }),
      found: [`${OF_X}: open`],
    },
  ],
  [
    'a row is behind that of a later rule',
    {
      table: 'ACL',
      isAt: isWeb,
      change: (row) => ({ ...row, priority: 9000 }),
      found: [`${OF_X}: shut`],
    },
  ],
  [
    'a row lets pass what its rule denies',
    {
      table: 'ACL',
      isAt: isNodes,
      change: (row) => ({ ...row, action: 'allow' }),
      found: [`${OF_X}: open`],
    },
  ],
  [
    'a row drops what its rule allows',
    {
      table: 'ACL',
      isAt: isWeb,
      change: (row) => ({ ...row, action: 'drop' }),
      found: [`${OF_X}: shut`],
    },
  ],
  [
    'a row is in a tier that is asked before, where nobody lets pass',
    {
      table: 'ACL',
      isAt: isLast,
      change: (row) => ({ ...row, tier: 0 }),
      found: [`${OF_X}: shut`],
    },
  ],
  [
    'a row is about the way into the switch, where nobody has been asked for services yet',
    {
      table: 'ACL',
      isAt: isLast,
      change: (row) => ({ ...row, direction: 'from-lport' }),
      found: [`${OF_X}: open`],
    },
  ],
  [
    'a block is missing from a set',
    {
      table: 'Address_Set',
      isAt: (row) => list(row, 'addresses').includes('198.18.7.0/24'),
      change: without('addresses'),
      found: ['EgressFirewall default-x/default: shut', `${OF_X}: shut`],
    },
  ],
  [
    'a block is in a set besides',
    {
      table: 'Address_Set',
      isAt: (row) => list(row, 'addresses').includes('198.18.7.0/24'),
      change: (row) => ({
        ...row,
        addresses: ['set', [...list(row, 'addresses'), '203.0.113.0/24']],
      }),
      found: ['EgressFirewall default-x/default: open', `${OF_X}: open`],
    },
  ],
  [
    'ports are missing from the group of the namespace',
    { table: 'Port_Group', isAt: isGroup, change: without('ports', 99), found: [`${OF_X}: open`] },
  ],
];

test.each(FAULTS)('%s: it is found with its object', async (_, { found, ...fault }) => {
  await node.take(STEP);
  const right = await node.snapshot();
  expect(prove(right).verdict).toMatchObject({ violations: [], undecided: [] });
  const { violations } = prove(faulty(right, fault)).verdict;
  expect(
    violations
      .filter(({ check }) => check === 'firewalls')
      .map(({ object, what }) => `${object}: ${/, though /.test(what) ? 'shut' : 'open'}`)
      .toSorted(),
    violations.map(({ what }) => what).join('\n'),
  ).toEqual(found);
});

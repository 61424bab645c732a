/** Policies and rows: what a daemon writes is what they say, and a row that does not is found with its object. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { prove } from '../../../src/verify/verify.ts';
import { list, rowsOf, text, type Row, type Tables } from '../../../src/verify/rows.ts';
import {
  faulty,
  gone,
  idOf,
  isAcl,
  without,
  type RowFault,
} from '../../support/verify/changed-rows.ts';
import {
  egress,
  ingress,
  POLICY_CASES,
  port,
  randomStep,
  space,
} from '../../support/lab/policy-cases.ts';
import { ALL, of } from '../../support/lab/policy-selectors.ts';
import { SEED } from '../../support/run/seed.ts';
import { SeededRandom } from '../../support/run/seeded-random.ts';
import { PolicedNode } from '../../support/verify/policed-node.ts';

const RANDOM_STEPS = 60;

let node: PolicedNode;
beforeAll(async () => {
  node = await PolicedNode.start();
}, 60_000);
afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

/** What the proof says of the policies of a step once rows are written. */
async function proofOf(step: Parameters<PolicedNode['take']>[0]): Promise<readonly string[]> {
  await node.take(step);
  const { verdict } = prove(await node.snapshot());
  return [
    ...verdict.violations.map(({ where, what, object }) => `${where} ${what} (${object})`),
    ...verdict.undecided,
  ];
}

test.each(POLICY_CASES)('%s: rows are what it says', async (_, ...steps) => {
  for (const step of steps) expect(await proofOf(step)).toEqual([]);
});

test(`${RANDOM_STEPS} sets of random policies are in force as they are`, async () => {
  const random = new SeededRandom(SEED);
  for (let index = 0; index < RANDOM_STEPS; index += 1) {
    const step = randomStep(random);
    expect(await proofOf(step), JSON.stringify(step)).toEqual([]);
  }
}, 300_000);

const FRIENDS: Parameters<PolicedNode['take']>[0] = {
  policies: {
    x: {
      deny: ingress(ALL),
      web: ingress(of('a'), { from: [{ podSelector: of('b', 'c') }], ports: [port(80)] }),
      out: egress(of('b'), { to: [space('y')], ports: [port(81)] }),
    },
  },
  cluster: (world) => ({
    guard: {
      tier: 'Admin',
      priority: 10,
      subject: { namespaces: { matchLabels: { 'kubernetes.io/metadata.name': world.name('y') } } },
      ingress: [
        { action: 'Deny', from: [{ namespaces: { matchLabels: { ns: 'z' } } }] },
        { action: 'Accept', from: [{ namespaces: { matchLabels: { ns: 'x' } } }] },
      ],
    },
  }),
};

interface Fault extends RowFault {
  /** Objects that are named, and what is found of them. */
  readonly found: readonly string[];
}

const isAllow = isAcl(/^cluster_udn_p-.*:NetworkPolicy:primary-x:web:Ingress:/, 'allow-related');
const isDefaultDeny = isAcl(
  /^cluster_udn_p-.*:NetpolNamespace:primary-x:Ingress:defaultDeny/,
  'drop',
);
const isGuard = isAcl(/^cluster_udn_p-.*:ClusterNetworkPolicy:primary-guard:Ingress:0:/, 'drop');
const isGroup =
  (id: RegExp) =>
  (row: Row): boolean =>
    id.test(idOf(row));
/** The set that the policy's rule names. */
const isPeers = (row: Row, northbound: Tables): boolean =>
  rowsOf(northbound, 'ACL')
    .filter(isAllow)
    .some((acl) => text(acl, 'match').includes(`$${text(row, 'name')}`));
const FAULTS: readonly (readonly [string, Fault])[] = [
  [
    'an ACL that lets in is gone',
    { table: 'ACL', isAt: isAllow, change: gone, found: ['NetworkPolicy primary-x/web: shut'] },
  ],
  [
    'an ACL that closes is gone',
    {
      table: 'ACL',
      isAt: isDefaultDeny,
      change: gone,
      found: ['NetworkPolicy primary-x/deny: open'],
    },
  ],
  [
    'an ACL of administrators that denies is gone',
    {
      table: 'ACL',
      isAt: isGuard,
      change: gone,
      found: ['ClusterNetworkPolicy primary-guard: open'],
    },
  ],
  [
    'a match is wider',
    {
      table: 'ACL',
      isAt: isAllow,
      change: (row) => ({
        ...row,
        match: text(row, 'match').replace('tcp.dst==80', '80<=tcp.dst<=81'),
      }),
      found: ['NetworkPolicy primary-x/web: open'],
    },
  ],
  [
    'a match is narrower',
    {
      table: 'ACL',
      isAt: isAllow,
      change: (row) => ({
        ...row,
        match: text(row, 'match').replace('tcp.dst==80', 'tcp.dst==80 && tcp.src==1'),
      }),
      found: ['NetworkPolicy primary-x/web: shut'],
    },
  ],
  [
    'a priority is below that of what closes',
    {
      table: 'ACL',
      isAt: isAllow,
      change: (row) => ({ ...row, priority: 900 }),
      found: ['NetworkPolicy primary-x/web: shut'],
    },
  ],
  [
    'a tier is behind that of what closes',
    {
      table: 'ACL',
      isAt: isAllow,
      change: (row) => ({ ...row, tier: 3 }),
      found: ['NetworkPolicy primary-x/web: shut'],
    },
  ],
  [
    'what closes lets pass',
    {
      table: 'ACL',
      isAt: isDefaultDeny,
      change: (row) => ({ ...row, action: 'allow' }),
      found: ['NetworkPolicy primary-x/deny: open'],
    },
  ],
  [
    'an address is missing from a set',
    {
      table: 'Address_Set',
      isAt: isPeers,
      change: without('addresses'),
      found: ['NetworkPolicy primary-x/web: shut'],
    },
  ],
  [
    'an address is in a set besides',
    {
      table: 'Address_Set',
      isAt: isPeers,
      change: (row) => ({ ...row, addresses: ['set', [...list(row, 'addresses'), '103.0.0.9']] }),
      found: ['NetworkPolicy primary-x/web: open'],
    },
  ],
  [
    'ports are missing from the group of a policy',
    {
      table: 'Port_Group',
      isAt: isGroup(/^cluster_udn_p-.*:NetworkPolicy:primary-x:web$/),
      change: without('ports', 99),
      found: ['NetworkPolicy primary-x/web: shut'],
    },
  ],
  [
    'ports are missing from the group of pods that are closed',
    {
      table: 'Port_Group',
      isAt: isGroup(/^cluster_udn_p-.*:NetpolNamespace:primary-x:Ingress$/),
      change: without('ports', 99),
      found: ['NetworkPolicy primary-x/deny: open'],
    },
  ],
  [
    'ports are missing from the group of a policy of administrators',
    {
      table: 'Port_Group',
      isAt: isGroup(/^cluster_udn_p-.*:ClusterNetworkPolicy:primary-guard$/),
      change: without('ports', 99),
      found: ['ClusterNetworkPolicy primary-guard: open'],
    },
  ],
];

test.each(FAULTS)('%s: it is found with its object', async (_, { found, ...fault }) => {
  await node.take(FRIENDS);
  const right = await node.snapshot();
  expect(prove(right).verdict).toMatchObject({ violations: [], undecided: [] });
  const { violations } = prove(faulty(right, fault)).verdict;
  expect(
    violations
      .filter(({ check }) => check === 'policies')
      .map(({ object, what }) => `${object}: ${/, though /.test(what) ? 'shut' : 'open'}`),
    violations.map(({ what }) => what).join('\n'),
  ).toEqual(found);
});

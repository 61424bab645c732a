/** What the proof says that ACLs let pass is what ovn-northd makes of the same rows, as ovn-trace tells. */
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OvsdbClient } from 'ovsdb-client-ts';
import { northboundTables } from '../../../src/zone/monitored-columns.ts';
import {
  box,
  DESTINATION,
  intersection,
  PORT,
  PROTOCOL,
  SOURCE,
  type HeaderSet,
} from '../../../src/verify/headers/boxes.ts';
import { isDecided, legsOf, podSwitchOf } from '../../../src/verify/headers/legs.ts';
import { addressesNamed } from '../../../src/verify/headers/matched.ts';
import { ALL_ADDRESSES, between } from '../../../src/verify/headers/ranges.ts';
import { perhapsOf, type Direction } from '../../../src/verify/headers/stages.ts';
import type { Datapath } from '../../../src/verify/intent/datapaths.ts';
import type { VerifiedPort } from '../../../src/verify/intent/pods.ts';
import { ReadRows } from '../../../src/verify/northbound-rows.ts';
import { readTables } from '../../../src/verify/read/databases.ts';
import { list, rowsOf, text, uuidOf, type Tables } from '../../../src/verify/rows.ts';
import { readOvnTrace } from '../../../src/verify/witnesses/traces.ts';
import {
  aclsWith,
  addressOf,
  packet,
  SETS,
  setOf,
  type Packet,
  type RandomAcl,
} from '../../support/verify/random-acls.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';

const LASTS = [1, 2, 3, 4, 5, 6, 7];
const WORLDS = 30;
const PACKETS = 6;
const SEED = 20;
const MAC = { from: '0a:00:00:00:00:01', router: '0a:00:00:00:00:fe', to: '0a:00:00:00:01:01' };

let ovn: OvnZone;
let client: OvsdbClient;

beforeAll(async () => {
  ovn = await OvnZone.start();
  client = new OvsdbClient({
    remotes: ovn.northbound.remote,
    database: 'OVN_Northbound',
    tables: northboundTables,
  }).start();
  await client.ready(AbortSignal.timeout(30_000));
  const lasting = [
    'lr-add r',
    `lrp-add r r-s ${MAC.router} 10.0.0.254/24`,
    `lrp-add r r-d ${MAC.router} 10.0.1.254/24`,
    'ls-add s',
    'ls-add d',
    'lsp-add s s-r',
    'lsp-set-type s-r router',
    'lsp-set-addresses s-r router',
    'lsp-set-options s-r router-port=r-s',
    'lsp-add d d-r',
    'lsp-set-type d-r router',
    'lsp-set-addresses d-r router',
    'lsp-set-options d-r router-port=r-d',
    'lsp-add s from',
    'lsp-add d to',
    `lsp-set-addresses from "${MAC.from} ${LASTS.map((one) => addressOf('source', one)).join(' ')}"`,
    `lsp-set-addresses to "${MAC.to} ${LASTS.map((one) => addressOf('destination', one)).join(' ')}"`,
    'lsp-add s other',
    'pg-add mine from to',
    'pg-add theirs other',
    ...Object.keys(SETS).map((name) => `create Address_Set name=${name}`),
  ];
  for (const line of lasting) await ovn.nbctl(...argumentsOf(line));
  for (const name of Object.keys(SETS))
    await ovn.nbctl(
      'set',
      'Address_Set',
      name,
      `addresses=${JSON.stringify(setOf(name)).replaceAll(/[[\]]/g, '')}`,
    );
}, 60_000);
afterAll(async () => {
  await client[Symbol.asyncDispose]();
  await ovn[Symbol.asyncDispose]();
});

/** Words of a line; what is in quotes is one. */
const argumentsOf = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');

/** Puts ACLs on both switches, in place of those of the world before; half of them by the group of both ports. */
async function write(acls: readonly RandomAcl[]): Promise<void> {
  const command = [
    '--wait=sb',
    'clear',
    'Logical_Switch',
    's',
    'acls',
    '--',
    'clear',
    'Logical_Switch',
    'd',
    'acls',
  ];
  command.push('--', 'clear', 'Port_Group', 'mine', 'acls');
  for (const [index, acl] of acls.entries()) {
    const { term, direction, tier, priority, action, isLate } = acl;
    const options = isLate && direction === 'from-lport' ? ['options:apply-after-lb=true'] : [];
    const columns = [
      `direction=${direction}`,
      `tier=${tier}`,
      `priority=${priority}`,
      `action=${action}`,
    ];
    command.push(
      '--',
      `--id=@a${index}`,
      'create',
      'ACL',
      ...columns,
      `match=${JSON.stringify(term.text)}`,
      ...options,
    );
    const at =
      index % 2 === 0
        ? [['Port_Group', 'mine']]
        : [
            ['Logical_Switch', 's'],
            ['Logical_Switch', 'd'],
          ];
    for (const holder of at) command.push('--', 'add', ...holder, 'acls', `@a${index}`);
  }
  await ovn.nbctl(...command);
}

async function rows(): Promise<Tables> {
  const { replica } = client;
  return await readTables(
    'OVN_Northbound',
    client,
    (table, column) =>
      replica.hasTable(table) && (column === undefined || replica.hasColumn(table, column)),
    AbortSignal.timeout(30_000),
  );
}

/** What begins and passes at the port of a switch. */
function leg(tables: Tables, name: string, port: string, direction: Direction): HeaderSet {
  const northbound = new ReadRows(tables);
  const row = rowsOf(tables, 'Logical_Switch').find((one) => text(one, 'name') === name) ?? {};
  const ports = list(row, 'ports').flatMap(
    (uuid) => northbound.find('Logical_Switch_Port', uuid) ?? [],
  );
  const datapath = {
    uuid: uuidOf(row),
    table: 'Logical_Switch',
    name,
    row,
    ports,
    owner: { kind: 'network', part: 'pods' },
  } as unknown as Datapath;
  const of = name === 's' ? 'source' : 'destination';
  const pod = {
    name: port,
    addresses: LASTS.map((one) => addressOf(of, one)),
  } as unknown as VerifiedPort;
  const home = podSwitchOf(
    'any',
    northbound,
    { ofNetwork: () => [datapath] },
    { ports: new Map([[port, pod]]) },
  );
  const [only, ...more] =
    home === undefined ? [] : legsOf(home, direction, ALL_ADDRESSES, northbound);
  expect(more).toEqual([]);
  if (only === undefined) return expect.unreachable(`switch ${name} has no port ${port}`);
  expect(isDecided(only.begins)).toBe(true);
  return perhapsOf(only.begins);
}

const isIn = ({ source, destination, protocol, port }: Packet, set: HeaderSet): boolean =>
  intersection(set, [
    box({
      [SOURCE]: addressesNamed([addressOf('source', source)]),
      [DESTINATION]: addressesNamed([addressOf('destination', destination)]),
      [PROTOCOL]: between(protocol, protocol),
      ...(protocol === 1 ? {} : { [PORT]: between(port, port) }),
    }),
  ]).length > 0;

/**
 * Whether a packet that begins a connection comes out at the other port. Each switch is asked by itself: ovn-trace carries the state of a connection on to the
 * next one, where ovn-controller clears it.
 */
async function comesOut(packet: Packet): Promise<boolean> {
  const leaves = await getsTo('s-r', 's', 'from', MAC.from, MAC.router, packet);
  return leaves && (await getsTo('to', 'd', 'd-r', MAC.router, MAC.to, packet));
}

async function getsTo(
  out: string,
  at: string,
  inport: string,
  sender: string,
  receiver: string,
  { source, destination, protocol, port }: Packet,
): Promise<boolean> {
  const name = { 6: 'tcp', 17: 'udp', 1: 'icmp4' }[protocol] ?? '';
  const flow = [
    `inport == "${inport}"`,
    `eth.src == ${sender}`,
    `eth.dst == ${receiver}`,
    `ip4.src == ${addressOf('source', source)}`,
    `ip4.dst == ${addressOf('destination', destination)}`,
    'ip.ttl == 64',
    name,
    ...(protocol === 1 ? [] : [`${name}.src == 30000`, `${name}.dst == ${port}`]),
  ].join(' && ');
  // At each of its looks at connection tracking the connection is new.
  const states = Array.from({ length: 8 }, () => '--ct=new');
  const { outputs } = readOvnTrace(await ovn.traceText(at, flow, ...states));
  return outputs.some((one) => one.port === out);
}

/** Packets that pass and those that don't, where sets and ovn-trace agree, of the worlds from `first` on. */
async function agreed(
  seed: number,
  count: number,
  first = 0,
): Promise<{ readonly passed: number; readonly stopped: number }> {
  const acls = aclsWith(['allow', 'allow-related', 'allow-stateless', 'drop', 'reject', 'pass']);
  const worlds = fc.sample(acls, { numRuns: count, seed });
  const packets = fc.sample(packet, { numRuns: count * PACKETS, seed });
  const seen = { passed: 0, stopped: 0 };
  for (const [index, world] of worlds.entries()) {
    if (index < first) continue;
    await write(world);
    const tables = await rows();
    const [leaves, enters] = [
      leg(tables, 's', 'from', 'from-lport'),
      leg(tables, 'd', 'to', 'to-lport'),
    ];
    for (const one of packets.slice(index * PACKETS, (index + 1) * PACKETS)) {
      const wanted = isIn(one, leaves) && isIn(one, enters);
      seen[wanted ? 'passed' : 'stopped'] += 1;
      expect(
        await comesOut(one),
        JSON.stringify({
          world: world.map(({ term, ...rest }) => ({ ...rest, match: term.text })),
          one,
        }),
      ).toBe(wanted);
    }
  }
  return seen;
}

test(`of ${WORLDS} worlds of random ACLs ${PACKETS} packets each pass as the sets say`, async () => {
  const { passed, stopped } = await agreed(SEED, WORLDS);
  expect(passed).toBeGreaterThan(10);
  expect(stopped).toBeGreaterThan(10);
}, 300_000);

test.each([
  // `d` is without the row that says `inport == @theirs`, a group that has no port there: the next one rejects.
  ['a row that names a group without a port on the switch', 1003, 0],
  // Tracked by the first switch, and not by the second one, where `!ct.est` is of tracked packets alone.
  ['a row about the state of what an allow-stateless keeps from being tracked', 5007, 22],
  ['the same before the row that lets it pass', 5011, 9],
])(
  '%s says what it says to OVN',
  async (_, seed, index) => {
    const { passed, stopped } = await agreed(seed, index + 1, index);
    expect(passed + stopped).toBe(PACKETS);
  },
  60_000,
);

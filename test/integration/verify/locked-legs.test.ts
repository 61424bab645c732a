/** The leg on the default network of pods with a primary one, with the rows of a daemon: right as they are, and what lets more pass is found. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  list,
  member,
  rowsOf,
  text,
  uuidOf,
  type Row,
  type Tables,
} from '../../../src/verify/rows.ts';
import type { Snapshot } from '../../../src/verify/snapshot.ts';
import { prove } from '../../../src/verify/verify.ts';
import { PolicedNode } from '../../support/verify/policed-node.ts';

let node: PolicedNode;
let right: Snapshot;
beforeAll(async () => {
  node = await PolicedNode.start();
  right = await node.snapshot();
}, 60_000);
afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

const found = (northbound: Tables): readonly string[] =>
  prove({ ...right, northbound })
    .verdict.violations.filter(({ what }) => /no port that the pod opened/.test(what))
    .map(({ object, what }) => `${object}: ${what}`);

test('with the rows of a daemon nothing is found', () => {
  expect(prove(right).verdict).toMatchObject({ violations: [], undecided: [] });
});

/** Rows of a table, changed where they are meant. */
function changed(table: string, isAt: (row: Row) => boolean, change: (row: Row) => Row): Tables {
  const rows = rowsOf(right.northbound, table);
  expect(rows.some(isAt)).toBe(true);
  return new Map([
    ...right.northbound,
    [table, rows.map((row) => (isAt(row) ? change(row) : row))] as const,
  ]);
}

const isIsolation =
  (name: string, direction: string) =>
  (row: Row): boolean =>
    (member(row, 'external_ids', 'k8s.ovn.org/id') ?? '').includes(`:UDNIsolation:${name}:`) &&
    row['direction'] === direction;

/** An ACL more on the switch of the default network. */
function withAcl(columns: Row): Tables {
  const acl = { tier: 0, external_ids: ['map', []], options: ['map', []], ...columns };
  const northbound = changed(
    'Logical_Switch',
    ({ name }) => name === right.node,
    (row) => ({
      ...row,
      acls: ['set', [...list(row, 'acls'), 'more'].map((uuid) => ['uuid', uuid])],
    }),
  );
  return new Map([
    ...northbound,
    ['ACL', [...rowsOf(northbound, 'ACL'), { ...acl, _uuid: ['uuid', 'more'] }]] as const,
  ]);
}

test.each<readonly [string, () => Tables, RegExp]>([
  [
    'the row that drops what comes in is gone',
    () =>
      changed('ACL', isIsolation('DenyPrimaryUDN', 'to-lport'), (row) => ({ ...row, match: '0' })),
    /^Pod primary-.*: (has no ACL that drops|lets pass) what Pod .* gets from the default one, as /,
  ],
  [
    'the row that drops what goes out asks for TCP',
    () =>
      changed('ACL', isIsolation('DenyPrimaryUDN', 'from-lport'), (row) => ({
        ...row,
        match: `${text(row, 'match')} && tcp`,
      })),
    /^Pod primary-.*: has no ACL that drops what Pod .* sends to the default one, as .* (udp|sctp|icmp4|protocol)/,
  ],
  [
    'that of probes lets in another address',
    () =>
      changed('ACL', isIsolation('AllowHostPrimaryUDN', 'to-lport'), (row) => ({
        ...row,
        match: text(row, 'match').replace(/ip4\.src==[\d.]+/, 'ip4.src=={10.0.0.2, 10.0.0.9}'),
      })),
    /lets pass what Pod primary-.* gets from the default one, as 10\.0\.0\.9 > /,
  ],
  [
    'that of open ports opens another one',
    () =>
      changed('ACL', isIsolation('OpenPort-primary-x/a', 'to-lport'), (row) => ({
        ...row,
        match: text(row, 'match').replace('tcp.dst == 80', 'tcp.dst == 81'),
      })),
    /^Pod primary-x\/a: lets pass what Pod primary-x\/a, .* tcp 81: /,
  ],
  [
    'a pod is not in the group that is closed',
    () => {
      const port = rowsOf(right.northbound, 'Logical_Switch_Port').find(
        ({ name }) => name === 'primary-y_b',
      );
      return changed(
        'Port_Group',
        (row) => list(row, 'ports').includes(uuidOf(port ?? {})),
        (row) => ({
          ...row,
          ports: [
            'set',
            list(row, 'ports')
              .filter((uuid) => uuid !== uuidOf(port ?? {}))
              .map((uuid) => ['uuid', uuid]),
          ],
        }),
      );
    },
    /^Pod primary-y\/b: has no ACL that drops what /,
  ],
  [
    'a row of nobody lets out before all others',
    () =>
      withAcl({
        direction: 'from-lport',
        priority: 2000,
        action: 'allow',
        match: 'ip4.dst == 10.0.64.5 && udp.dst == 53',
      }),
    /^Pod primary-.*: lets pass what Pod .* sends to the default one, as .* > 10\.0\.64\.5 udp 53: /,
  ],
])('%s: it is found with a pod and a packet', (_, faulty, wanted) => {
  const all = found(faulty());
  expect(all.length).toBeGreaterThan(0);
  expect(all[0]).toMatch(wanted);
});

test('a row of which can not be told what it lets pass leaves the verdict open', () => {
  const faulty = withAcl({
    direction: 'to-lport',
    priority: 2000,
    action: 'allow',
    match: 'pkt.mark == 7',
  });
  const { undecided } = prove({ ...right, northbound: faulty }).verdict;
  expect(undecided).toContainEqual(
    expect.stringContaining('whether pods with a primary network are kept from the default one'),
  );
});

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { OBJECT_SETS, PLAIN, type ReferenceRow } from '../../support/zone/egress-reference.ts';
import { RowReference, type DesiredRow } from '../../../src/desired/rows.ts';
import { builtUnits } from '../../support/zone/built-rows.ts';
import { plain } from '../../support/zone/row-text.ts';
import { factsOf, type Zone } from '../../support/zone/zones.ts';

interface Difference {
  /** Beginning of the row of docs/differences.md that says so. */
  readonly docs: string;
  /** Rows of ours that ovn-kubernetes has not, and the other way round. */
  readonly ours?: RegExp;
  readonly theirs?: RegExp;
  /** What a row of theirs says instead. */
  readonly instead?: readonly [theirs: RegExp, ours: string];
}
const DIFFERENCES: readonly Difference[] = [
  {
    docs: '| policies 98, 97, 94, 4 and 3 of primary networks',
    ours: /^Logical_Router_Policy action=allow .*:EgressIP:98:eip1_/,
  },
  {
    docs: '| `pkt_mark` of policies 100 on networks of users',
    instead: [/(:EgressIP:100:.*) options=\{pkt_mark=50000\}/, '$1'],
  },
  {
    docs: '| policy 100 of pods of other nodes on Layer2 networks',
    theirs: /:EgressIP:100:eip1_yellow\/far:/,
  },
  { docs: '| `meter` of ACLs', instead: [/^(ACL .*) meter=acl-logging/, '$1'] },
  {
    docs: '| addresses of nodes that a policy of administrators or an EgressFirewall selects',
    instead: [
      /\(ip4\.dst == 172\.18\.0\.4\)(.*Namespace:(\w+)\))/,
      '(ip4.dst == $2 || ip4.dst == 172.18.0.4)$1',
    ],
  },
  { docs: '| `Static_MAC_Binding` of ports `trtor-GR_…`', ours: /^Static_MAC_Binding .*trtor-GR_/ },
  {
    docs: "| policy 95 of the default network's gateway router",
    ours: /^Logical_Router_Policy action=allow .*:EgressIP:95:eip1_[^:]+:ip4:default /,
  },
  {
    docs: '| `pass` ACLs with priority 0',
    ours: /^ACL action=pass .*:EgressFirewall:\w+:pass-[01] /,
  },
  {
    docs: '| with names in EgressFirewalls',
    ours: /^(ACL .*:EgressFirewall:(web|blue):dns |Address_Set .*:DnsService:dns:)/,
  },
  {
    docs: '| members of address sets `EgressFirewallDNS`',
    instead: [/^(Address_Set) addresses=\S+( .*:EgressFirewallDNS:)/, '$1$2'],
  },
  {
    docs: '| QoS rows and address sets of an EgressQoS',
    instead: [/(:EgressQoS:.*?) < .*( < Logical_Switch ovn-worker qos_rules)/, '$1$2'],
  },
  {
    docs: '| policies 101 with packet mark 1011, QoS 103',
    instead: [/(EgressSVC=.*nexthops=\[10\.244\.0\.2\])/, '$1 options={pkt_mark=1011}'],
    ours: /^QoS .*:EgressService:103:/,
  },
  {
    docs: '| `options` of policy 501',
    instead: [/(match=inport.*nexthops=\[\S+\])( priority=501)/, '$1 options={pkt_mark=1010}$2'],
  },
];

const valueText = (value: unknown): string => {
  const one = plain(value as never) as unknown;
  if (one instanceof RowReference) return `${one.table} ${one.key.split(' ').at(-1)}`;
  if (Array.isArray(one)) return `[${one.map(String).toSorted().join(' ')}]`;
  if (typeof one !== 'object' || one === null) return String(one);
  const members = one instanceof Map ? [...one] : Object.entries(one);
  return `{${members
    .map(([key, member]) => `${key}=${member}`)
    .toSorted()
    .join(' ')}}`;
};
const textOf = (table: string, columns: object, holders: readonly string[]): string =>
  [
    table,
    ...Object.entries(columns)
      .filter(([, value]) => value !== undefined && !(value instanceof Map && value.size === 0))
      .map(([name, value]) => `${name}=${valueText(value)}`)
      .filter((text) => !/=(\{\}|\[\])$/.test(text))
      .toSorted(),
    ...holders.map((holder) => `< ${holder}`).toSorted(),
  ].join(' ');

const theirTexts = (rows: readonly ReferenceRow[]): string[] =>
  rows
    .map(({ table, columns, in: holders }) =>
      textOf(
        table,
        columns,
        holders.map((words) => words.join(' ')),
      ),
    )
    .toSorted();

/** Rows of a zone, and those of them that are of egress features. */
function ourTexts(zone: Zone): { readonly all: number; readonly egress: readonly string[] } {
  const units = builtUnits(factsOf(zone));
  const all = units.flatMap(({ rows }) => rows);
  const names = new Map<string, string>();
  for (const { table, columns } of all)
    if (table === 'Address_Set' || table === 'Port_Group')
      names.set(
        columns['name'] as string,
        `(${(columns['external_ids'] as Record<string, string>)['k8s.ovn.org/id']})`,
      );
  const withIds = (text: string): string =>
    text
      .replaceAll(/([$@])(a[\da-f]{32})\b/g, (whole, sign: string, name: string) =>
        names.has(name) ? `${sign}${names.get(name)}` : whole,
      )
      .replaceAll(/Port_Group (a[\da-f]{32}) /g, (whole, name: string) =>
        names.has(name) ? `Port_Group @${names.get(name)} ` : whole,
      )
      .replaceAll(/ name=(a[\da-f]{32})\b/g, (whole, name: string) =>
        names.has(name) ? ` name=$${names.get(name)}` : whole,
      );
  const rowText = ({ table, columns, containers }: DesiredRow): string =>
    withIds(
      textOf(
        table,
        columns,
        containers.map((one) => `${one.table} ${one.key} ${one.column}`),
      ),
    );
  return {
    all: all.length,
    egress: units
      .filter(({ unit }) => unit.startsWith('egress/'))
      .flatMap(({ rows }) => rows.map(rowText))
      .toSorted(),
  };
}

/** What networks have of egress whoever leaves: it is compared in worked-example.test.ts. */
const ALWAYS = ourTexts(PLAIN).egress;
/** The host's ports on networks. */
const INSIDE: Readonly<Record<string, string>> = { blue: '103.103.1.2', web: '10.244.1.2' };

const compared = Object.entries(OBJECT_SETS).map(([name, { zone, rows }]) => {
  const theirs = theirTexts(rows);
  const { all, egress } = ourTexts(zone);
  const ours = egress.filter((text) => theirs.includes(text) || !ALWAYS.includes(text));
  return { name, all, theirs, ours };
});

describe('rows of egress objects, beside those of ovn-kubernetes', () => {
  test.each(compared)('$name: differ as docs/differences.md says', ({ theirs, ours }) => {
    const rewritten = theirs
      .filter((text) => !DIFFERENCES.some((one) => one.theirs?.test(text)))
      .map((text) =>
        DIFFERENCES.reduce(
          (was, { instead }) => (instead ? was.replace(...instead) : was),
          text,
        ).replace(/== (blue|web) /, (_whole, of: string) => `== ${INSIDE[of]} `),
      );
    const common = ours.filter((text) => !DIFFERENCES.some((one) => one.ours?.test(text)));
    expect(common).toEqual(rewritten.toSorted());
  });

  test('each difference is there, and told of', () => {
    const docs = readFileSync('docs/differences.md', 'utf8').split('\n');
    const has = (side: 'theirs' | 'ours', text: RegExp | undefined): boolean =>
      text === undefined || compared.some((one) => one[side].some((row) => text.test(row)));
    for (const { docs: told, theirs, ours, instead } of DIFFERENCES) {
      expect(
        docs.filter((line) => line.startsWith(told)),
        told,
      ).toHaveLength(1);
      expect([has('theirs', theirs), has('ours', ours), has('theirs', instead?.[0])], told).toEqual(
        [true, true, true],
      );
    }
  });

  test('of the rows of a zone with one of these objects at least 97 in 100 are the same, but for the meter of ACLs', () => {
    for (const { name, all, theirs, ours } of compared) {
      const others = theirs.filter(
        (text) => !ours.includes(text.replace(' meter=acl-logging', '')),
      );
      expect(1 - others.length / all, name).toBeGreaterThan(0.97);
    }
  });
});

/** What random faults are drawn from: the rows, flows and rules that a node of a lab has now, read with the programs that people use. */
import { outputInside } from '../../../../src/lab/exec.ts';
import type { LabRecord } from '../../../../src/lab/state-file.ts';
import type { Check } from '../../../../src/verify/findings.ts';
import { list, pairs, text, uuidOf, type Row } from '../../../../src/verify/rows.ts';
import type { SeededRandom } from '../../run/seeded-random.ts';
import { numbersOf } from '../planted-faults/fault.ts';

export const NODE = 'n1';
export const BRIDGE = 'breth0';

/** One fault by itself: it breaks isolation, identity, or what policies and firewalls say, by the rule of its kind. */
export interface RandomFault {
  readonly name: string;
  /** Lines for a shell on the node. */
  readonly plant: string;
  readonly undo: string;
  /** A finding of one of these checks has to name all of `concerns`, and a row that `where` matches. */
  readonly checks: readonly Check[];
  readonly concerns: readonly string[];
  readonly where?: RegExp;
  /** ovn-northd and ovn-controller stand still meanwhile: they would write it anew, or do something that can't be undone. */
  readonly holdsOvn?: true;
}

/** Draws a fault of one kind, or nothing where the node has not what it takes. */
export type FaultKind = (world: FaultWorld) => RandomFault | undefined;

/** A primary network by what its rows say. */
export interface FaultNetwork extends ReturnType<typeof numbersOf> {
  readonly name: string;
  readonly object: string;
  readonly id: number;
  readonly subnet: string;
  readonly isLayer2: boolean;
  readonly router: string;
  readonly gatewayRouter: string;
  readonly podSwitch: string;
  /** Of the external bridge, to br-int. */
  readonly patch: number;
}

export interface BridgeFlow {
  readonly line: string;
  readonly table: number;
  readonly match: string;
  readonly actions: string;
}

export interface NftRule {
  readonly chain: string;
  readonly handle: number;
  readonly text: string;
}

const NORTHBOUND = [
  'Logical_Switch',
  'Logical_Switch_Port',
  'Logical_Router',
  'Logical_Router_Port',
  'Logical_Router_Policy',
  'Logical_Router_Static_Route',
  'NAT',
  'ACL',
  'Port_Group',
  'Address_Set',
  'Load_Balancer',
];
const SOUTHBOUND = ['Datapath_Binding', 'Port_Binding', 'Chassis', 'Encap'];
const OPEN_VSWITCH = ['Bridge', 'Interface'];

export class FaultWorld {
  readonly random: SeededRandom;
  readonly flows: readonly BridgeFlow[];
  readonly rules: readonly NftRule[];
  readonly networks: readonly FaultNetwork[];
  readonly #tables: ReadonlyMap<string, readonly Row[]>;

  private constructor(
    random: SeededRandom,
    tables: ReadonlyMap<string, readonly Row[]>,
    flows: readonly BridgeFlow[],
    rules: readonly NftRule[],
  ) {
    this.random = random;
    this.#tables = tables;
    this.flows = flows;
    this.rules = rules;
    this.networks = this.#networks();
  }

  static async read(lab: LabRecord, random: SeededRandom): Promise<FaultWorld> {
    const shell = (line: string): Promise<string> =>
      outputInside(lab, ['sh', '-ec', line], { node: NODE });
    const listed = async (
      program: string,
      names: readonly string[],
    ): Promise<[string, Row[]][]> => {
      const lines = await shell(
        names.map((name) => `${program} --format=json list ${name}; echo`).join('\n'),
      );
      const documents = lines.split('\n').filter((line) => line !== '');
      return names.map((name, index) => [name, rowsOf(documents[index] ?? '')]);
    };
    const [northbound, southbound, openVswitch, flows, chains] = await Promise.all([
      listed('ovn-nbctl', NORTHBOUND),
      listed('ovn-sbctl', SOUTHBOUND),
      listed('ovs-vsctl', OPEN_VSWITCH),
      shell(`ovs-ofctl -O OpenFlow13 --no-stats --no-names dump-flows ${BRIDGE}`),
      shell('nft -a list table inet ovn-kubernetes'),
    ]);
    const tables = new Map([...northbound, ...southbound, ...openVswitch]);
    return new FaultWorld(random, tables, flowsOf(flows), rulesOf(chains));
  }

  rows(table: string): readonly Row[] {
    return (this.#tables.get(table) ?? []).toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  }

  /** A row that holds for `is`, if there is one. */
  row(table: string, is: (row: Row) => boolean = () => true): Row | undefined {
    return this.pick(this.rows(table).filter(is));
  }

  pick<T>(from: readonly T[]): T | undefined {
    return from.length === 0 ? undefined : this.random.pick(from);
  }

  named(table: string, name: string): Row | undefined {
    return this.rows(table).find((row) => text(row, 'name') === name);
  }

  /** The switch, router or group that has a row in a column. */
  holder(table: string, column: string, row: Row): Row | undefined {
    return this.rows(table).find((one) => list(one, column).includes(uuidOf(row)));
  }

  networkCalled(name: string | undefined): FaultNetwork | undefined {
    return this.networks.find((network) => network.name === name);
  }

  networkOf(object: string | undefined): FaultNetwork | undefined {
    return this.networks.find((network) => network.object === object);
  }

  /** Two networks; with `areApart` two that no connection joins. */
  two(areApart = true): readonly [FaultNetwork, FaultNetwork] {
    const one = this.random.pick(this.networks);
    const other = this.random.pick(
      this.networks.filter((network) => network !== one && !(areApart && isJoined(one, network))),
    );
    return [one, other];
  }

  /** Ports of pods on switches of primary networks and of the default one. */
  podPorts(): readonly { readonly port: Row; readonly network: string; readonly pod: string }[] {
    return this.rows('Logical_Switch_Port').flatMap((port) => {
      const pod = pairs(port, 'external_ids')['heddle'] ?? '';
      const home = this.holder('Logical_Switch', 'ports', port);
      const network =
        home === undefined ? undefined : pairs(home, 'external_ids')['k8s.ovn.org/network'];
      return pod.startsWith('Pod ') ? [{ port, pod, network: network ?? 'default' }] : [];
    });
  }

  #networks(): FaultNetwork[] {
    return this.rules.flatMap(({ chain, text: rule }) => {
      const mark = /^udn-mark-0x([0-9a-f]+)$/.exec(chain)?.[1];
      const object = / comment "(\w+ [\w./-]+) /.exec(rule)?.[1];
      if (mark === undefined || object === undefined) return [];
      const id = Number.parseInt(mark, 16) - numbersOf(0).packetMark;
      const numbers = numbersOf(id);
      const inner = this.rows('NAT').filter(
        (nat) =>
          text(nat, 'external_ip') === numbers.gateway && text(nat, 'logical_ip').endsWith('/16'),
      );
      const [nat] = inner;
      const name =
        nat === undefined ? undefined : pairs(nat, 'external_ids')['k8s.ovn.org/network'];
      if (nat === undefined || name === undefined) return [];
      const isLayer2 = this.named('Logical_Router', `${name}_transit_router`) !== undefined;
      const port = this.rows('Interface').find(
        (row) => text(row, 'name') === `patch-${BRIDGE}_${name}_${NODE}-to-br-int`,
      );
      return {
        ...numbers,
        id,
        name,
        object,
        isLayer2,
        subnet: text(nat, 'logical_ip'),
        router: `${name}_${isLayer2 ? 'transit' : 'ovn_cluster'}_router`,
        gatewayRouter: `GR_${name}_${NODE}`,
        podSwitch: isLayer2 ? `${name}_ovn_layer2_switch` : `${name}_${NODE}`,
        patch: Number(text(port ?? {}, 'ofport')),
      };
    });
  }
}

/** Networks that the connections of the lab join. */
const JOINED = [
  ['yellow_l3', 'purple_l2'],
  ['red_l2', 'white_l3'],
];
export const isJoined = (a: FaultNetwork, b: FaultNetwork): boolean =>
  JOINED.some((pair) => pair.includes(a.name) && pair.includes(b.name));

const keyOf = (row: Row): string =>
  JSON.stringify([text(row, 'name'), text(row, 'match'), uuidOf(row)]);

function rowsOf(document: string): Row[] {
  const { headings, data } = JSON.parse(document) as { headings: string[]; data: unknown[][] };
  return data.map((values) =>
    Object.fromEntries(headings.map((heading, index) => [heading, values[index]])),
  );
}

const flowsOf = (lines: string): BridgeFlow[] =>
  lines.split('\n').flatMap((line) => {
    const [, head = '', actions = ''] = /^ *(.*?),? ?actions=(.*)$/.exec(line) ?? [];
    if (actions === '') return [];
    const table = Number(/\btable=(\d+)/.exec(head)?.[1] ?? 0);
    return [
      {
        line: `${head},actions=${actions}`,
        table,
        match: head.replace(/^cookie=0x[0-9a-f]+, ?/, ''),
        actions,
      },
    ];
  });

function rulesOf(listing: string): NftRule[] {
  const rules: NftRule[] = [];
  let chain = '';
  for (const line of listing.split('\n')) {
    chain = /^\tchain (\S+) /.exec(line)?.[1] ?? (/^\t(set|map) /.test(line) ? '' : chain);
    const [, rule, handle] = /^\t\t(.+) # handle (\d+)$/.exec(line) ?? [];
    if (chain !== '' && rule !== undefined)
      rules.push({ chain, handle: Number(handle), text: rule });
  }
  return rules;
}

/** A value as `ovn-nbctl set` takes it. */
function valueText(value: unknown): string {
  if (!Array.isArray(value)) return JSON.stringify(value);
  const [kind, content] = value as [string, unknown];
  if (kind === 'uuid') return String(content);
  const members = content as unknown[];
  return kind === 'set'
    ? `[${members.map(valueText).join(',')}]`
    : `{${(members as [unknown, unknown][]).map((pair) => pair.map(valueText).join('=')).join(',')}}`;
}

/** An argument of a shell. */
export const quoted = (argument: string): string =>
  `'${argument.replaceAll("'", String.raw`'\''`)}'`;

/** A column with another value, and as it was. `value` is as `set` takes it. */
export const setting = (
  program: 'ovn-nbctl' | 'ovn-sbctl' | 'ovs-vsctl',
  table: string,
  row: Row,
  column: string,
  value: string,
): Pick<RandomFault, 'plant' | 'undo'> => {
  const set = (to: string): string =>
    `${program} set ${table} ${uuidOf(row)} ${quoted(`${column}=${to}`)}`;
  return { plant: set(value), undo: set(valueText(row[column])) };
};

/** A row that goes, and its like that comes in its place. */
export const removing = (
  table: string,
  row: Row,
  holders: string,
  holder: Row,
  column: string,
): Pick<RandomFault, 'plant' | 'undo'> => ({
  plant: `ovn-nbctl remove ${holders} ${uuidOf(holder)} ${column} ${uuidOf(row)}`,
  undo: `ovn-nbctl --id=@row create ${table} ${Object.entries(row)
    .filter(([name, value]) => !name.startsWith('_') && valueText(value) !== '[]')
    .map(([name, value]) => quoted(`${name}=${valueText(value)}`))
    .join(' ')} -- add ${holders} ${uuidOf(holder)} ${column} @row`,
});

/** A member of a set that goes, or comes. */
export const leaving = (
  table: string,
  holder: Row,
  column: string,
  member: string,
): Pick<RandomFault, 'plant' | 'undo'> => ({
  plant: `ovn-nbctl remove ${table} ${uuidOf(holder)} ${column} ${quoted(member)}`,
  undo: `ovn-nbctl add ${table} ${uuidOf(holder)} ${column} ${quoted(member)}`,
});

export const joining = (...of: Parameters<typeof leaving>): Pick<RandomFault, 'plant' | 'undo'> => {
  const { plant, undo } = leaving(...of);
  return { plant: undo, undo: plant };
};

export const escaped = (part: string): string =>
  part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

/** A network by its object and name. */
export const both = ({ object, name }: FaultNetwork): string[] => [object, name];

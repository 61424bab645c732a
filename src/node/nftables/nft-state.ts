/** What nft lists of our table, in the syntax of rows. */
import { isPlainObject } from '../../api/plain-object.ts';
import type { ChainColumns, SetColumns } from './ruleset.ts';
import { elementText, ruleText, type ElementText } from './nft-text.ts';

export interface FoundRule {
  readonly handle: number;
  readonly text: string;
  readonly comment: string | undefined;
  /** Packets that a counter in it has seen, and their bytes. */
  readonly packets?: number;
  readonly bytes?: number;
}

interface FoundChain {
  readonly columns: ChainColumns;
  readonly rules: FoundRule[];
}

interface FoundSet {
  readonly columns: SetColumns;
  /** By their keys. */
  readonly elements: ReadonlyMap<string, ElementText>;
}

export interface FoundNftTable {
  readonly chains: ReadonlyMap<string, FoundChain>;
  readonly sets: ReadonlyMap<string, FoundSet>;
}

type Listed = Readonly<Record<string, unknown>>;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
/** Parts of a type: a list, in nft 1.0.6 also one text. */
const typesOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(textOf) : textOf(value).split(' . ');

/** `objects` as `nft -j list table` gives them. */
export function foundTable(objects: readonly unknown[]): FoundNftTable {
  const chains = new Map<string, FoundChain>();
  const sets = new Map<string, FoundSet>();
  const rules: Listed[] = [];
  for (const one of objects.filter(isPlainObject)) {
    const [chain, rule, set, map] = ['chain', 'rule', 'set', 'map'].map((kind) =>
      isPlainObject(one[kind]) ? one[kind] : undefined,
    );
    if (chain !== undefined)
      chains.set(textOf(chain['name']), { columns: chainColumns(chain), rules: [] });
    if (rule !== undefined) rules.push(rule);
    const container = set ?? map;
    if (container !== undefined) sets.set(textOf(container['name']), foundSet(container));
  }
  for (const rule of rules)
    chains.get(textOf(rule['chain']))?.rules.push({
      handle: Number(rule['handle']),
      text: ruleText(rule['expr']),
      comment: rule['comment'] === undefined ? undefined : textOf(rule['comment']),
      ...packetsOf(rule['expr']),
    });
  return { chains, sets };
}

function packetsOf(expressions: unknown): Pick<FoundRule, 'packets' | 'bytes'> {
  for (const one of Array.isArray(expressions) ? (expressions as readonly unknown[]) : []) {
    const counter = isPlainObject(one) ? one['counter'] : undefined;
    if (isPlainObject(counter))
      return { packets: Number(counter['packets']), bytes: Number(counter['bytes']) };
  }
  return {};
}

function chainColumns({ name, type, hook, prio, policy }: Listed): ChainColumns {
  if (hook === undefined) return { name: textOf(name) };
  return {
    name: textOf(name),
    type: textOf(type) as NonNullable<ChainColumns['type']>,
    // A policy of somebody else's is no hook of ours.
    hook: (policy === 'accept' ? textOf(hook) : `${textOf(hook)} ${textOf(policy)}`) as NonNullable<
      ChainColumns['hook']
    >,
    priority: Number(prio),
  };
}

function foundSet({ name, type, map, flags, elem }: Listed): FoundSet {
  const types = typesOf(type);
  // One with flags is none of ours.
  const typeText = [...types, ...(flags === undefined ? [] : [`flags ${JSON.stringify(flags)}`])];
  const elements = (Array.isArray(elem) ? elem : []).map((one) => elementText(one, types));
  return {
    columns: {
      name: textOf(name),
      type: typeText.join(' . '),
      ...(map === undefined ? {} : { value: typesOf(map).join(' . ') }),
    },
    elements: new Map(elements.map((one) => [one.element, one])),
  };
}

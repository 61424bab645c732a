/** What `nft -j list ruleset` gives (libnftables-json(5)), as far as proofs ask: rules with their verdicts and marks, elements of sets and maps. */
import { isPlainObject, type PlainObject } from '../api/plain-object.ts';

export interface NftRule {
  readonly chain: string;
  readonly handle: number;
  readonly comment: string | undefined;
  readonly expressions: readonly unknown[];
  readonly accepts: boolean;
  readonly drops: boolean;
  readonly returns: boolean;
  /** Packet and connection marks that it sets. */
  readonly marks: readonly number[];
}

export interface NftTable {
  readonly rules: readonly NftRule[];
  /** `elem` of each set and map. */
  readonly sets: ReadonlyMap<string, unknown>;
  /** Maps that lead to packet or connection marks. */
  readonly markMaps: ReadonlySet<string>;
}

const NONE: PlainObject = {};

export const asPlain = (value: unknown): PlainObject => (isPlainObject(value) ? value : NONE);

const asArray = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Whether `test` holds for something in a value, at any depth. */
export function contains(value: unknown, test: (value: unknown) => boolean): boolean {
  if (test(value)) return true;
  if (Array.isArray(value)) return value.some((one) => contains(one, test));
  return isPlainObject(value) && Object.values(value).some((one) => contains(one, test));
}

function marksOf(expressions: readonly unknown[]): readonly number[] {
  return expressions.flatMap((expression) => {
    const mangle = asPlain(asPlain(expression)['mangle']);
    const key = asPlain(mangle['key']);
    const isMark = asPlain(key['meta'])['key'] === 'mark' || asPlain(key['ct'])['key'] === 'mark';
    return isMark && typeof mangle['value'] === 'number' ? [mangle['value']] : [];
  });
}

interface NewTable {
  readonly rules: NftRule[];
  readonly sets: Map<string, unknown>;
  readonly markMaps: Set<string>;
}

/** Tables as `family name`. */
export function nftTables(objects: readonly unknown[]): ReadonlyMap<string, NftTable> {
  const tables = new Map<string, NewTable>();
  const tableOf = (of: PlainObject): NewTable => {
    const name = `${String(of['family'])} ${String(of['table'])}`;
    const known = tables.get(name) ?? { rules: [], sets: new Map(), markMaps: new Set() };
    tables.set(name, known);
    return known;
  };
  for (const object of objects) {
    const plain = asPlain(object);
    const rule = plain['rule'];
    const set = plain['set'] ?? plain['map'];
    if (isPlainObject(rule)) {
      const expressions = asArray(rule['expr']);
      const has = (verdict: string): boolean =>
        expressions.some((one) => Object.hasOwn(asPlain(one), verdict));
      tableOf(rule).rules.push({
        chain: String(rule['chain']),
        handle: Number(rule['handle']),
        comment: typeof rule['comment'] === 'string' ? rule['comment'] : undefined,
        expressions,
        accepts: has('accept'),
        drops: has('drop') || has('reject'),
        returns: has('return'),
        marks: marksOf(expressions),
      });
    } else if (isPlainObject(set)) {
      const table = tableOf(set);
      table.sets.set(String(set['name']), set['elem']);
      if (set['map'] === 'mark') table.markMaps.add(String(set['name']));
    }
  }
  return tables;
}

const withoutComment = (value: unknown): unknown => {
  const { elem } = asPlain(value);
  return isPlainObject(elem) ? elem['val'] : value;
};

const keyOf = (value: unknown): readonly string[] => {
  const plain = withoutComment(value);
  const { concat, prefix } = asPlain(plain);
  if (Array.isArray(concat)) return concat.flatMap(keyOf);
  if (isPlainObject(prefix)) return [`${String(prefix['addr'])}/${String(prefix['len'])}`];
  return [String(plain)];
};

const valueOf = (value: unknown): string => {
  const plain = asPlain(value);
  const target = asPlain(plain['jump'] ?? plain['goto'])['target'];
  return typeof target === 'string' ? target : keyOf(value).join(' ');
};

/** Members of a set; of a map with what they lead to, a chain by its name. */
export const elementsOf = (
  elements: unknown,
): readonly { readonly key: readonly string[]; readonly value: string }[] =>
  asArray(elements).map((element) =>
    Array.isArray(element)
      ? { key: keyOf(element[0]), value: valueOf(element[1]) }
      : { key: keyOf(element), value: '' },
  );

/** Of Heddle, as of ovn-kubernetes. */
export const OWN_TABLE = 'inet ovn-kubernetes';

/** A rule as findings name it. */
export const ruleText = (table: string, { chain, comment, handle }: NftRule): string =>
  `nft rule ${handle} of chain ${chain}, table ${table}${comment === undefined ? '' : ` (${comment})`}`;

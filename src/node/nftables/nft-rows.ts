/** Our nftables table as rows, so that one engine keeps them: tables, columns, keys, and the collector of what a unit wants. */
import type { Family } from '../../allocators/addresses.ts';
import type { Sink } from '../../desired/features.ts';
import type { RowOf } from '../reconcile/claims.ts';
import { SETTINGS } from '../../desired/rows.ts';
import { markOf } from '../reconcile/host-plan.ts';
import {
  chainColumns,
  setColumns,
  type ChainColumns,
  type ChainName,
  type SetColumns,
  type SetName,
} from './ruleset.ts';

/** Name of the "database" whose tables are those of nftables. */
export const NFTABLES = 'nftables';

/** The table that is ours as a whole (reference/node.md §3). */
export const NFT_TABLE = { family: 'inet', name: 'ovn-kubernetes' } as const;

export interface NftRuleColumns {
  readonly chain: string;
  /** In the syntax of nft(8), as `ruleText` of the driver reads it back. */
  readonly text: string;
  /** Rules of a chain are in this order. */
  readonly order: number;
  /** Name of a cgroup that stands in the text instead of its path: while there is none, the rule can't be. */
  readonly cgroup?: string;
}

export interface ElementColumns {
  readonly set: string;
  readonly element: string;
  /** Of a map. */
  readonly value?: string;
}

/** A row of one of the tables. */
export type NftRow = RowOf<{
  readonly chain: ChainColumns;
  readonly set: SetColumns;
  readonly rule: NftRuleColumns;
  readonly element: ElementColumns;
}>;

export type NftTable = NftRow['table'];

/** Bytes of a comment that the kernel takes (linux/netfilter/nf_tables.h, NFT_USERDATA_MAXLEN, less what nft adds). */
const LONGEST_COMMENT = 120;

/** Comment of what is there for an object. */
export const commentOf = (object: string): string => markOf(object).slice(0, LONGEST_COMMENT);

/** Comment of a rule: for which object it is there, and, as far as it fits, the rule of which feature it follows. */
export const ruleComment = (object: string, feature: string, rule: string): string =>
  `${commentOf(object)} (${feature} ${rule})`.slice(0, LONGEST_COMMENT).trimEnd();

/** The object, as `commentOf` has it, of a comment; `cluster` where there is none. */
export const objectOfComment = (comment: string | undefined): string =>
  comment?.split(' (', 1)[0] ?? SETTINGS;

/** Parts of a set's elements, in the syntax of nft(8). */
export const concatenated = (...parts: readonly (string | number)[]): string => parts.join(' . ');

/** The name of a device as a part of an element: of some, such as `all`, nft has another meaning. */
export const quoted = (device: string): string => `"${device}"`;

/** The family as rules name it. */
export const ipWord = (family: Family): 'ip' | 'ip6' => (family === 'v4' ? 'ip' : 'ip6');

/** What a unit wants, as one rule wants it. Everything that it is given is a word that nft can't read as another one. */
export class NftRows {
  readonly #out: Sink;
  readonly #object: string;
  readonly #rule: string;

  constructor(out: Sink, object: string, rule: string) {
    this.#out = out;
    this.#object = object;
    this.#rule = rule;
  }

  chain(name: ChainName): void {
    this.#row('chain', name, chainColumns(name));
  }

  /** `family`: of a set that has one. */
  set(name: SetName, family?: Family): void {
    const columns = setColumns(name, family);
    this.#row('set', columns.name, columns);
  }

  /** `key` tells the rule from the others of its chain. */
  rule(key: string, columns: NftRuleColumns): void {
    this.#row('rule', `${columns.chain} ${key}`, columns);
  }

  element(columns: ElementColumns): void {
    this.#row('element', `${columns.set} ${columns.element}`, columns);
  }

  /** Rules of a chain that stand for themselves, in their order. */
  rules(chain: ChainName, ...texts: readonly string[]): void {
    for (const [order, text] of texts.entries()) this.rule(text, { chain, text, order });
  }

  #row(table: NftTable, key: string, columns: object): void {
    this.#out.row({
      database: NFTABLES,
      table,
      key,
      columns: Object.fromEntries(
        Object.entries(columns).filter(([, value]) => value !== undefined),
      ),
      containers: [],
      rule: this.#rule,
      object: this.#object,
    });
  }
}

/**
 * What differs between the wanted and the found state of our nftables table, and the commands that end it. Pure. The table is ours as a
 * whole: what nobody wants goes.
 */
import {
  commentOf,
  NFT_TABLE,
  objectOfComment,
  ruleComment,
  type NftRow,
  type NftRuleColumns,
  type NftTable,
} from './nft-rows.ts';
import type { ChainColumns, SetColumns } from './ruleset.ts';
import { inTable, type Wanted } from '../reconcile/claims.ts';
import {
  problemOf,
  wantedBy,
  wantedByNobody,
  type Difference,
  type HostProblem,
  type PlannedChange,
} from '../reconcile/host-plan.ts';
import { featureOf } from '../../desired/engine.ts';
import { SETTINGS } from '../../desired/rows.ts';
import { keptRules } from './kept-rules.ts';
import type { FoundNftTable, FoundRule } from './nft-state.ts';
import type { ElementText } from './nft-text.ts';

interface NftCommand {
  readonly step: number;
  readonly text: string;
}

export interface NftChange extends PlannedChange {
  /** What is refused together when not everything can be: a chain's rules, a set's elements. */
  readonly group: string;
  readonly commands: readonly NftCommand[];
}

/** What is needed comes before what needs it, and goes after it. */
const STEP = {
  removeTable: 0,
  addTable: 1,
  addChain: 2,
  addSet: 3,
  removeRule: 4,
  removeElement: 5,
  addElement: 6,
  addRule: 7,
  removeSet: 8,
  removeChain: 9,
} as const;

export const DEFINITIONS = 'definitions';
export const REMOVALS = 'removals';

const TABLE = `${NFT_TABLE.family} ${NFT_TABLE.name}`;
const EMPTY: FoundNftTable = { chains: new Map(), sets: new Map() };

const chainText = ({ type, hook, priority }: ChainColumns): string =>
  hook === undefined ? '' : `{ type ${type} hook ${hook} priority ${priority}; policy accept; }`;
const setText = ({ type, value }: SetColumns): string =>
  `{ type ${type}${value === undefined ? '' : ` : ${value}`}; }`;
const elementText = ({ element, value, comment }: ElementText): string =>
  `${element}${comment === undefined ? '' : ` comment "${comment}"`}${value === undefined ? '' : ` : ${value}`}`;
/** Chain that a verdict leads to. */
const targetOf = (value: string | undefined): string | undefined =>
  /^jump (.*)$/.exec(value ?? '')?.[1];
/** Chains that texts of rules or verdicts lead to, as `idOf` names them. */
const chainsOf = (texts: readonly (string | undefined)[]): readonly string[] =>
  texts.flatMap((text) => (targetOf(text) === undefined ? [] : [`chain ${targetOf(text)}`]));
/** A chain or set goes with what is in it. */
const marksOf = (inside: readonly { readonly comment?: string | undefined }[]): readonly string[] =>
  inside.map(({ comment }) => objectOfComment(comment)).filter((mark) => mark !== SETTINGS);
const ruleLine = ({ text, comment }: { text: string; comment: string | undefined }): string =>
  comment === undefined ? text : `${text} comment "${comment}"`;

/** `cgroup` gives the path of a cgroup by its name. `isComplete`: nothing of what nobody wants has to stay. */
export function planNft(
  found: FoundNftTable | undefined,
  wanted: Iterable<Wanted<NftRow>>,
  cgroup: (name: string) => string | undefined,
  isComplete: boolean,
): Difference<NftChange> {
  const planner = new Planner(found ?? EMPTY, wanted, cgroup, isComplete);
  return planner.plan(found !== undefined);
}

class Planner {
  readonly #found: FoundNftTable;
  readonly #wanted: readonly Wanted<NftRow>[];
  readonly #cgroup: (name: string) => string | undefined;
  readonly #isComplete: boolean;
  #changes: NftChange[] = [];
  readonly #problems: HostProblem[] = [];

  constructor(
    found: FoundNftTable,
    wanted: Iterable<Wanted<NftRow>>,
    cgroup: (name: string) => string | undefined,
    isComplete: boolean,
  ) {
    this.#found = found;
    this.#cgroup = cgroup;
    this.#isComplete = isComplete;
    this.#wanted = [...wanted];
  }

  plan(isThere: boolean): Difference<NftChange> {
    if (this.#wanted.length === 0) this.#removeTable(isThere);
    else if (this.#isOfOtherKind() && this.#isComplete) this.#replaceTable();
    else this.#planAll(this.#found, isThere);
    return { changes: this.#changes, problems: this.#problems };
  }

  #of<T extends NftTable>(table: T) {
    return inTable(this.#wanted, table);
  }

  #removeTable(isThere: boolean): void {
    if (!isThere) return;
    this.#changes.push({
      ...wantedByNobody(),
      table: 'table',
      key: TABLE,
      before: TABLE,
      group: REMOVALS,
      commands: [{ step: STEP.removeTable, text: `delete table ${TABLE}` }],
    });
  }

  /** Hooks and types can't be changed: a chain or set that has others ends with the table, in the transaction that makes it anew. */
  #isOfOtherKind(): boolean {
    const { chains, sets } = this.#found;
    return (
      this.#of('chain').some(({ row: { columns } }) => {
        const there = chains.get(columns.name)?.columns;
        return there !== undefined && chainText(there) !== chainText(columns);
      }) ||
      this.#of('set').some(({ row: { columns } }) => {
        const there = sets.get(columns.name)?.columns;
        return there !== undefined && setText(there) !== setText(columns);
      })
    );
  }

  #replaceTable(): void {
    this.#removeTable(true);
    this.#planAll(EMPTY, false);
  }

  #planAll(found: FoundNftTable, isThere: boolean): void {
    const chains = new Set(this.#of('chain').map(({ row }) => row.key));
    const sets = new Set(this.#of('set').map(({ row }) => row.key));
    if (!isThere && chains.size + sets.size > 0) this.#addTable();
    for (const one of this.#of('chain')) {
      const columns = one.row.columns;
      if (found.chains.has(columns.name)) continue;
      const after = chainText(columns);
      this.#add(one, `${columns.name} ${after}`.trimEnd(), DEFINITIONS, [
        { step: STEP.addChain, text: `add chain ${TABLE} ${columns.name} ${after}`.trimEnd() },
      ]);
    }
    for (const one of this.#of('set')) {
      const columns = one.row.columns;
      if (found.sets.has(columns.name)) continue;
      const kind = columns.value === undefined ? 'set' : 'map';
      this.#add(one, `${columns.name} ${setText(columns)}`, DEFINITIONS, [
        { step: STEP.addSet, text: `add ${kind} ${TABLE} ${columns.name} ${setText(columns)}` },
      ]);
    }
    this.#planElements(found, sets, chains);
    this.#planRules(found, chains);
    for (const [name, { columns, elements }] of found.sets) {
      if (sets.has(name)) continue;
      const inside = [...elements.values()];
      const kind = columns.value === undefined ? 'set' : 'map';
      const command = { step: STEP.removeSet, text: `delete ${kind} ${TABLE} ${name}` };
      this.#remove('set', name, `${name} ${setText(columns)}`, REMOVALS, command, {
        marks: marksOf(inside),
        within: chainsOf(inside.map(({ value }) => value)),
      });
    }
    for (const [name, { columns, rules }] of found.chains) {
      if (chains.has(name)) continue;
      const before = `${name} ${chainText(columns)}`.trimEnd();
      const commands = [
        // Its rules may hold sets and chains that go as well.
        { step: STEP.removeRule, text: `flush chain ${TABLE} ${name}` },
        { step: STEP.removeChain, text: `delete chain ${TABLE} ${name}` },
      ];
      this.#remove('chain', name, before, REMOVALS, commands, {
        marks: marksOf(rules),
        within: chainsOf(rules.map(({ text }) => text)),
      });
    }
  }

  #addTable(): void {
    const [first] = [...this.#of('chain'), ...this.#of('set')];
    if (first === undefined) return;
    this.#changes.push({
      ...wantedBy(first),
      action: 'add',
      table: 'table',
      key: TABLE,
      before: undefined,
      after: TABLE,
      group: DEFINITIONS,
      commands: [{ step: STEP.addTable, text: `add table ${TABLE}` }],
    });
  }

  #planElements(
    found: FoundNftTable,
    sets: ReadonlySet<string>,
    chains: ReadonlySet<string>,
  ): void {
    const wanted = new Map<string, Set<string>>();
    for (const one of this.#of('element')) {
      const columns = one.row.columns;
      const { set, element, value } = columns;
      const comment = commentOf(one.row.object);
      const target = targetOf(value);
      const missing = !sets.has(set)
        ? `set ${set}`
        : target !== undefined && !chains.has(target)
          ? `chain ${target}`
          : undefined;
      if (missing !== undefined) {
        this.#await(one, missing);
        continue;
      }
      const keys = wanted.get(set);
      if (keys === undefined) wanted.set(set, new Set([element]));
      else keys.add(element);
      const there = found.sets.get(set)?.elements.get(element);
      const after = elementText({ ...columns, comment });
      const add = {
        step: STEP.addElement,
        text: `add element ${TABLE} ${set} { ${after} }`,
      };
      if (there === undefined) this.#add(one, `${set} { ${after} }`, `set ${set}`, [add]);
      else if (there.value !== value || there.comment !== comment)
        this.#changes.push({
          ...this.#describe(one, `set ${set}`),
          action: 'change',
          before: `${set} { ${elementText(there)} }`,
          after: `${set} { ${after} }`,
          commands: [
            {
              step: STEP.removeElement,
              text: `delete element ${TABLE} ${set} { ${element} }`,
            },
            add,
          ],
        });
    }
    for (const [set, { elements }] of found.sets) {
      if (!sets.has(set)) continue;
      for (const [key, element] of elements)
        if (wanted.get(set)?.has(key) !== true)
          this.#remove(
            'element',
            `${set} ${key}`,
            `${set} { ${elementText(element)} }`,
            `set ${set}`,
            {
              step: STEP.removeElement,
              text: `delete element ${TABLE} ${set} { ${key} }`,
            },
            { marks: marksOf([element]), within: chainsOf([element.value]) },
          );
    }
  }

  #planRules(found: FoundNftTable, chains: ReadonlySet<string>): void {
    const byChain = new Map<string, WantedRule[]>([...chains].map((name) => [name, []]));
    for (const one of this.#of('rule')) {
      const rule = this.#resolved(one);
      if (rule === undefined) continue;
      const ofChain = byChain.get(rule.columns.chain);
      if (ofChain === undefined) this.#await(one, `chain ${rule.columns.chain}`);
      else ofChain.push(rule);
    }
    for (const [chain, wanted] of byChain) {
      wanted.sort(inOrder);
      this.#planChain(chain, wanted, found.chains.get(chain)?.rules ?? []);
    }
  }

  /** With the path of its cgroup; undefined while there is none. */
  #resolved(one: WantedRule['one']): WantedRule | undefined {
    const { columns, object, rule } = one.row;
    const comment = ruleComment(object, featureOf(one.owner.id), rule);
    if (columns.cgroup === undefined)
      return { one, columns, line: ruleLine({ text: columns.text, comment }) };
    const path = this.#cgroup(columns.cgroup);
    if (path === undefined) return undefined;
    const text = columns.text.replace(
      `level 2 "${columns.cgroup}"`,
      `level ${path.split('/').length} "${path}"`,
    );
    return { one, columns: { ...columns, text }, line: ruleLine({ text, comment }) };
  }

  /** Rules that are there in the right order stay; what comes before one of them is inserted there, the rest is added at the end. */
  #planChain(chain: string, wanted: readonly WantedRule[], found: readonly FoundRule[]): void {
    const kept = keptRules(
      wanted.map(({ line }) => line),
      found.map((rule) => ruleLine(rule)),
    );
    const keptFound = new Set(kept.filter((index) => index !== undefined));
    for (const [index, rule] of found.entries()) {
      if (keptFound.has(index)) continue;
      const line = ruleLine(rule);
      const command = {
        step: STEP.removeRule,
        text: `delete rule ${TABLE} ${chain} handle ${rule.handle}`,
      };
      this.#remove(
        'rule',
        `${chain} ${rule.text}`,
        `${chain}: ${line}`,
        `chain ${chain}`,
        command,
        {
          marks: [objectOfComment(rule.comment)],
          within: chainsOf([rule.text]),
        },
      );
    }
    let before: number | undefined;
    const commands: NftCommand[] = [];
    for (let index = wanted.length - 1; index >= 0; index -= 1) {
      const place = kept[index];
      if (place !== undefined) {
        before = found[place]?.handle;
        continue;
      }
      const { line = '' } = wanted[index] ?? {};
      commands[index] = {
        step: STEP.addRule,
        text:
          before === undefined
            ? `add rule ${TABLE} ${chain} ${line}`
            : `insert rule ${TABLE} ${chain} position ${before} ${line}`,
      };
    }
    for (const [index, command] of commands.entries()) {
      const rule = wanted[index];
      if (command !== undefined && rule !== undefined)
        this.#add(rule.one, `${chain}: ${rule.line}`, groupOf(rule.columns), [command]);
    }
  }

  #describe(one: Wanted<NftRow>, group: string) {
    return { ...wantedBy(one), group };
  }

  #add(one: Wanted<NftRow>, after: string, group: string, commands: readonly NftCommand[]): void {
    const described = this.#describe(one, group);
    this.#changes.push({ ...described, action: 'add', before: undefined, after, commands });
  }

  #remove(
    table: NftTable,
    key: string,
    before: string,
    group: string,
    commands: NftCommand | readonly NftCommand[],
    whose: Pick<PlannedChange, 'marks' | 'within'> = {},
  ): void {
    this.#changes.push({
      ...wantedByNobody(),
      ...whose,
      table,
      key,
      before,
      group,
      commands: [commands].flat(),
    });
  }

  #await(one: Wanted<NftRow>, what: string): void {
    const text = `${one.row.table} ${one.row.key} waits for ${what}`;
    this.#problems.push(problemOf('awaited', wantedBy(one), text));
  }
}

interface WantedRule {
  readonly one: Wanted<NftRow & { readonly table: 'rule' }>;
  readonly columns: NftRuleColumns;
  readonly line: string;
}

/** nft may not find a cgroup that is there for us: that must not keep the others of the chain from being made. */
const groupOf = ({ chain, cgroup }: NftRuleColumns): string =>
  cgroup === undefined ? `chain ${chain}` : `chain ${chain} for ${cgroup}`;

const inOrder = (a: WantedRule, b: WantedRule): number =>
  a.columns.order - b.columns.order ||
  a.one.owner.order - b.one.owner.order ||
  (a.one.row.key < b.one.row.key ? -1 : 1);

/** Where a row, a flow or a rule comes from, as plain data and in words. Pure. */
import { visibleText } from '../api/visible-text.ts';
import type { Rule } from '../desired/features.ts';

/** Who wants something: a unit, by a rule of its feature, for an object. */
export interface Wanting {
  /** Feature and arguments. */
  readonly unit: string;
  readonly feature: string;
  /** Absent where the unit can't be built at the moment. */
  readonly rule?: Rule & { readonly name: string };
  /** `Kind namespace/name`; `cluster` for what settings want. */
  readonly object?: string;
  /** Absent for what all networks share. */
  readonly network?: string;
}

export type Ownership =
  | ({ readonly kind: 'wanted' } & Wanting)
  /** It stands for several things that are there for one object. */
  | {
      readonly kind: 'several';
      readonly object: string;
      readonly network?: string;
      readonly rules: readonly (Rule & { readonly name: string })[];
    }
  /** It has our mark, and no unit wants it now. */
  | { readonly kind: 'marked'; readonly object: string; readonly why: string }
  /** OVN made it of another row, or for itself. */
  | { readonly kind: 'made'; readonly by: string }
  | { readonly kind: 'foreign'; readonly by: string };

export interface Origin {
  /** `OVN_Northbound`, `OVN_Southbound`, `Open_vSwitch`, `OpenFlow`, `nftables` or `Linux`. */
  readonly place: string;
  readonly table: string;
  readonly name: string;
  readonly uuid?: string;
  /** What it does, in the words of its place. */
  readonly text?: string;
  readonly owner: Ownership;
  /** What it was made of, nearest first. */
  readonly madeOf: readonly Origin[];
}

export interface ExplainReport {
  readonly node: string;
  readonly asked: string;
  /** More than one: what was asked for means several things. */
  readonly found: readonly Origin[];
  /** There are more than are listed. */
  readonly isCut: boolean;
  /** Where it was looked for. */
  readonly looked: readonly string[];
}

/** Where Southbound and the integration bridge lead to: the last of what a row was made of. */
export const rootOf = (origin: Origin): Origin => origin.madeOf.at(-1) ?? origin;

const shortUuid = (uuid: string | undefined): string =>
  uuid === undefined ? '' : ` ${uuid.slice(0, 8)}`;

const titleOf = ({ place, table, name, uuid }: Origin): string =>
  `${table}${shortUuid(uuid)}${name === '' || name === uuid ? '' : ` ${name}`} (${place})`;

/** `["policy/rules","blue","ns","web"]` as `policy/rules blue ns web`. */
const unitText = (unit: string): string => (JSON.parse(unit) as readonly string[]).join(' ');

function ownerLines(owner: Ownership): readonly string[] {
  switch (owner.kind) {
    case 'wanted': {
      const { unit, rule, object, network } = owner;
      return [
        ...(object === undefined ? [] : [`  for      ${object}`]),
        ...(network === undefined ? [] : [`  network  ${network}`]),
        `  unit     ${unitText(unit)}`,
        rule === undefined
          ? "  rule     not known: the unit can't be built at the moment (heddle status says why)"
          : `  rule     ${rule.name}: ${rule.text} (${rule.source})`,
      ];
    }
    case 'several': {
      const { object, network, rules } = owner;
      return [
        `  for      ${object}`,
        ...(network === undefined ? [] : [`  network  ${network}`]),
        ...rules.map(({ name, text, source }) => `  rule     ${name}: ${text} (${source})`),
      ];
    }
    case 'marked':
      return [`  for      ${owner.object}, by its mark alone: ${owner.why}`];
    case 'made':
      return [`  by       ${owner.by}`];
    case 'foreign':
      return [`  not ours: ${owner.by}`];
  }
}

/** The origin for people: what it is, what it does, what it was made of, and who wants that. */
export function originText(origin: Origin): string {
  const chain = [origin, ...origin.madeOf];
  return chain
    .flatMap((one, index) => [
      index === 0 ? titleOf(one) : `  made of  ${titleOf(one)}`,
      ...(one.text === undefined || one.text === '' ? [] : [`  is       ${one.text}`]),
      // Of all but the last the next one says whose it is.
      ...(index < chain.length - 1 && one.owner.kind === 'made' ? [] : ownerLines(one.owner)),
    ])
    .map(visibleText)
    .join('\n');
}

/** One line for a choice. */
export const originTitle = titleOf;

/** OVN's match expressions as trees (ovn-sb(5), Logical_Flow, column match). Negations are at the comparisons, where OVN takes them, too. */

export type Relation = '==' | '!=' | '<' | '<=' | '>' | '>=';

/** `set`: `$name`; `group`: `@name`. A number, an address or a MAC may have a mask. */
export interface Value {
  readonly kind: 'constant' | 'string' | 'set' | 'group';
  readonly text: string;
  readonly mask?: string;
}

export type Match =
  | { readonly kind: 'all' | 'any'; readonly of: readonly Match[] }
  | { readonly kind: 'constant'; readonly value: boolean }
  /** A field of one bit, or a name for a condition: `tcp`, `ct.new`. */
  | { readonly kind: 'flag'; readonly name: string; readonly isSet: boolean }
  | {
      readonly kind: 'compare';
      readonly field: string;
      /** Bits of the field, the highest first; absent: all. */
      readonly bits?: readonly [number, number];
      readonly relation: Relation;
      readonly values: readonly Value[];
    };

/** An expression that can't be read; the message says where. */
export class MatchError extends Error {}

interface Token {
  readonly kind: 'name' | 'constant' | 'string' | 'set' | 'group' | 'sign';
  readonly text: string;
  readonly at: number;
}

const TOKEN =
  /\s+|(?<string>"(?:[^"\\]|\\.)*")|\$(?<set>[A-Za-z_.][\w.]*)|@(?<group>[A-Za-z_.][\w.]*)|(?<constant>[0-9a-fA-F]*:[0-9a-fA-F:.]*|\d+(?:\.(?!\.)[0-9]+)*|0x[0-9a-fA-F]+)|(?<name>[A-Za-z_][\w.]*[A-Za-z0-9_]|[A-Za-z_])|(?<sign>&&|\|\||[=!<>]=|\.\.|[!<>(){}[\],/])/y;

/** Hexadecimal numbers come before decimal ones: `0x1f` begins with a digit. */
const HEXADECIMAL = /0x[0-9a-fA-F]+/y;

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length;) {
    HEXADECIMAL.lastIndex = at;
    const hexadecimal = HEXADECIMAL.exec(text)?.[0];
    TOKEN.lastIndex = at;
    const found = hexadecimal === undefined ? TOKEN.exec(text) : undefined;
    if (hexadecimal !== undefined) tokens.push({ kind: 'constant', text: hexadecimal, at });
    else if (found === null || found === undefined)
      throw new MatchError(
        `${JSON.stringify(text.slice(at, at + 12))} at ${at} is no part of a match`,
      );
    else
      for (const [kind, part] of Object.entries(found.groups ?? {}) as [Token['kind'], string?][])
        if (part !== undefined)
          tokens.push({ kind, text: kind === 'string' ? unquoted(part, at) : part, at });
    at += (hexadecimal ?? found?.[0] ?? '').length;
  }
  return tokens;
}

function unquoted(text: string, at: number): string {
  try {
    return String(JSON.parse(text));
  } catch {
    throw new MatchError(`${text} at ${at} is no string`);
  }
}

/** Throws MatchError for what is no expression. */
export function parseMatch(text: string): Match {
  const parser = new Parser(tokensOf(text));
  return parser.whole();
}

/** Parentheses and negations in each other: more is no match that anybody writes, and would exhaust the stack. */
const DEEPEST = 100;
const RELATIONS: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=']);
const INVERTED: Readonly<Record<Relation, Relation>> = {
  '==': '!=',
  '!=': '==',
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
};
const MIRRORED: Readonly<Record<Relation, Relation>> = {
  '==': '==',
  '!=': '!=',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
};

function negated(match: Match): Match {
  switch (match.kind) {
    case 'constant':
      return { kind: 'constant', value: !match.value };
    case 'flag':
      return { ...match, isSet: !match.isSet };
    case 'compare':
      return { ...match, relation: INVERTED[match.relation] };
    default:
      return { kind: match.kind === 'all' ? 'any' : 'all', of: match.of.map(negated) };
  }
}

class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  whole(): Match {
    const match = this.#expression();
    const rest = this.#peek();
    if (rest !== undefined) throw this.#wrong('an operator or the end');
    return match;
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#next];
  }

  #isAt(sign: string): boolean {
    const token = this.#peek();
    return token?.kind === 'sign' && token.text === sign;
  }

  #take(sign: string): boolean {
    if (!this.#isAt(sign)) return false;
    this.#next += 1;
    return true;
  }

  #expect(sign: string): void {
    if (!this.#take(sign)) throw this.#wrong(JSON.stringify(sign));
  }

  #wrong(wanted: string): MatchError {
    const token = this.#peek();
    return new MatchError(
      token === undefined
        ? `ends where ${wanted} should be`
        : `has ${JSON.stringify(token.text)} at ${token.at}, where ${wanted} should be`,
    );
  }

  /** `&&` and `||` have no order among each other: OVN asks for parentheses where both occur. */
  #expression(): Match {
    const first = this.#term();
    const sign = ['&&', '||'].find((one) => this.#isAt(one));
    if (sign === undefined) return first;
    const of = [first];
    while (this.#take(sign)) of.push(this.#term());
    if (this.#isAt('&&') || this.#isAt('||'))
      throw new MatchError('has && and || side by side: OVN takes that with parentheses alone');
    return { kind: sign === '&&' ? 'all' : 'any', of };
  }

  #term(): Match {
    this.#depth += 1;
    if (this.#depth > DEEPEST) throw new MatchError(`is nested more than ${DEEPEST} deep`);
    try {
      if (this.#take('!')) return negated(this.#term());
      if (this.#isAt('(')) return this.#parenthesis();
      return this.#comparison();
    } finally {
      this.#depth -= 1;
    }
  }

  #parenthesis(): Match {
    this.#expect('(');
    const inner = this.#expression();
    this.#expect(')');
    return inner;
  }

  #comparison(): Match {
    const token = this.#peek();
    if (token?.kind === 'name') {
      const { field, bits } = this.#field();
      const relation = this.#relation();
      if (relation === undefined)
        return bits === undefined
          ? { kind: 'flag', name: field, isSet: true }
          : compare(field, bits, '==', [{ kind: 'constant', text: '1' }]);
      return compare(field, bits, relation, this.#values());
    }
    const values = this.#values();
    const relation = this.#relation();
    if (relation === undefined) return constantOf(values);
    const { field, bits } = this.#field();
    const left = compare(field, bits, MIRRORED[relation], values);
    const second = this.#relation();
    if (second === undefined) return left;
    return { kind: 'all', of: [left, compare(field, bits, second, this.#values())] };
  }

  #field(): { readonly field: string; readonly bits: readonly [number, number] | undefined } {
    const token = this.#peek();
    if (token?.kind !== 'name') throw this.#wrong('a field');
    this.#next += 1;
    if (!this.#take('[')) return { field: token.text, bits: undefined };
    const low = this.#bit();
    const high = this.#take('..') ? this.#bit() : low;
    this.#expect(']');
    return { field: token.text, bits: [high, low] };
  }

  #bit(): number {
    const token = this.#peek();
    if (token?.kind !== 'constant' || !/^\d{1,3}$/.test(token.text)) throw this.#wrong('a bit');
    this.#next += 1;
    return Number(token.text);
  }

  #relation(): Relation | undefined {
    const token = this.#peek();
    if (token?.kind !== 'sign' || !RELATIONS.has(token.text)) return undefined;
    this.#next += 1;
    return token.text as Relation;
  }

  #values(): readonly Value[] {
    if (!this.#take('{')) return [this.#value()];
    const values: Value[] = [];
    // Commas are not asked for.
    while (!this.#take('}')) {
      values.push(this.#value());
      this.#take(',');
    }
    if (values.length === 0) throw new MatchError('has an empty set of values');
    return values;
  }

  #value(): Value {
    const token = this.#peek();
    if (token === undefined || token.kind === 'name' || token.kind === 'sign')
      throw this.#wrong('a value');
    this.#next += 1;
    if (token.kind !== 'constant' || !this.#take('/'))
      return { kind: token.kind, text: token.text };
    const mask = this.#peek();
    if (mask?.kind !== 'constant') throw this.#wrong('a mask');
    this.#next += 1;
    return { kind: 'constant', text: token.text, mask: mask.text };
  }
}

const compare = (
  field: string,
  bits: readonly [number, number] | undefined,
  relation: Relation,
  values: readonly Value[],
): Match => ({ kind: 'compare', field, ...(bits === undefined ? {} : { bits }), relation, values });

/** `1` and `0` alone are all packets and none. */
function constantOf(values: readonly Value[]): Match {
  const [value] = values;
  if (values.length === 1 && value?.kind === 'constant' && /^[01]$/.test(value.text))
    return { kind: 'constant', value: value.text === '1' };
  throw new MatchError('has a value that is compared with nothing');
}

/** Names of the port groups that a match asks for. */
export function groupsIn(match: Match): readonly string[] {
  if (match.kind === 'all' || match.kind === 'any') return match.of.flatMap(groupsIn);
  if (match.kind !== 'compare') return [];
  return match.values.filter(({ kind }) => kind === 'group').map(({ text }) => text);
}

/**
 * Packets and the ACLs of desired rows: what OVN makes of a packet by them. Knows the fields and operators that our matches use, and
 * throws for all else.
 */
import { contains } from '../../../src/allocators/addresses.ts';
import type { DesiredRow } from '../../../src/desired/rows.ts';
import { plain } from './row-text.ts';

export interface Packet {
  /** Logical ports that it comes from and goes to, as far as they are of this switch. */
  readonly inport?: string;
  readonly outport?: string;
  readonly src: string;
  readonly dst: string;
  readonly protocol: 'tcp' | 'udp' | 'sctp' | 'icmp4';
  readonly port: number;
}

const TOKEN = /\s*(&&|\|\||==|!=|<=|!|[(){},]|[$@]?[\w.:/-]+|"[^"]*")/gy;

function tokensOf(match: string): string[] {
  const tokens = [...match.matchAll(TOKEN)].map(([, token]) => token ?? '');
  if (tokens.join('') !== match.replaceAll(/\s/g, '')) throw new Error(`can't read ${match}`);
  return tokens;
}

const isV6 = (address: string): boolean => address.includes(':');
const PROTOCOLS = ['tcp', 'udp', 'sctp', 'icmp4'];

/** A recursive descent over one match, for one packet. */
class Evaluation {
  readonly #tokens: string[];
  readonly #packet: Packet;
  readonly #sets: ReadonlyMap<string, readonly string[]>;
  readonly #groups: ReadonlyMap<string, ReadonlySet<string>>;
  #at = 0;

  constructor(
    match: string,
    packet: Packet,
    sets: ReadonlyMap<string, readonly string[]>,
    groups: ReadonlyMap<string, ReadonlySet<string>>,
  ) {
    this.#tokens = tokensOf(match);
    this.#packet = packet;
    this.#sets = sets;
    this.#groups = groups;
  }

  run(): boolean {
    const result = this.#or();
    if (this.#at !== this.#tokens.length) throw new Error(`left over: ${this.#tokens.join(' ')}`);
    return result;
  }

  get #next(): string | undefined {
    return this.#tokens[this.#at];
  }

  #take(expected?: string): string {
    const token = this.#next;
    if (token === undefined || (expected !== undefined && token !== expected))
      throw new Error(`${token} instead of ${expected} in ${this.#tokens.join(' ')}`);
    this.#at += 1;
    return token;
  }

  #or(): boolean {
    let result = this.#and();
    let operator: string | undefined;
    while (this.#next === '||' || this.#next === '&&') {
      // OVN refuses to mix them without parentheses.
      operator ??= this.#next;
      if (this.#next !== operator) throw new Error(`mixed: ${this.#tokens.join(' ')}`);
      this.#take();
      const term = this.#and();
      result = operator === '||' ? result || term : result && term;
    }
    return result;
  }

  #and(): boolean {
    if (this.#next === '(') {
      this.#take();
      const result = this.#or();
      this.#take(')');
      return result;
    }
    const first = this.#take();
    if (/^\d+$/.test(first)) {
      this.#take('<=');
      const field = this.#take();
      this.#take('<=');
      const most = Number(this.#take());
      const value = this.#port(field);
      return value !== undefined && Number(first) <= value && value <= most;
    }
    if (this.#next !== '==' && this.#next !== '!=') return this.#is(first);
    const isNegated = this.#take() === '!=';
    return this.#compare(first, this.#values(), isNegated);
  }

  #is(field: string): boolean {
    const { src, protocol } = this.#packet;
    if (field === 'ip4') return !isV6(src);
    if (field === 'ip6') return isV6(src);
    if (PROTOCOLS.includes(field)) return protocol === field;
    if (field === 'arp' || field === 'nd') return false;
    // A first packet.
    if (field === 'ct.est') return false;
    throw new Error(`unknown field ${field}`);
  }

  /** Constants, with sets written out; a group stands for its ports. */
  #values(): readonly string[] {
    const list: string[] = [];
    if (this.#next === '{') {
      this.#take();
      for (;;) {
        list.push(...this.#value());
        if (this.#take() === '}') return list;
      }
    }
    return this.#value();
  }

  #value(): readonly string[] {
    const token = this.#take();
    if (token.startsWith('$') || token.startsWith('@')) {
      const found =
        token[0] === '$' ? this.#sets.get(token.slice(1)) : this.#groups.get(token.slice(1));
      if (found === undefined) throw new Error(`there is no ${token}`);
      return [...found];
    }
    return [token];
  }

  #port(field: string): number | undefined {
    const [protocol, end] = field.split('.');
    if (end !== 'dst' || !PROTOCOLS.includes(protocol ?? '')) throw new Error(`unknown ${field}`);
    return this.#packet.protocol === protocol ? this.#packet.port : undefined;
  }

  /** Also `!=` is false of a packet that does not have the field. */
  #compare(field: string, values: readonly string[], isNegated: boolean): boolean {
    const { inport, outport, src, dst } = this.#packet;
    if (field === 'inport' || field === 'outport') {
      const port = field === 'inport' ? inport : outport;
      return port !== undefined && values.includes(port) !== isNegated;
    }
    if (field === 'ct_mark.blocked') return isNegated;
    const [base, end] = field.split('.');
    if (base === 'ip4' || base === 'ip6') {
      const address = end === 'src' ? src : dst;
      if (isV6(address) !== (base === 'ip6')) return false;
      const isIn = values.some((value) =>
        value.includes('/') ? contains(value, address) : value === address,
      );
      return isIn !== isNegated;
    }
    const port = this.#port(field);
    return port !== undefined && values.includes(String(port)) !== isNegated;
  }
}

const textOf = (row: DesiredRow, column: string): string =>
  (row.columns[column] as string | undefined) ?? '';

/** The ACLs, sets and groups of some rows. */
export class AclPipeline {
  readonly #acls: readonly DesiredRow[];
  readonly #sets: ReadonlyMap<string, readonly string[]>;
  readonly #groups: ReadonlyMap<string, ReadonlySet<string>>;

  constructor(rows: readonly DesiredRow[]) {
    const of = (table: string): DesiredRow[] => rows.filter((row) => row.table === table);
    this.#acls = of('ACL');
    this.#sets = new Map(
      of('Address_Set').map(({ key, columns }) => [
        key,
        (plain(columns['addresses']) ?? []) as readonly string[],
      ]),
    );
    const ports = of('Logical_Switch_Port');
    this.#groups = new Map(
      of('Port_Group').map(({ key }) => [
        key,
        new Set(
          ports
            .filter(({ containers }) => containers.some((one) => one.key === key))
            .map((port) => port.key),
        ),
      ]),
    );
  }

  /** True if nothing drops the first packet of a connection on its way out of its port and into the other one. */
  passes(packet: Packet): boolean {
    return (['from-lport', 'to-lport'] as const).every((direction) =>
      this.#verdict(direction, packet),
    );
  }

  #verdict(direction: string, packet: Packet): boolean {
    const acls = this.#acls.filter((row) => textOf(row, 'direction') === direction);
    for (const tier of [0, 1, 2, 3]) {
      const matching = acls.filter(
        (row) =>
          Number(row.columns['tier'] ?? 0) === tier &&
          new Evaluation(textOf(row, 'match'), packet, this.#sets, this.#groups).run(),
      );
      const highest = Math.max(...matching.map((row) => Number(row.columns['priority'])));
      const actions = new Set(
        matching
          .filter((row) => Number(row.columns['priority']) === highest)
          .map((row) => textOf(row, 'action').replace('-related', '')),
      );
      if (actions.size > 1) throw new Error(`undecided: ${[...actions].join(', ')}`);
      if (actions.has('drop')) return false;
      if (actions.has('allow')) return true;
    }
    return true;
  }
}

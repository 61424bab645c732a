/**
 * Rules and elements that nft lists as JSON, in the words that rows have: so both are compared as texts. What versions of nft say in
 * different words comes out the same. What no rule of ours has comes out as JSON, which equals none.
 */

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type JsonObject = Readonly<Record<string, Json>>;

/** What has no words here. */
class Unknown extends Error {}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const object = (value: Json | undefined): JsonObject => {
  if (isObject(value)) return value;
  throw new Unknown();
};

const array = (value: Json | undefined): readonly Json[] => {
  if (Array.isArray(value)) return value as readonly Json[];
  throw new Unknown();
};

const word = (value: Json | undefined): string => {
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  throw new Unknown();
};

/** Protocols by number, as a machine without /etc/protocols lists them. */
const PROTOCOLS: Readonly<Record<string, string>> = {
  1: 'icmp',
  6: 'tcp',
  17: 'udp',
  58: 'ipv6-icmp',
  132: 'sctp',
};
/** Types and codes of ICMP that some versions list by name. */
const ICMP: Readonly<Record<string, string>> = {
  'destination-unreachable': '3',
  'frag-needed': '4',
  'packet-too-big': '2',
  'no-route': '0',
};
/** Keys of `meta` that are written without the word. */
const UNQUALIFIED = new Set(['iifname', 'oifname']);
/** Those whose values are in quotes: names of devices. */
const NAMES = new Set(['iifname', 'oifname', 'meta sdifname']);

/** What rules of ours set. */
const MARKS = new Set(['meta mark', 'ct mark']);

/** The text of a rule's expressions. */
export function ruleText(expressions: unknown): string {
  const all = expressions as Json;
  try {
    return array(all)
      .map((one) => statement(object(one)))
      .filter((text) => text !== '')
      .join(' ');
  } catch (error) {
    if (error instanceof Unknown) return JSON.stringify(all);
    throw error;
  }
}

export interface ElementText {
  readonly element: string;
  readonly value?: string;
  /** For whom it is there. */
  readonly comment?: string;
}

/** An element of a set or map whose keys have these types. */
export function elementText(found: unknown, types: readonly string[]): ElementText {
  const json = found as Json;
  try {
    if (!Array.isArray(json)) return { element: keyText(json, types), ...commentOf(json) };
    const [key, value] = json as readonly Json[];
    return {
      element: keyText(key, types),
      value: isObject(value) ? valueText(value) : word(value),
      ...commentOf(key),
    };
  } catch (error) {
    if (error instanceof Unknown) return { element: JSON.stringify(json) };
    throw error;
  }
}

function commentOf(key: Json | undefined): Pick<ElementText, 'comment'> {
  const elem = isObject(key) ? key['elem'] : undefined;
  return isObject(elem) && typeof elem['comment'] === 'string' ? { comment: elem['comment'] } : {};
}

function keyText(key: Json | undefined, types: readonly string[]): string {
  // With a comment or a timeout.
  if (isObject(key) && isObject(key['elem'])) return keyText(key['elem']['val'], types);
  const parts = isObject(key) && key['concat'] !== undefined ? array(key['concat']) : [key];
  return parts
    .map((part, index) => {
      const text = operand(part);
      if (types[index] === 'ifname') return `"${text}"`;
      return types[index] === 'inet_proto' ? (PROTOCOLS[text] ?? text) : text;
    })
    .join(' . ');
}

const valueText = (value: JsonObject): string =>
  value['concat'] === undefined ? verdict(value) : operand(value);

function statement(json: JsonObject): string {
  const [name = ''] = Object.keys(json);
  const value = json[name];
  switch (name) {
    case 'match':
      return match(object(value));
    case 'mangle': {
      const { key, value: set } = object(value);
      const mark = operand(key);
      if (!MARKS.has(mark)) throw new Unknown();
      if (typeof set === 'number') return `${mark} set 0x${set.toString(16)}`;
      return `${mark} set ${operand(set)}`;
    }
    case 'counter':
      // One with a name is no word.
      return isObject(value) ? name : verdict(json);
    case 'masquerade':
      if (value !== null) throw new Unknown();
      return name;
    case 'snat':
    case 'dnat':
      return nat(name, object(value));
    case 'redirect': {
      const { port } = object(value);
      return `redirect to ${operand(port)}`;
    }
    case 'vmap': {
      const { key, data } = object(value);
      return `${operand(key)} vmap ${word(data)}`;
    }
    default:
      return verdict(json);
  }
}

function verdict(json: JsonObject): string {
  const [name = ''] = Object.keys(json);
  if (name === 'jump') return `jump ${word(object(json[name])['target'])}`;
  if (['accept', 'drop', 'return'].includes(name)) return name;
  throw new Unknown();
}

function nat(name: string, { family, addr, port }: JsonObject): string {
  const address = operand(addr);
  const end = port === undefined ? '' : `:${operand(port)}`;
  const isBracketed = end !== '' && family === 'ip6';
  return `${name} ${word(family)} to ${isBracketed ? `[${address}]` : address}${end}`;
}

function match({ op, left, right }: JsonObject): string {
  const key = operand(left);
  // nft 1.0.6 adds the family that follows from the rest.
  if (key === 'meta nfproto') return '';
  // Of flags, such as the states of a connection, one is `in` those that are set.
  const sign = op === '==' || op === 'in' ? '' : `${word(op)} `;
  if (key === 'socket cgroupv2' && isObject(left)) {
    const path = word(right);
    return `socket cgroupv2 level ${path.split('/').length} "${path}"`;
  }
  if (key === 'meta l4proto') return `${key} ${sign}${protocols(right)}`;
  if (/^icmp(v6)? /.test(key)) return `${key} ${sign}${ICMP[word(right)] ?? word(right)}`;
  return `${key} ${sign}${NAMES.has(key) ? `"${word(right)}"` : operand(right)}`;
}

/** One protocol, or several in the order of their numbers. */
function protocols(json: Json | undefined): string {
  const name = (one: Json): string => PROTOCOLS[word(one)] ?? word(one);
  if (!isObject(json)) return name(json ?? null);
  const order = Object.values(PROTOCOLS);
  const names = array(json['set']).map(name);
  return `{ ${names.sort((a, b) => order.indexOf(a) - order.indexOf(b)).join(', ')} }`;
}

function operand(json: Json | undefined): string {
  if (!isObject(json)) return word(json);
  const [name = ''] = Object.keys(json);
  const value = json[name];
  switch (name) {
    case 'payload': {
      const { protocol, field } = object(value);
      return `${word(protocol)} ${word(field)}`;
    }
    case 'meta': {
      const key = word(object(value)['key']);
      return UNQUALIFIED.has(key) ? key : `meta ${key}`;
    }
    case 'ct': {
      const { dir, key } = object(value);
      return `ct ${dir === undefined ? '' : `${word(dir)} `}${word(key)}`;
    }
    case 'concat':
      return array(value).map(operand).join(' . ');
    case 'prefix': {
      const { addr, len } = object(value);
      return `${word(addr)}/${word(len)}`;
    }
    case 'range':
      return array(value).map(word).join('-');
    case 'fib': {
      const { result, flags } = object(value);
      return `fib ${[flags]
        .flat()
        .map((flag) => word(flag as Json))
        .join(' . ')} ${word(result)}`;
    }
    case 'socket':
      return `socket ${word(object(value)['key'])}`;
    case 'numgen': {
      const { mode, mod, offset = 0 } = object(value);
      if (offset !== 0) throw new Unknown();
      return `numgen ${word(mode)} mod ${word(mod)}`;
    }
    case 'map': {
      const { key, data } = object(value);
      return `${operand(key)} map ${isObject(data) ? entries(array(data['set'])) : word(data)}`;
    }
    default:
      throw new Unknown();
  }
}

/** Those of a map that stands in a rule, in the order of their numbers. */
function entries(all: readonly Json[]): string {
  const texts = all.map((entry) => {
    const [key, value] = array(entry);
    return { key: word(key), text: `${word(key)} : ${operand(value)}` };
  });
  texts.sort((a, b) => Number(a.key) - Number(b.key));
  return `{ ${texts.map(({ text }) => text).join(', ')} }`;
}

/** Inputs that are nearly right: recorded good ones, changed at places where readers go wrong. The same seed gives the same input. */
import { SeededRandom } from '../support/run/seeded-random.ts';

/** Values that somebody may write in place of any other. */
const HOSTILE: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  65_536,
  2 ** 31,
  2 ** 53,
  1e308,
  -0,
  '',
  ' ',
  '0',
  '-1',
  '1e9',
  '0x10',
  '__proto__',
  'constructor',
  'prototype',
  'hasOwnProperty',
  '..',
  '../../etc/passwd',
  'a/b/c',
  '\0',
  '\u001b[2J',
  '\u202e',
  '\ud800',
  'a\nb',
  'a'.repeat(300),
  'é'.repeat(5000),
  '$(reboot)',
  "'; drop",
  '{}',
  '[',
  '%s%n',
  '10.0.0.0/33',
  '10.0.0.1/8',
  '0.0.0.0/0',
  '::/0',
  '::ffff:10.0.0.1',
  'fe80::1%eth0',
  '256.1.1.1',
  '010.0.0.1',
  '0a:58:0a:f4:00:05:06',
  'ff:ff:ff:ff:ff:ff',
  '1-1-1',
  '65535-1',
  [],
  {},
  [[]],
  [null],
  { '': '' },
];
const KEYS = ['__proto__', 'constructor', 'toString', '', 'metadata', 'spec', 'a\u0000b', '0'];
/** Fragments for texts of any form. */
const FRAGMENTS = [
  '"',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '\\',
  '\\u0000',
  '\n',
  '\0',
  '---\n',
  '&a ',
  '*a',
  '!!js/function x',
  '? ',
  '<<: ',
  '"__proto__":{"polluted":1},',
  '=',
  ';',
  '/',
  '@',
  '-',
  '%',
  'NaN',
  '1e999',
  '\u202e',
  '\u001b',
  '\ufeff',
  '\ud800',
];
const DEEPEST = 400;

const isFilled = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.keys(value).length > 0;

/** A JSON value with one node changed, added, removed, repeated or moved. */
function changed(value: unknown, random: SeededRandom, depth = 0): unknown {
  if (Array.isArray(value) && value.length > 0 && random.is(0.8)) {
    const at = random.below(value.length);
    switch (random.below(6)) {
      case 0:
        return value.toSpliced(at, 1);
      case 1:
        return [
          ...(value as readonly unknown[]),
          ...Array.from(
            { length: random.below(random.is(0.02) ? 2000 : 4) },
            () => value[at] as unknown,
          ),
        ];
      case 2:
        return value.toSpliced(at, 0, random.pick(HOSTILE));
      default:
        return value.with(at, changed(value[at], random, depth + 1));
    }
  }
  if (isFilled(value) && random.is(0.9)) {
    const entries = Object.entries(value);
    const at = random.below(entries.length);
    const [key = '', old] = entries[at] ?? [];
    switch (random.below(9)) {
      case 0:
        return Object.fromEntries(entries.toSpliced(at, 1));
      case 1:
        return Object.fromEntries([...entries, [random.pick(KEYS), random.pick(HOSTILE)]]);
      case 2:
        return Object.fromEntries([
          ...entries,
          ['__proto__', { polluted: true, metadata: {}, spec: {} }],
        ]);
      case 3:
        return Object.fromEntries(entries.with(at, [random.pick(KEYS), old]));
      default:
        return Object.fromEntries(entries.with(at, [key, changed(old, random, depth + 1)]));
    }
  }
  if (typeof value === 'string' && random.is(0.5)) return textChanged(value, random);
  if (typeof value === 'number' && random.is(0.3))
    return value + random.pick([1, -1, 0.5, 2 ** 32, -(2 ** 32)]);
  if (random.is(0.01)) {
    let nested: unknown = value;
    for (let level = random.below(DEEPEST); level > 0; level -= 1)
      nested = random.is(0.5) ? [nested] : { a: nested };
    return nested;
  }
  return random.pick(HOSTILE);
}

/** A text with characters removed, doubled, replaced or put in. */
function textChanged(text: string, random: SeededRandom): string {
  const at = random.below(text.length + 1);
  const end = Math.min(text.length, at + random.below(12));
  switch (random.below(7)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + text.slice(end);
    case 2:
      return text.slice(0, end) + text.slice(at);
    case 3:
      return (
        text.slice(0, at) +
        String.fromCharCode(random.below(random.is(0.8) ? 128 : 65_536)) +
        text.slice(at + 1)
      );
    case 4:
      return (
        text.slice(0, at) +
        text.slice(at, end).repeat(random.below(random.is(0.02) ? 500 : 5)) +
        text.slice(end)
      );
    default:
      return text.slice(0, at) + random.pick(FRAGMENTS) + text.slice(random.is(0.5) ? at : end);
  }
}

/** A changed JSON text: mostly still JSON. */
function jsonChanged(text: string, random: SeededRandom): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return textChanged(text, random);
  }
  for (let times = 1 + random.below(3); times > 0; times -= 1) value = changed(value, random);
  // Annotations hold JSON in strings.
  return random.is(0.9) ? JSON.stringify(value) : textChanged(JSON.stringify(value), random);
}

/** The input number `index` of `seed`, made of one of `corpus`. */
export function mutated(corpus: readonly string[], seed: number, index: number): string {
  const random = new SeededRandom(
    (Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b)) >>> 0,
  );
  const good = random.pick(corpus);
  return random.is(0.75) ? jsonChanged(good, random) : textChanged(good, random);
}

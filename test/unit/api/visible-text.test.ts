/** What others write neither acts on a terminal nor looks like something else: at every place where it leaves. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withCondition } from '../../../src/api/conditions.ts';
import { clipped, visibleJson, visibleLines, visibleText } from '../../../src/api/visible-text.ts';
import { CniError } from '../../../src/cni/protocol/cni-error.ts';
import { errorResult } from '../../../src/cni/protocol/result.ts';
import { coreEvent } from '../../../src/store/object-event.ts';

const ESC = '\u001b';
/** Written apart from the code under test: C0, DEL, C1, directions, isolates, marks, separators. */
// oxlint-disable-next-line no-control-regex
const ACTS = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;
const hostile = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      ESC,
      '\u009b',
      '\u202e',
      '\u2066',
      '\n',
      '\r',
      '\0',
      '\u0085',
      '\u2028',
      '\u{e0041}',
      '\ud800',
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  ),
});

describe('text of others', () => {
  test.each([
    [`${ESC}[2J${ESC}]0;title\u0007`, '\\u{1b}[2J\\u{1b}]0;title\\u{7}'],
    ['\u009b31m', '\\u{9b}31m'],
    ['a\u202egnp.exe', 'a\\u{202e}gnp.exe'],
    ['ok\nerror: forged', 'ok\\nerror: forged'],
    ['a\tb\rc', 'a\\tb\\rc'],
    ['\u{e0041}', '\\u{e0041}'],
  ])('%j is shown as %s', (text, shown) => {
    expect(visibleText(text)).toBe(shown);
  });

  test('stays as it is where nothing in it acts, in any script', () => {
    for (const text of ['10.0.0.0/16 → "blue"', 'größer', 'شبكة', '网络', '🧵', 'a\\u{1b}'])
      expect(visibleText(text)).toBe(text);
  });

  test('is one line that acts on nothing, and is the same when it leaves twice', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const shown = visibleText(text);
        expect(shown).not.toMatch(ACTS);
        expect(shown.isWellFormed()).toBe(true);
        expect(visibleText(shown)).toBe(shown);
        expect(shown.length).toBeLessThanOrEqual(8 * text.length);
        expect(visibleLines(text).replaceAll('\n', '\\n')).toBe(shown);
      }),
    );
  });

  test('in JSON is the same value, written without anything that acts', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), hostile, (value, text) => {
        const all = [value, text, { [text]: text }];
        const json = visibleJson(JSON.stringify(all));
        expect(json).not.toMatch(ACTS);
        expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(all)));
      }),
    );
  });

  test('is cut between characters', () => {
    expect(clipped('ab🧵', 3)).toBe('ab');
    expect(clipped('ab🧵', 4)).toBe('ab🧵');
  });
});

describe('leaves visibly', () => {
  const message = `pod says "${ESC}[8m\u202e\u009b"\nforged`;
  const shown = 'pod says "\\u{1b}[8m\\u{202e}\\u{9b}"\\nforged';

  test('in a condition', () => {
    const stated = { type: 'Ready', status: 'False', reason: 'X', message } as const;
    expect(withCondition([], stated, '2026-01-01T00:00:00Z')[0]?.message).toBe(shown);
  });

  test('in an event', () => {
    const regarding = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', namespace: 'b' } };
    const event = { regarding, type: 'Warning', reason: 'X', message } as const;
    expect(coreEvent(event, 'heddle', '2026-01-01T00:00:00Z').message).toBe(shown);
  });

  test('to the container runtime, whose kubelet makes an event of it', () => {
    expect(errorResult('1.0.0', new CniError(message, 100, `a\n${ESC}b`))).toMatchObject({
      msg: shown,
      details: 'a\n\\u{1b}b',
    });
  });
});

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseTraceParent } from '../../../src/traces/trace-parent.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

test.each([
  [`00-${TRACE}-${SPAN}-01`, true],
  [`00-${TRACE}-${SPAN}-00`, false],
  // Flags that are not known yet.
  [`00-${TRACE}-${SPAN}-03`, true],
  [`00-${TRACE}-${SPAN}-fe`, false],
  // A version of later, with and without more.
  [`cc-${TRACE}-${SPAN}-01`, true],
  [`cc-${TRACE}-${SPAN}-01-what-the-future-will-be-like`, true],
])('%s is a traceparent', (text, isSampled) => {
  expect(parseTraceParent(text)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled });
});

test.each([
  '',
  TRACE,
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-1`,
  `00-${TRACE}-${SPAN}-01-more`,
  `00-${TRACE}-${SPAN}-01-`,
  `ff-${TRACE}-${SPAN}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE.slice(1)}-${SPAN}-01`,
  ` 00-${TRACE}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01\n`,
  `00-${TRACE}-${SPAN}-01\u0000`,
  `cc-${TRACE}-${SPAN}-01-\u001b[2J`,
  `cc-${TRACE}-${SPAN}-01-${'x'.repeat(1000)}`,
])('%j is none', (text) => {
  expect(parseTraceParent(text)).toBeUndefined();
});

const digits = (count: number): fc.Arbitrary<string> =>
  fc.string({
    unit: fc.constantFrom(...Array.from('0123456789abcdef')),
    minLength: count,
    maxLength: count,
  });

test('whatever valid one is written is read as it was meant', () => {
  fc.assert(
    fc.property(digits(2), digits(32), digits(16), digits(2), (version, trace, span, flags) => {
      fc.pre(version !== 'ff' && !/^0+$/.test(trace) && !/^0+$/.test(span));
      expect(parseTraceParent(`${version}-${trace}-${span}-${flags}`)).toEqual({
        traceId: trace,
        spanId: span,
        isSampled: Number.parseInt(flags, 16) % 2 === 1,
      });
    }),
  );
});

test('whatever the text is, ids are hexadecimal digits and not all 0, or there are none', () => {
  const near = fc
    .tuple(digits(2), digits(32), digits(16), digits(2), fc.string(), fc.nat(60))
    .map(([version, trace, span, flags, noise, at]) => {
      const text = `${version}-${trace}-${span}-${flags}`;
      return `${text.slice(0, at)}${noise}${text.slice(at)}`;
    });
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary-ascii' }), near), (text) => {
      const parent = parseTraceParent(text);
      if (parent === undefined) return;
      expect(parent.traceId).toMatch(/^(?!0+$)[0-9a-f]{32}$/);
      expect(parent.spanId).toMatch(/^(?!0+$)[0-9a-f]{16}$/);
    }),
  );
});

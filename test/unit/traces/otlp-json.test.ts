import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { rejectedSpans, traceRequest } from '../../../src/traces/otlp-json.ts';
import type { Span } from '../../../src/traces/span.ts';

/** What `JsonTraceSerializer` of @opentelemetry/otlp-transformer 0.301.0 makes of the same two spans. */
const RECORDED: unknown = JSON.parse(
  readFileSync(join(import.meta.dirname, 'recorded.json'), 'utf8'),
);

const ADD: Span = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  parentId: '53995c3f42cd8ad8',
  name: 'CNI ADD',
  kind: 'server',
  start: 1_700_000_000_000.25,
  end: 1_700_000_000_999.5,
  attributes: { 'k8s.pod.name': 'web', 'heddle.nads': ['default', 'blue/net'] },
  error: 'no address is left',
};
const START: Span = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '53995c3f42cd8ad8',
  name: 'pod start',
  kind: 'internal',
  start: 1_699_999_999_000,
  end: 1_700_000_001_000,
  attributes: {},
};

const request = (spans: readonly Span[]): unknown =>
  JSON.parse(
    traceRequest(
      spans,
      { 'service.name': 'heddle-node', 'k8s.node.name': 'n1' },
      { name: 'heddle', version: '1.2.3' },
    ),
  );

/** Without what is 0 or empty where it is not said, and whether the parent was of another process. */
function essential(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(essential);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !/^dropped|^(events|links|flags)$/.test(key))
      .map(([key, one]) => [key, essential(one)]),
  );
}

test("a request is that of OpenTelemetry's own exporter", () => {
  expect(essential(request([ADD, START]))).toEqual(essential(RECORDED));
});

test('times have no rounding of numbers in them', () => {
  const [at] = JSON.stringify(request([{ ...ADD, start: 1_764_375_839_123.0625 }])).match(
    /(?<="startTimeUnixNano":")\d+/,
  ) ?? [''];
  expect(at).toBe('1764375839123062500');
});

test.each([
  ['', 0],
  ['{}', 0],
  ['{"partialSuccess":{}}', 0],
  ['{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too many"}}', 3],
  ['{"partialSuccess":{"rejectedSpans":3}}', 3],
  ['{"partialSuccess":{"rejectedSpans":-3}}', 0],
  ['{"partialSuccess":{"rejectedSpans":1e99}}', 0],
  ['{"partialSuccess":{"rejectedSpans":{}}}', 0],
  ['{"partialSuccess":[]}', 0],
  ['null', 0],
  ['<html>', 0],
])('of the answer %s so many spans were refused: %i', (body, count) => {
  expect(rejectedSpans(body)).toBe(count);
});

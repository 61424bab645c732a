/** Spans on their way to a collector that takes them, is away, slow or hostile. */
import { expect, test } from 'vitest';
import { SpanSender, type SpanSenderOptions } from '../../../src/traces/span-sender.ts';
import type { Span } from '../../../src/traces/span.ts';
import { OtlpReceiver } from '../../support/run/otlp-receiver.ts';
import { until } from '../../support/run/until.ts';

const span = (name = 'CNI ADD'): Span => ({
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  parentId: '53995c3f42cd8ad8',
  name,
  kind: 'server',
  start: 1_700_000_000_000.25,
  end: 1_700_000_000_999.5,
  attributes: { 'k8s.pod.name': 'web', 'heddle.nads': ['default', 'blue/net'] },
  error: 'no address is left',
});

class Bed implements AsyncDisposable {
  readonly outcomes = { sent: 0, dropped: 0, failed: 0 };
  readonly reasons: unknown[] = [];
  readonly sender: SpanSender;

  constructor(url: string, limits: SpanSenderOptions['limits'] = {}) {
    this.sender = new SpanSender({
      endpoint: new URL('/v1/traces', url),
      resource: { 'service.name': 'heddle-node' },
      version: '1.2.3',
      onEnd: (outcome, spans, why) => {
        this.outcomes[outcome] += spans;
        if (why !== undefined) this.reasons.push(why);
      },
      limits: { delay: 20, ...limits },
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.sender[Symbol.asyncDispose]();
  }
}

test('a span comes as it was sent, with its parent, times, attributes and error', async () => {
  await using receiver = await OtlpReceiver.start();
  await using bed = new Bed(receiver.url);
  bed.sender.send(span());
  await until('the span', () => receiver.spans.length > 0);
  expect(receiver.path).toBe('/v1/traces');
  expect(receiver.headers['content-type']).toBe('application/json');
  expect(receiver.spans).toEqual([
    {
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      spanId: '00f067aa0ba902b7',
      parentSpanId: '53995c3f42cd8ad8',
      name: 'CNI ADD',
      kind: 2,
      start: 1_700_000_000_000_250_000n,
      end: 1_700_000_000_999_500_000n,
      attributes: {
        'k8s.pod.name': 'web',
        'heddle.nads': ['default', 'blue/net'],
      },
      error: 'no address is left',
      service: 'heddle-node',
    },
  ]);
  await until('the answer', () => bed.outcomes.sent === 1);
  expect(bed.outcomes).toEqual({ sent: 1, dropped: 0, failed: 0 });
});

test('what waits is sent when the process ends', async () => {
  await using receiver = await OtlpReceiver.start();
  {
    await using bed = new Bed(receiver.url, { delay: 60_000 });
    bed.sender.send(span());
  }
  expect(receiver.spans).toHaveLength(1);
});

test.each([
  ['hang', 'The operation was aborted'],
  ['drip', 'aborted'],
  ['refuse', 'the collector answers with status 403'],
  ['redirect', 'the collector answers with status 307'],
] as const)(
  'a collector that does this: %s, costs its spans alone; the next ones are sent once it takes them',
  async (behaviour, reason) => {
    await using receiver = await OtlpReceiver.start();
    receiver.behaviour = behaviour;
    // Enough for one that answers, also on a busy machine.
    await using bed = new Bed(receiver.url, { request: 1500 });
    const began = performance.now();
    bed.sender.send(span('lost'));
    expect(performance.now() - began).toBeLessThan(200);
    await until('the end of the request', () => bed.outcomes.failed === 1);
    expect(bed.reasons.map(String)).toEqual([expect.stringContaining(reason)]);
    receiver.behaviour = 'take';
    bed.sender.send(span('taken'));
    await until('the next span', () => bed.outcomes.sent === 1);
    expect(receiver.spans.map(({ name }) => name)).toEqual(['taken']);
  },
);

test('nobody who listens costs the spans alone', async () => {
  const receiver = await OtlpReceiver.start();
  const { url } = receiver;
  await receiver[Symbol.asyncDispose]();
  await using bed = new Bed(url);
  bed.sender.send(span());
  await until('the end of the request', () => bed.outcomes.failed === 1);
});

test('while a collector hangs a bounded number of spans waits, and one request is under way; what is beyond is counted', async () => {
  await using receiver = await OtlpReceiver.start();
  receiver.behaviour = 'hang';
  await using bed = new Bed(receiver.url, { waiting: 100, batch: 10, request: 150 });
  const underWay: number[] = [];
  receiver.onRequest = () => underWay.push(receiver.requests - bed.reasons.length);
  bed.sender.send(span());
  await until('the request', () => receiver.requests === 1);
  for (let index = 0; index < 1000; index += 1) bed.sender.send(span());
  expect(bed.outcomes).toEqual({ sent: 0, dropped: 900, failed: 0 });
  await until('the end of what waited', () => bed.outcomes.failed === 101);
  expect(underWay).toEqual(Array.from({ length: 11 }, () => 1));
});

test('a collector that hangs holds up the end of the process for a moment alone', async () => {
  await using receiver = await OtlpReceiver.start();
  receiver.behaviour = 'hang';
  const bed = new Bed(receiver.url, { request: 60_000, end: 200 });
  bed.sender.send(span());
  await until('the request', () => receiver.requests === 1);
  bed.sender.send(span());
  const began = performance.now();
  await bed.sender[Symbol.asyncDispose]();
  expect(performance.now() - began).toBeLessThan(2000);
  expect(bed.outcomes.failed).toBe(2);
  expect(receiver.spans).toEqual([]);
});

test('of an answer that is long no more is read than a collector has to say', async () => {
  await using receiver = await OtlpReceiver.start();
  receiver.behaviour = 'flood';
  await using bed = new Bed(receiver.url);
  bed.sender.send(span());
  await until('the answer', () => bed.outcomes.sent === 1);
  expect(receiver.written).toBeLessThan(8 * 1024 * 1024);
});

test('spans that a collector takes in part are counted as what became of them', async () => {
  await using receiver = await OtlpReceiver.start();
  receiver.behaviour = 'part';
  await using bed = new Bed(receiver.url);
  for (let index = 0; index < 3; index += 1) bed.sender.send(span());
  await until('the answer', () => bed.outcomes.sent === 2);
  expect(bed.outcomes).toEqual({ sent: 2, dropped: 0, failed: 1 });
});

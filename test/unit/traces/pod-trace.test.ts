import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isRecorded, podTrace } from '../../../src/traces/pod-trace.ts';
import { TRACE_PARENT } from '../../../src/traces/trace-parent.ts';

const UID = '9b8f2f5e-6a0c-4d1f-9a55-0d4c6f7b8a91';

test("the id of a pod's trace is its UID without dashes, wherever it is asked for", () => {
  expect(podTrace({ uid: UID })).toEqual({
    traceId: '9b8f2f5e6a0c4d1f9a550d4c6f7b8a91',
    rootId: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
  });
  expect(podTrace({ uid: UID })).toEqual(podTrace({ uid: UID, annotations: { other: 'x' } }));
});

test('a pod without a UID has none', () => {
  expect(podTrace({})).toBeUndefined();
  expect(podTrace({ uid: '' })).toBeUndefined();
});

test('a valid annotation names the trace and the span above; one that is not valid changes nothing', () => {
  const annotated = (text: string) => podTrace({ uid: UID, annotations: { [TRACE_PARENT]: text } });
  expect(annotated('00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01')).toEqual({
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    rootId: podTrace({ uid: UID })?.rootId,
    parentId: '00f067aa0ba902b7',
    isSampled: true,
  });
  expect(annotated('$(reboot)\u001b[2J')).toEqual(podTrace({ uid: UID }));
});

test('pods of one trace have spans of their own', () => {
  const annotations = { [TRACE_PARENT]: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
  const [a, b] = ['one', 'two'].map((uid) => podTrace({ uid, annotations }));
  expect(a?.traceId).toBe(b?.traceId);
  expect(a?.rootId).not.toBe(b?.rootId);
});

test('any text is a UID: its trace has a valid id', () => {
  const uids = fc.oneof(
    fc.string({ minLength: 1, unit: 'binary-ascii' }),
    fc.constant('00000000-0000-0000-0000-000000000000'),
  );
  fc.assert(
    fc.property(uids, (uid) => {
      expect(podTrace({ uid })?.traceId).toMatch(/^(?!0+$)[0-9a-f]{32}$/);
    }),
  );
});

test('of the traces of many pods about the ratio is recorded, all of them at 1 and none at 0', () => {
  const traces = Array.from({ length: 2000 }, (_, index) => podTrace({ uid: `pod ${index}` }));
  const recorded = (ratio: number): number =>
    traces.filter((trace) => trace !== undefined && isRecorded(trace, ratio)).length;
  expect(recorded(0)).toBe(0);
  expect(recorded(1)).toBe(2000);
  expect(recorded(0.1)).toBeGreaterThan(120);
  expect(recorded(0.1)).toBeLessThan(280);
});

test('a trace that somebody else began is recorded as they say, whatever the ratio', () => {
  const began = (flags: string) =>
    podTrace({
      uid: UID,
      annotations: {
        [TRACE_PARENT]: `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-${flags}`,
      },
    });
  const [yes, no] = [began('01'), began('00')];
  expect(yes !== undefined && isRecorded(yes, 0)).toBe(true);
  expect(no !== undefined && isRecorded(no, 1)).toBe(false);
});

/** What `ofproto/trace` prints; what it says of real bridges is test/integration/zone/bridge-walk.test.ts. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BridgeTraceError, readBridgeTrace } from '../../../src/packets/bridge-trace.ts';

const recorded = (name: string): string =>
  readFileSync(join(import.meta.dirname, 'traces', name), 'utf8');

describe('a trace of Open vSwitch', () => {
  const events = readBridgeTrace(recorded('bridges-outside.txt'));

  test('has each flow with its bridge, also of a packet that goes on after connection tracking', () => {
    const beyond = events.filter((event) => event.kind === 'flow' && event.bridge !== 'br-int');
    expect(beyond).toMatchObject([
      {
        bridge: 'breth0',
        table: 0,
        match: 'ip,in_port=4,dl_src=0a:58:ac:12:00:0b,nw_src=169.254.0.11',
        priority: 100,
        cookie: '0x478f88ee0deff105',
      },
      { bridge: 'breth0', table: 8, match: 'ip,nw_src=172.18.0.11', actions: ['output:1'] },
    ]);
  });

  test('has the ports that it leaves by, and the addresses that it was given', () => {
    expect(
      events.flatMap((event) => (event.kind === 'output' ? [`${event.bridge} ${event.port}`] : [])),
    ).toEqual(['br-int 3', 'breth0 1']);
    expect(events.filter((event) => event.kind === 'translation')).toEqual([
      { kind: 'translation', from: '169.254.0.11', to: '172.18.0.100' },
      { kind: 'translation', from: '172.18.0.11', to: '172.18.0.100' },
    ]);
  });

  test('tells a table without a flow from a flow', () => {
    expect(events).toContainEqual(
      expect.objectContaining({ kind: 'miss', bridge: 'br-int', table: 75, actions: ['drop'] }),
    );
  });

  test.each(['', 'Bad openflow flow syntax: tcp: unknown field', 'bridge("br-int")'])(
    'is refused where it is none: %j',
    (text) => {
      expect(() => readBridgeTrace(text)).toThrow(BridgeTraceError);
    },
  );

  test('of any lines ends, with events or with that error', () => {
    const lines = recorded('bridges-outside.txt').split('\n');
    fc.assert(
      fc.property(fc.shuffledSubarray(lines), fc.string(), (some, text) => {
        try {
          expect(readBridgeTrace([...some, text].join('\n')).length).toBeGreaterThan(0);
        } catch (error) {
          expect(error).toBeInstanceOf(BridgeTraceError);
        }
      }),
      { numRuns: 30 },
    );
  });
});

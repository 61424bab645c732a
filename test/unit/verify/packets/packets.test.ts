import { describe, expect, test } from 'vitest';
import { frameOf } from '../../../../src/verify/packets/frame.ts';
import { sendPackets, type Wire } from '../../../../src/verify/packets/packets.ts';
import { Places } from '../../../../src/verify/packets/places.ts';
import { PacketJudge, type PacketReport } from '../../../../src/verify/packets/report.ts';
import type { PassingFrame } from '../../../../src/verify/packets/sightings.ts';
import { prove } from '../../../../src/verify/verify.ts';
import { Outputs } from '../../../../src/verify/witnesses/judge.ts';
import type { Trace } from '../../../../src/verify/witnesses/traces.ts';
import { connectedSnapshot } from '../../../support/verify/connected-zone.ts';
import { INTERFACES, openVswitchOf } from '../../../support/verify/interfaces.ts';
import { inGeneve } from '../../../support/verify/marked-frames.ts';
import { snapshot } from '../../../support/verify/small-zone.ts';
import { V4 } from '../../../support/verify/test-witnesses.ts';

const NONCE = 0x1a2b3c4d;
const SNAPSHOT = snapshot({ openVswitch: openVswitchOf(INTERFACES) });

/** What the switch does with a frame of a device: where it is seen next. */
type Switch = (device: string, frame: Uint8Array) => readonly PassingFrame[];

const out = (device: string, frame: Uint8Array): PassingFrame => ({
  device,
  frame,
  isOutgoing: true,
});
const into = (device: string, frame: Uint8Array): PassingFrame => ({
  device,
  frame,
  isOutgoing: false,
});
/** As a pod's interface is seen by the host. */
const sent: Switch = (device, frame) => [into(device, frame)];

const traceTo = (...ports: readonly string[]): Trace => ({
  outputs: ports.map((port) => ({ bridge: 'br-int', port, line: '65. priority 100' })),
  datapaths: [],
  last: '',
});

interface Given {
  readonly switchOf?: Switch;
  readonly traces?: readonly [first: Trace, again: Trace];
  readonly of?: typeof SNAPSHOT;
  readonly lost?: number;
  readonly error?: string;
}

async function reported({
  switchOf = sent,
  traces: [first, again] = [traceTo(), traceTo()],
  of = SNAPSHOT,
  lost = 0,
  error,
}: Given): Promise<PacketReport & { readonly times: number; readonly isClosed: boolean }> {
  const proof = prove(of);
  let passing: PassingFrame[] = [];
  let times = 0;
  let isClosed = false;
  const wire: Wire = {
    send(device, frame) {
      times += 1;
      if (error !== undefined) throw new Error(error);
      passing.push(...switchOf(device, frame));
    },
    take() {
      const taken = passing;
      passing = [];
      return taken;
    },
    lost: () => lost,
    wait: () => Promise.resolve(),
    [Symbol.dispose]() {
      isClosed = true;
    },
  };
  const report = await sendPackets([{ witness: V4, number: 1, trace: first }], {
    nonce: NONCE,
    open: () => wire,
    retrace: () => Promise.resolve(again),
    places: new Places(of),
    judge: new PacketJudge(proof, new Outputs(of, proof), NONCE),
  });
  return { ...report, times, isClosed };
}

describe('a packet that is sent', () => {
  test('agrees where it comes out nowhere, as tracers say, and its listener is closed', async () => {
    expect(await reported({})).toEqual({
      sums: {
        nonce: '0x1a2b3c4d',
        sent: 1,
        nowhere: 1,
        toPods: 0,
        toHost: 0,
        toTunnels: 0,
        outside: 0,
        differing: 0,
      },
      violations: [],
      undecided: [],
      notProved: [
        'where packets come out on other nodes and outside: those of this run have the TCP sequence number 0x1a2b3c4d',
      ],
      times: 1,
      isClosed: true,
    });
  });

  test('is a violation at a pod of another network, with port, pod, networks and packet', async () => {
    const leak: Switch = (device, frame) => [into(device, frame), out('veth-green', frame)];
    const { violations, sums } = await reported({
      switchOf: leak,
      traces: [traceTo('8'), traceTo('8')],
    });
    expect(sums).toMatchObject({ toPods: 1, nowhere: 0, differing: 0 });
    expect(violations).toEqual([
      {
        check: 'witnesses',
        where: 'packet from blue.net_blue_a to 10.80.0.3',
        what: 'what network blue_net sends to 10.80.0.3 of green_net comes out at green.net_green_a of network green_net, by device veth-green of Pod green/a, where packet 1 from blue.net_blue_a (0a:58:0a:14:00:03 to 0a:58:0a:14:00:01, TCP 10.20.0.3 port 61000 to 10.80.0.3 port 80, sequence number 0x1a2b3c4d) was seen: no object wants that',
        object: 'UserDefinedNetwork blue/net',
        networks: ['blue_net', 'green_net'],
      },
    ]);
  });

  test('is one also when it does it once alone', async () => {
    let turn = 0;
    const { violations, sums, times } = await reported({
      switchOf: (device, frame) => [
        into(device, frame),
        ...(turn++ === 0 ? [out('veth-green', frame)] : []),
      ],
    });
    expect(times).toBe(2);
    expect(sums).toMatchObject({ toPods: 0, nowhere: 1, differing: 0 });
    expect(violations).toHaveLength(1);
  });

  test('may come out at a pod of a network that an object joins', async () => {
    const of = { ...connectedSnapshot(), openVswitch: openVswitchOf(INTERFACES) };
    const { violations, sums, undecided } = await reported({
      of,
      switchOf: (device, frame) => [into(device, frame), out('veth-green', frame)],
      traces: [traceTo('8'), traceTo('8')],
    });
    expect({ violations, undecided }).toEqual({ violations: [], undecided: [] });
    expect(sums.toPods).toBe(1);
  });

  test('may leave by the uplink and to the host, but not in a tunnel with a key of nobody', async () => {
    const by = (frames: (frame: Uint8Array) => readonly PassingFrame[]): Promise<PacketReport> =>
      reported({ switchOf: (device, frame) => [into(device, frame), ...frames(frame)] });
    const outside = await by((frame) => [out('eth0', frame), into('mp1', frame)]);
    expect(outside.sums).toMatchObject({ outside: 1, toHost: 1, nowhere: 0 });
    const tunnel = await by((frame) => [out('eth0', inGeneve(frame, 77))]);
    expect(tunnel.sums).toMatchObject({ toTunnels: 1 });
    expect(tunnel.violations[0]?.what).toContain(
      'eth0 of nobody, by device eth0 with tunnel key 77',
    );
  });

  test('says nothing any more once a pod that got it sends it on', async () => {
    const of = { ...connectedSnapshot(), openVswitch: openVswitchOf(INTERFACES) };
    const { violations, sums } = await reported({
      of,
      traces: [traceTo('8'), traceTo('8')],
      switchOf: (device, frame) => [
        into(device, frame),
        out('veth-green', frame),
        into('veth-green', frame),
        out('eth0', inGeneve(frame, 77)),
      ],
    });
    expect(violations).toEqual([]);
    expect(sums).toMatchObject({ toPods: 1, toTunnels: 0 });
  });
});

describe('what is not decided', () => {
  test('is where tracers say something else, also when asked again', async () => {
    const { undecided, sums, times } = await reported({ traces: [traceTo('8'), traceTo('8')] });
    expect(times).toBe(2);
    expect(sums.differing).toBe(1);
    expect(undecided).toEqual([
      expect.stringMatching(
        /^tracer and packet disagree: ofproto\/trace leads to green\.net_green_a, the packet to no pod of this node: packet 1 from blue\.net_blue_a \(/,
      ),
    ]);
    const once = await reported({ traces: [traceTo('8'), traceTo()] });
    expect(once).toMatchObject({ undecided: [], times: 2, sums: { differing: 0 } });
  });

  test('is where nothing could be sent, or was not seen to come from the pod', async () => {
    expect((await reported({ error: 'no such device' })).undecided).toEqual([
      'no packet could be sent: blue.net_blue_a: no such device',
    ]);
    const unseen = await reported({ switchOf: () => [] });
    expect(unseen.times).toBe(2);
    expect(unseen.undecided).toEqual([
      'no packet could be sent: blue.net_blue_a: the host did not see it come from the pod',
    ]);
    const withoutInterface = { ...SNAPSHOT, openVswitch: openVswitchOf([]) };
    expect((await reported({ of: withoutInterface })).undecided).toEqual([
      'no packet could be sent: blue.net_blue_a: it has no interface on br-int',
    ]);
  });

  test('is where frames were lost', async () => {
    expect((await reported({ lost: 3 })).undecided).toEqual([
      '3 frames of packets found no place to be seen: try again',
    ]);
  });
});

test('a frame of another program with another mark is nothing to us', async () => {
  const other = frameOf(V4, { nonce: NONCE + 1, number: 1 });
  const later = frameOf(V4, { nonce: NONCE, number: 2 });
  const { violations } = await reported({
    switchOf: (device, frame) => [
      into(device, frame),
      out('veth-green', other),
      out('veth-green', later),
    ],
  });
  expect(violations).toEqual([]);
});

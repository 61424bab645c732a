/** The filter of packets in the kernel: it takes the program, and gives the frames with the mark whatever they are in, and no other ones. */
import { closeSync, openSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  addLink,
  FrameListener,
  getLink,
  inNetworkNamespace,
  NetlinkSocket,
  sendFrame,
} from '../../../src/netlink/index.ts';
import { captureFilter } from '../../../src/verify/packets/capture-filter.ts';
import { frameOf, readFrame } from '../../../src/verify/packets/frame.ts';
import { NetworkNamespace, whyNoNamespace } from '../../support/host/network-namespace.ts';
import { inGeneve, inVlan } from '../../support/verify/marked-frames.ts';
import { V4, V6 } from '../../support/verify/test-witnesses.ts';

const NONCE = 0xfedcba98;

test.skipIf(whyNoNamespace !== undefined)(
  'of all frames those with the mark are seen',
  async () => {
    using place = await NetworkNamespace.create();
    const namespace = openSync(place.path, 'r');
    try {
      using socket = new NetlinkSocket('route', { namespace });
      socket.change(
        addLink({ name: 'a', isUp: true, kind: { kind: 'veth', peer: { name: 'b' } } }),
      );
      place.ip('link set dev b up');
      const { index } = socket.get(getLink('a'));
      using listener = inNetworkNamespace(
        namespace,
        () => new FrameListener({ filter: captureFilter(NONCE) }),
      );
      const frames = [V4, V6].flatMap((witness, turn) => {
        const frame = frameOf(witness, { nonce: NONCE, number: turn + 1 });
        return [frame, inVlan(frame, 7), inGeneve(frame, 5), inGeneve(frame, 5, true)];
      });
      for (const frame of frames) sendFrame(index, frame, { namespace });
      for (const nonce of [0, NONCE + 1, NONCE - 1])
        for (const witness of [V4, V6])
          sendFrame(index, frameOf(witness, { nonce, number: 1 }), { namespace });
      sendFrame(index, new Uint8Array(60), { namespace });
      const seen = listener.take();
      const found = seen.map(({ isOutgoing, frame }) => ({
        isOutgoing,
        ...readFrame(frame, NONCE),
      }));
      expect(found).toEqual(
        [1, 2].flatMap((number) =>
          [{}, {}, { tunnelKey: 5 }, { tunnelKey: 5 }].flatMap((key) =>
            [true, false].map((isOutgoing) => ({ isOutgoing, number, ...key })),
          ),
        ),
      );
    } finally {
      closeSync(namespace);
    }
  },
);

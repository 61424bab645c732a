/** What packets are sent by, and why one can't be. */
import { closeSync, openSync } from 'node:fs';
import { expect, test } from 'vitest';
import { addLink, inNetworkNamespace, NetlinkSocket } from '../../../src/netlink/index.ts';
import { frameOf } from '../../../src/verify/packets/frame.ts';
import { openWire } from '../../../src/verify/read/wire.ts';
import { NetworkNamespace, whyNoNamespace } from '../../support/host/network-namespace.ts';
import { V4 } from '../../support/verify/test-witnesses.ts';

const NONCE = 0x1a2b3c4d;

test.skipIf(whyNoNamespace !== undefined)(
  'what is no pod’s interface, or one of a namespace that nobody names, is refused with why',
  async () => {
    using host = await NetworkNamespace.create();
    using pod = await NetworkNamespace.create();
    const [namespace, other] = [host, pod].map(({ path }) => openSync(path, 'r')) as [
      number,
      number,
    ];
    try {
      using socket = new NetlinkSocket('route', { namespace });
      using wire = inNetworkNamespace(namespace, () => openWire(NONCE));
      // They come after it was opened.
      host.ip('link add both type veth peer name ends');
      const kind = { kind: 'veth', peer: { name: 'eth0', namespace: other } } as const;
      socket.change(addLink({ name: 'unnamed', isUp: true, kind }));
      const frame = frameOf(V4, { nonce: NONCE, number: 1 });
      for (const device of ['lo', 'both', 'nothing'])
        expect(() => wire.send(device, frame)).toThrow(
          `device ${device} is no end of a veth pair that a pod has`,
        );
      expect(() => wire.send('unnamed', frame)).toThrow(
        'the network namespace behind device unnamed is not in /var/run/netns',
      );
      expect(wire.take()).toEqual([]);
      expect(wire.lost()).toBe(0);
    } finally {
      for (const fd of [namespace, other]) closeSync(fd);
    }
  },
);

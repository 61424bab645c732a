/** Leases of egress addresses at network cards, on the real kernel. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { addAddress, addresses } from 'rtnetlink-ts';
import { CardLeases } from '../../../../src/node/egress-lease/card-leases.ts';
import { newAddress } from '../../../../src/node/linux/linux-requests.ts';
import { makeChanges } from '../../../../src/node/linux/linux-writer.ts';
import { linkOf, openRouteSocket } from '../../../../src/node/linux/network-socket.ts';
import { NetworkNamespace, whyNoNamespace } from '../../../support/host/network-namespace.ts';

const HELD = ['10.9.0.50/32', 'fd00:10:9::50/128'];
const FOREVER = 0xffff_ffff;

describe.skipIf(whyNoNamespace !== undefined)(
  `egress addresses at a network card${whyNoNamespace === undefined ? '' : ` (${whyNoNamespace})`}`,
  () => {
    let namespace: NetworkNamespace;
    let leases: CardLeases;

    /** As the daemon gives it, or one of a release before. */
    const give = (dev: string, address: string, isLeased = true): void => {
      using socket = openRouteSocket(namespace.path);
      const device = linkOf(socket, dev)?.index ?? 0;
      const deprecated = address.includes(':');
      socket.change(addAddress(newAddress({ dev, address, deprecated, isLeased }, () => device)));
    };
    /** Seconds that addresses of a device are there for yet. */
    const found = (dev: string): Readonly<Record<string, number>> => {
      using socket = openRouteSocket(namespace.path);
      const device = linkOf(socket, dev)?.index;
      return Object.fromEntries(
        socket
          .dump(addresses())
          .filter((one) => one.device === device)
          .map(({ address, lifetimes }) => [address, lifetimes.valid]),
      );
    };

    beforeEach(async () => {
      namespace = await NetworkNamespace.create();
      leases = new CardLeases(namespace.path);
      for (const name of ['breth0', 'eth1']) {
        namespace.ip(`link add name ${name} type veth peer name to-${name}`);
        namespace.ip(`link set dev ${name} up`);
      }
      namespace.ip('address add 10.9.0.1/24 dev eth1');
    });
    afterEach(() => namespace[Symbol.dispose]());

    test('are there for 30 s when they come, and for as long again with each renewal', () => {
      for (const address of HELD) give('eth1', address);
      for (const address of HELD) expect(found('eth1')[address]).toBeGreaterThan(27);
      namespace.ip('address change 10.9.0.50/32 dev eth1 valid_lft 5 preferred_lft 5');
      expect(found('eth1')['10.9.0.50/32']).toBeLessThan(6);
      // Who else has it changed the mark, too: it is not ours any more, and is left alone.
      leases.renew(HELD, 'breth0', 'timed');
      expect(found('eth1')['fd00:10:9::50/128']).toBeGreaterThan(27);
      expect(namespace.ip('-6 address show dev eth1')).toContain('deprecated');
    });

    test('those of a release before, which had no lease, get one; where nobody could have them it has no end', () => {
      for (const address of HELD) give('eth1', address, false);
      expect(Object.values(found('eth1'))).toEqual([FOREVER, FOREVER, FOREVER]);
      leases.renew(HELD, 'breth0', 'timed');
      for (const address of HELD) expect(found('eth1')[address]).toBeLessThan(31);
      leases.renew(HELD, 'breth0', 'lasting');
      expect(Object.values(found('eth1'))).toEqual([FOREVER, FOREVER, FOREVER]);
      expect(namespace.ip('-6 address show dev eth1')).toContain('deprecated');
    });

    test('one that is not there does not come by a renewal; those of the bridge, and others of the card, have none', () => {
      give('breth0', '10.9.0.50/32', false);
      namespace.ip('address add fd00:10:9::50/128 dev eth1 nodad');
      leases.renew(HELD, 'breth0', 'timed');
      expect(found('breth0')).toEqual({ '10.9.0.50/32': FOREVER });
      expect(found('eth1')).toEqual({
        '10.9.0.1/24': FOREVER,
        'fd00:10:9::50/128': FOREVER,
      });
      leases.renew(HELD, 'no-such-device', 'timed');
      expect(found('breth0')['10.9.0.50/32']).toBeLessThan(31);
    });

    test('do not come at a moment at which another node could have them', async () => {
      let mayLease = false;
      const make = async (): Promise<readonly (string | undefined)[]> =>
        makeChanges(
          [
            {
              unit: 'out',
              object: 'EgressIP out',
              table: 'address',
              key: 'eth1 10.9.0.50/32',
              action: 'add',
              before: undefined,
              after: '10.9.0.50/32 dev eth1',
              rule: undefined,
              stage: 0,
              stale: { kind: 'link', dev: 'eth1' },
              commands: [
                {
                  kind: 'add-address',
                  address: { dev: 'eth1', address: '10.9.0.50/32', isLeased: true },
                },
              ],
            },
          ],
          { namespace: namespace.path, sysctls: namespace.sysctls, mayLease: () => mayLease },
          new Map(),
        );
      expect(await make()).toEqual([
        'another node may have the address by now: no cluster manager was heard',
      ]);
      expect(found('eth1')).toEqual({ '10.9.0.1/24': FOREVER });
      mayLease = true;
      expect(await make()).toEqual([undefined]);
      expect(found('eth1')['10.9.0.50/32']).toBeGreaterThan(27);
    });

    test('are gone at once when the node may have them no more, and nothing else is', () => {
      for (const address of HELD) give('eth1', address);
      give('breth0', '10.9.0.60/32', false);
      leases.renew(HELD, 'breth0', 'timed');
      leases.release();
      expect(found('eth1')).toEqual({ '10.9.0.1/24': FOREVER });
      expect(found('breth0')).toEqual({ '10.9.0.60/32': FOREVER });
      leases.release();
    });
  },
);

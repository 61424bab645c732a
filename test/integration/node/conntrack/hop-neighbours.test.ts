/** Next hops as the kernel of this machine knows them, in network namespaces of their own. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { HopNeighbours } from '../../../../src/node/conntrack/hop-neighbours.ts';
import { openRouteSocket } from '../../../../src/node/linux/network-socket.ts';
import { NetworkNamespace, whyNoNamespace } from '../../../support/host/network-namespace.ts';

const MAC = '02:00:00:00:00:51';
const SOON = { timeout: 10_000 };
const HOPS = ['172.18.0.51', 'fd00:172:18::51'] as const;

describe.skipIf(whyNoNamespace !== undefined)('the MAC address of a next hop', () => {
  let host: NetworkNamespace;
  let router: NetworkNamespace;
  const hops = HOPS.map((hop) => ({ hop, device: 'br-ex' }));
  const words = (text: string): string[] => text.split(' ');

  beforeEach(async () => {
    host = await NetworkNamespace.create();
    router = await NetworkNamespace.create();
    host.run(
      words(
        `ip link add br-ex type veth peer name eth0 address ${MAC} netns ${router.path.split('/')[2]}`,
      ),
    );
    for (const line of [
      'ip address add 172.18.0.11/24 dev br-ex',
      'ip address add fd00:172:18::11/64 dev br-ex nodad',
      // By which the kernel asks.
      'ip address add fe80::11/64 dev br-ex nodad',
      'ip link set br-ex up',
    ])
      host.run(words(line));
    for (const line of [
      `ip address add ${HOPS[0]}/24 dev eth0`,
      `ip address add ${HOPS[1]}/64 dev eth0 nodad`,
      'ip link set eth0 up',
    ])
      router.run(words(line));
  });
  afterEach(() => {
    host[Symbol.dispose]();
    router[Symbol.dispose]();
  });

  test('is asked for, in both families, and known when the hop is gone', async () => {
    const neighbours = new HopNeighbours(() => openRouteSocket(host.path));
    const learn = (): (string | undefined)[] => {
      neighbours.learn(hops);
      return HOPS.map((hop) => neighbours.macOf(hop));
    };
    expect(learn()).toEqual([undefined, undefined]);
    await expect.poll(learn, SOON).toEqual([MAC, MAC]);
    router.run(words('ip link set eth0 down'));
    host.run(words('ip neighbour flush dev br-ex'));
    expect(learn()).toEqual([MAC, MAC]);
    neighbours.learn([]);
    expect(neighbours.macOf(HOPS[0])).toBeUndefined();
  });

  test('is not known of a device that is not there, and the others are asked for', async () => {
    const neighbours = new HopNeighbours(() => openRouteSocket(host.path));
    const [first, second] = [
      { hop: HOPS[0], device: 'none' },
      { hop: HOPS[1], device: 'br-ex' },
    ];
    await expect
      .poll(() => {
        neighbours.learn([first, second]);
        return [first, second].map(({ hop }) => neighbours.macOf(hop));
      }, SOON)
      .toEqual([undefined, MAC]);
  });
});

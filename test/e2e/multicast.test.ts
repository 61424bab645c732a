/** Multicast with packets, on the default network and on primary ones of both layers, in both families: within namespaces that ask for it, over two nodes. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { outputInside } from '../../src/lab/exec.ts';
import { attachedPods } from '../../src/lab/pods.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import {
  manifestsText,
  podOn,
  spaceObjects,
  SPACES,
  type Space,
} from '../support/lab/network-spaces.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';

/** Limits of waits for a condition; how long it takes is not what is tested here. */
const SOON = { timeout: 60_000, interval: 500 };
const SECONDS = 3;
const PORT = 5007;
const GROUPS = ['239.20.20.20', 'ff15::20'];
const NOTHING = 'nothing';
const ASKS = { 'k8s.ovn.org/multicast-enabled': 'true' };

/** Sends to a group all the time, or joins it and prints who was heard first. */
const PROGRAM = `
import socket, struct, sys, time
what, device, group, port, seconds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5])
index = socket.if_nametoindex(device)
is6 = ':' in group
family = socket.AF_INET6 if is6 else socket.AF_INET
raw = socket.inet_pton(family, group)
with socket.socket(family, socket.SOCK_DGRAM) as own:
    if what == 'send':
        if is6:
            own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
            own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 8)
        else:
            own.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, struct.pack('4s4si', bytes(4), bytes(4), index))
            own.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 8)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            own.sendto(b'here', (group, port))
            time.sleep(0.1)
    else:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind((group, port, 0, index) if is6 else (group, port))
        if is6:
            own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, raw + struct.pack('@I', index))
        else:
            own.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, struct.pack('4s4si', raw, bytes(4), index))
        own.settimeout(seconds)
        try:
            print(own.recvfrom(100)[1][0])
        except TimeoutError:
            print('${NOTHING}')
`;

/** No node has its address: nothing of these pods leaves. */
const egressIp = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressIP',
  metadata: { name: 'nowhere' },
  spec: { egressIPs: ['172.18.0.230'], namespaceSelector: {} },
};
const aside = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'aside' } };

describe.skipIf(whyNoLab !== undefined)(
  `multicast${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-multicast');
    let lab: TestLab;
    let tenants: Tenants;

    const spaces = (asking: boolean): string =>
      manifestsText([
        ...SPACES.flatMap((space) =>
          spaceObjects(space).map((object) => {
            const { kind, metadata } = object as { kind: string; metadata: object };
            return kind === 'Namespace' && asking
              ? { ...object, metadata: { ...metadata, annotations: ASKS } }
              : object;
          }),
        ),
        aside,
      ]);
    const run = (pod: string, what: 'send' | 'hear', group: string): Promise<string> => {
      const interfaces = attachedPods(lab.record).find(({ name }) => name === pod)?.interfaces;
      const device = interfaces?.at(-1)?.device ?? '';
      const words = [what, device, group, String(PORT), String(SECONDS)];
      return outputInside(lab.record, ['pod', pod, 'python3', '-c', PROGRAM, ...words]);
    };
    /** Who hears what `near` of each namespace sends: `far 10.60.0.3`, by namespace and family; and `aside` of what `plain` sends. */
    const heard = async (): Promise<readonly string[]> => {
      const listeners = [...SPACES.map((space) => `${space}/far`), 'aside/far'];
      const all = GROUPS.flatMap((group) => [
        ...listeners.map(async (pod) => {
          const from = (await run(pod, 'hear', group)).trim();
          return `${pod} ${group.includes(':') ? 'v6' : 'v4'} ${from === NOTHING ? NOTHING : 'near'}`;
        }),
        ...SPACES.map(async (space) => run(`${space}/near`, 'send', group)),
      ]);
      return (await Promise.all(all)).filter((line) => line !== '');
    };
    const expected = (who: (space: Space | 'aside') => string): readonly string[] =>
      ['v4', 'v6'].flatMap((family) =>
        [...SPACES, 'aside' as const].map((space) => `${space}/far ${family} ${who(space)}`),
      );

    beforeAll(async () => {
      writeFileSync(join(folder, 'spaces.yaml'), spaces(false));
      const pods = SPACES.flatMap((space) => [
        podOn('n1', space, 'near'),
        podOn('n2', space, 'far'),
      ]);
      writeFileSync(
        join(folder, 'pods.yaml'),
        manifestsText([...pods, podOn('n2', 'aside', 'far'), egressIp]),
      );
      lab = await testLab('e2e-multicast', { nodes: 2, families: 'dual' });
      tenants = new Tenants(lab.record, { folder, daemonArguments: ['--enable-multicast=true'] });
      await tenants.start();
    }, 120_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('of namespaces that do not ask for it nobody hears anybody', async () => {
      expect(await heard()).toEqual(expected(() => NOTHING));
    });

    test('pods of a namespace that asks for it hear each other on two nodes, and nobody else does', async () => {
      writeFileSync(join(tenants.manifests, 'spaces.yaml'), spaces(true));
      await expect
        .poll(heard, SOON)
        .toEqual(expected((space) => (space === 'aside' ? NOTHING : 'near')));
    });

    test('when it does not ask any more, nobody hears anybody again', async () => {
      writeFileSync(join(tenants.manifests, 'spaces.yaml'), spaces(false));
      await expect.poll(heard, SOON).toEqual(expected(() => NOTHING));
    });
  },
);

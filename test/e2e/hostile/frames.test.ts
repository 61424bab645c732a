/** Pods with raw sockets, one on each kind of network, try what no kernel would send; everybody listens. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { formatPrefix, macOf, parsePrefix } from '../../../src/allocators/addresses.ts';
import type { Endpoint } from '../../../src/lab/connectivity.ts';
import { runInside } from '../../../src/lab/exec.ts';
import { OUTSIDE } from '../../../src/lab/node-facts.ts';
import { ETHERTYPE, ethernet, ipv4, PROTOCOL, udp } from '../../support/lab/frame-bytes.ts';
import { FrameListener } from '../../support/lab/frame-listener.ts';
import {
  FRAME_GROUPS,
  hostileFrames,
  markOf,
  type Attacker,
  type HostileFrame,
  type Station,
} from '../../support/lab/hostile-frames.ts';
import { sayHeld } from '../../support/lab/held-table.ts';
import { testLab, whyNoLab, type TestLab } from '../../support/lab/lab.ts';
import { ownFolder } from '../../support/run/left-behind.ts';
import {
  nodeAddresses,
  podKey,
  PODS,
  tenantObjects,
  TENANTS,
  type PodName,
  type Tenant,
} from '../../support/lab/matrix-tenants.ts';
import { commandIn } from '../../support/host/streams.ts';
import { Tenants } from '../../support/lab/tenants.ts';

/** On the default network, with a policy that lets nobody in. */
const CLOSED: Tenant = { name: 'closed', subnet: 128, number: 6 };
const ALL: readonly Tenant[] = [...TENANTS, CLOSED];
const closedPolicy = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'nobody', namespace: CLOSED.name },
  spec: { podSelector: {}, policyTypes: ['Ingress'] },
};

/** Sends each line of its input, which is hexadecimal, as a frame, twice: the first packet into a tunnel may be lost. */
const SENDER = `
import socket, sys, time
device = sys.argv[1]
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
raw.bind((device, 0))
frames = [bytes.fromhex(line) for line in sys.stdin]
refused = 0
for _ in range(2):
    for number, frame in enumerate(frames):
        try:
            raw.send(frame)
        except OSError:
            refused += 1
        if number % 50 == 49:
            time.sleep(0.02)  # what a queue drops proves nothing
print(refused)
`;
/** Marks of control frames, which are true: each is sent until it arrives. */
let nextControl = 90_000;

/** Prints the payload of the first packet of a tunnel that comes in with this mark. */
const CAPTURE = `
import socket, sys
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(3))
print('ready', flush=True)
while True:
    frame, address = raw.recvfrom(65535)
    if frame[12:14] == b'\\x08\\x00' and frame[23] == 17 and frame[36:38] == (6081).to_bytes(2, 'big') and sys.argv[1].encode() in frame:
        print(frame[42:].hex())
        break
`;

const networkOf = (address: string): string => {
  const prefix = parsePrefix(address);
  if (prefix === undefined) throw new Error(`${address} is no address`);
  return formatPrefix(prefix);
};

const deviceOf = ({ topology }: Tenant): string => (topology === undefined ? 'eth0' : 'ovn-udn1');

describe.skipIf(whyNoLab !== undefined)(
  `frames that lie${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    let lab: TestLab;
    let ends: ReadonlyMap<string, Endpoint>;

    beforeAll(async () => {
      const folder = ownFolder('heddle-frames');
      const objects = [...ALL.flatMap((tenant) => tenantObjects(tenant)), closedPolicy];
      writeFileSync(
        join(folder, 'frames.yaml'),
        objects.map((one) => stringify(one)).join('---\n'),
      );
      lab = await testLab('e2e-frames', { families: 'dual' });
      const tenants = new Tenants(lab.record, { folder });
      rmSync(folder, { recursive: true });
      await tenants.start();
      ends = new Map((await tenants.endpoints('primary')).map((end) => [end.pod, end]));
      return async () => {
        await lab[Symbol.asyncDispose]();
      };
    });

    const stationOf = (tenant: Tenant, pod: PodName): Station => {
      const [v4, v6] = ends.get(podKey(tenant, pod))?.addresses ?? [];
      if (v4 === undefined || v6 === undefined) throw new Error(`${tenant.name} has no ${pod}`);
      return { v4, v6, mac: macOf(v4) };
    };

    const attackerOf = (tenant: Tenant): Attacker => {
      const station = stationOf(tenant, 'on-n1');
      const length = tenant.topology === 'Layer2' ? 16 : 24;
      const subnets = {
        v4: networkOf(`${station.v4}/${length}`),
        v6: networkOf(`${station.v6}/64`),
      };
      const friend = stationOf(tenant, 'on-n2');
      return { ...station, tenant: tenant.name, subnets, friend };
    };

    const send = async (tenant: Tenant, frames: readonly Buffer[]): Promise<void> => {
      const input = frames.map((frame) => `${frame.toString('hex')}\n`).join('');
      const argv = [...commandIn(podKey(tenant, 'on-n1')), 'python3', '-c', SENDER];
      const sent = await runInside(lab.record, [...argv, deviceOf(tenant)], { input });
      expect(sent.stderr).toBe('');
      expect(Number(sent.stdout)).toBeLessThan(frames.length / 10); // too long for the device, say
    };

    /** What n1's tunnel carries to n2 when a pod of this tenant sends a mark: whoever guesses right sends just that. */
    const capture = async (
      tenant: Tenant,
      mark: Buffer,
      listeners: readonly FrameListener[],
    ): Promise<Buffer> => {
      let isReady = false;
      const argv = ['python3', '-c', CAPTURE, mark.toString()];
      const captured = runInside(lab.record, argv, {
        node: 'n2',
        onStdout: () => {
          isReady = true;
        },
      });
      await expect.poll(() => isReady, { timeout: 30_000 }).toBe(true);
      await control(listeners, [tenant]);
      return Buffer.from((await captured).stdout.split('\n')[1] ?? '', 'hex');
    };

    /** Says until it is heard that a true frame arrives, and that what was sent before it has arrived, too. */
    const control = async (
      listeners: readonly FrameListener[],
      tenants = TENANTS,
    ): Promise<void> => {
      for (const tenant of tenants) {
        const mark = nextControl++;
        const { v4: from, mac, friend } = attackerOf(tenant);
        const isSameSwitch = tenant.topology === 'Layer2';
        const gateway = macOf(from.replace(/\d+$/, '1'));
        const body = udp({ from, to: friend.v4 }, 4000, 8080, markOf(mark));
        const packet = ipv4({ from, to: friend.v4, protocol: PROTOCOL.udp }, body);
        const to = isSameSwitch ? friend.mac : gateway;
        const at = listeners.find(({ place }) => place === podKey(tenant, 'on-n2'));
        await expect
          .poll(
            async () => {
              await send(tenant, [ethernet(to, mac, ETHERTYPE.ipv4, packet)]);
              return at?.heard.has(mark);
            },
            { timeout: 30_000, interval: 200 },
          )
          .toBe(true);
      }
    };

    test('arrive at nobody whom they should not reach, nor outside as another than the node', async () => {
      const places = [
        ...ALL.flatMap((tenant) => Object.keys(PODS).map((pod) => podKey(tenant, pod as PodName))),
        'ext',
      ];
      await using stack = new AsyncDisposableStack();
      const listeners = places.map((place) => stack.use(new FrameListener(lab.record, place)));
      await expect
        .poll(() => listeners.every(({ isListening }) => isListening), { timeout: 30_000 })
        .toBe(true);
      await control(listeners);

      const nodes = (['n1', 'n2'] as const).map((node) => {
        const [v4, v6] = nodeAddresses(node);
        return { v4, v6 };
      });
      const victims = ALL.flatMap((tenant) =>
        (['beside', 'on-n2'] as const).map((pod) => ({
          ...stationOf(tenant, pod),
          tenant: tenant.name,
        })),
      );
      const tunnelled: { tenant: string; payload: Buffer; mark: Buffer }[] = [];
      for (const tenant of TENANTS) {
        const mark = markOf(nextControl);
        tunnelled.push({
          tenant: tenant.name,
          payload: await capture(tenant, mark, listeners),
          mark,
        });
      }
      const around = {
        nodes,
        outside: OUTSIDE,
        nodeMac: macOf(nodes[0]?.v4 ?? ''),
        tunnelled,
      };
      const tried = new Map<string, HostileFrame[]>();
      const sentBy = new Map<number, { readonly tenant: Tenant; readonly frame: HostileFrame }>();
      for (const tenant of TENANTS) {
        const frames = hostileFrames(attackerOf(tenant), victims, around, sentBy.size);
        const first = sentBy.size;
        for (const [n, frame] of frames.entries()) sentBy.set(first + n, { tenant, frame });
        tried.set(tenant.name, frames);
        await send(
          tenant,
          frames.flatMap((one) => one.frames),
        );
      }
      await control(listeners);

      const isNode = (address: string): boolean =>
        nodes.some(({ v4, v6 }) => address === v4 || address === v6);
      const wrong = new Map<number, string[]>();
      for (const { place, heard } of listeners)
        for (const [mark, sources] of heard) {
          const sent = sentBy.get(mark);
          if (sent === undefined) continue;
          const { tenant, frame } = sent;
          if (place === podKey(tenant, 'on-n1')) continue; // who sent it is told that it failed
          const isOwn = Object.keys(PODS).some((pod) => podKey(tenant, pod as PodName) === place);
          const isRight =
            place === 'ext'
              ? frame.reach === 'outside as the node' && [...sources].every(isNode)
              : isOwn && frame.reach !== 'nobody';
          if (!isRight)
            wrong.set(mark, [
              ...(wrong.get(mark) ?? []),
              `${place} (from ${[...sources].join(', ')})`,
            ]);
        }

      const attacks = FRAME_GROUPS.flatMap((kind) =>
        [...sentBy]
          .filter(([, { frame }]) => frame.group === kind)
          .map(([mark, { tenant }]) => ({ kind, by: tenant.name, isHeld: !wrong.has(mark) })),
      );
      sayHeld('frames', attacks);
      const text = [...wrong].map(([mark, where]) => {
        const sent = sentBy.get(mark);
        return `${sent?.tenant.name}: ${sent?.frame.name}: arrived at ${where.join(' and ')}`;
      });
      expect(text).toEqual([]);
    });
  },
);

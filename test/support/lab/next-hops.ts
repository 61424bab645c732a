/** Machines outside of a lab's nodes by which pods can leave: each has the place beyond, answers there by its name, and speaks BFD. */
import { randomUUID } from 'node:crypto';
import { outputInside, runInside } from '../../../src/lab/exec.ts';
import { SERVER_PORT } from '../../../src/lab/pods.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';

/** Where pods send to: behind each of the hops, and behind the nodes' default gateway. */
export const BEYOND = { v4: '198.51.100.1', v6: '2001:db8:51::1' } as const;
/** Who asks from behind a hop, the same behind each. */
export const CLIENT = '203.0.113.9';

export const HOPS = {
  hop1: { v4: '172.18.0.51', v6: 'fd00:172:18::51' },
  hop2: { v4: '172.18.0.52', v6: 'fd00:172:18::52' },
} as const;
export type Hop = keyof typeof HOPS;

/** Makes the hops, and has them and the default gateway answer beyond. `nodes`: addresses that clients behind a hop ask. */
export async function addHops(lab: LabRecord, nodes: readonly string[]): Promise<void> {
  const run = (line: string): Promise<string> => outputInside(lab, line.split(' '));
  for (const [hop, { v4, v6 }] of Object.entries(HOPS)) {
    await run(`ip netns add ${hop}`);
    await run(`ip link add u-${hop} type veth peer name eth0 netns ${hop}`);
    await run(`ip link set u-${hop} master underlay up`);
    await run(`ip netns exec ${hop} ethtool -K eth0 tx off`);
    await run(`ip -n ${hop} address add ${v4}/24 dev eth0`);
    await run(`ip -n ${hop} address add ${v6}/64 dev eth0 nodad`);
    await run(`ip -n ${hop} link set lo up`);
    await run(`ip -n ${hop} link set eth0 up`);
    await run(`ip -n ${hop} address add ${CLIENT}/32 dev lo`);
    for (const node of nodes) await run(`ip -n ${hop} route add ${node}/32 dev eth0 src ${CLIENT}`);
  }
  const gateways = ['ext', ...Object.keys(HOPS)];
  for (const gateway of gateways) {
    await run(`ip -n ${gateway} address add ${BEYOND.v4}/32 dev lo`);
    await run(`ip -n ${gateway} address add ${BEYOND.v6}/128 dev lo nodad`);
  }
  const servers = gateways.map((gateway) => ({ namespace: gateway, name: gateway }));
  await outputInside(lab, ['lab-serve'], { input: JSON.stringify({ servers, port: SERVER_PORT }) });
}

const READY = '(speaking)';

/** Answers control packets (RFC 5880 §6.8.6, RFC 5881): a session goes up, and stays so as long as this runs. */
const SPEAKER = `
import select, socket, struct, sys
ears = []
for family, own in ((socket.AF_INET, sys.argv[1]), (socket.AF_INET6, sys.argv[2])):
    ear = socket.socket(family, socket.SOCK_DGRAM)
    mouth = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6: mouth.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, 255)
    else: mouth.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 255)
    ear.bind((own, 3784))
    mouth.bind((own, 49152))
    ears.append((ear, mouth))
print('${READY}', flush=True)
DOWN, INIT, UP = 1, 2, 3
while True:
    ready, _, _ = select.select([ear for ear, _ in ears], [], [])
    for ear, mouth in ears:
        if ear not in ready: continue
        packet, peer = ear.recvfrom(64)
        if len(packet) < 24: continue
        state, poll, theirs = packet[1] >> 6, packet[1] & 0x20, packet[4:8]
        answer = INIT if state == DOWN else UP
        flags = answer << 6 | (0x10 if poll else 0)
        mouth.sendto(struct.pack('!BBBB4s4sIII', 0x20, flags, 3, 24,
            b'\\x00\\x00\\x00\\x07', theirs, 1000000, 1000000, 0), (peer[0], 3784))
`;

export class BfdSpeaker implements AsyncDisposable {
  readonly #lab: LabRecord;
  readonly #id = randomUUID();
  readonly #ended: Promise<unknown>;
  isSpeaking = false;

  constructor(lab: LabRecord, hop: Hop) {
    this.#lab = lab;
    const { v4, v6 } = HOPS[hop];
    const command = ['ip', 'netns', 'exec', hop, 'python3', '-c', SPEAKER, v4, v6, this.#id];
    this.#ended = runInside(lab, command, {
      onStdout: (text) => {
        if (text.includes(READY)) this.isSpeaking = true;
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await runInside(this.#lab, ['pkill', '-TERM', '--full', `^python3 .* ${this.#id}$`]);
    await this.#ended;
  }
}

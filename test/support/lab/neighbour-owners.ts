/** Who answers for addresses, as the host outside hears it: it asks again and again, and everybody who answers a question is told. */
import { outputInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';

/** Asks by ARP and by neighbour discovery twenty times a second, until a file is there. */
const ASKER = `
import json, os, re, select, socket, struct, subprocess, sys, time
end, addresses = sys.argv[1], sys.argv[2:]
route = lambda to: subprocess.run(['ip', '-o', 'route', 'get', to], capture_output=True, text=True, check=True).stdout
device = re.search(r' dev (\\S+)', route(addresses[0])).group(1)
mac = bytes.fromhex(open(f'/sys/class/net/{device}/address').read().strip().replace(':', ''))
arp = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806))
arp.bind((device, 0x0806))
nd = socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58)
nd.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
nd.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex(device))
own = {to: re.search(r' src (\\S+)', route(to)).group(1) for to in addresses}
heard, began, next_at = [], time.time(), 0
text = lambda raw: ':'.join(f'{byte:02x}' for byte in raw)
while not os.path.exists(end):
    if time.time() >= next_at:
        next_at = time.time() + 0.05
        for to in addresses:
            if ':' in to:
                target = socket.inet_pton(socket.AF_INET6, to)
                group = socket.inet_pton(socket.AF_INET6, 'ff02::1:ff00:0')[:13] + target[13:]
                asked = struct.pack('!BBHI', 135, 0, 0, 0) + target + bytes([1, 1]) + mac
                nd.sendto(asked, (socket.inet_ntop(socket.AF_INET6, group), 0))
            else:
                frame = b'\\xff' * 6 + mac + struct.pack('!HHHBBH', 0x0806, 1, 0x0800, 6, 4, 1)
                arp.send(frame + mac + socket.inet_aton(own[to]) + bytes(6) + socket.inet_aton(to))
    for one in select.select([arp, nd], [], [], 0.02)[0]:
        data = one.recv(2048)
        at = round((time.time() - began) * 1000)
        if one is arp and data[20:22] == b'\\0\\2':
            heard.append([at, socket.inet_ntoa(data[28:32]), text(data[22:28])])
        if one is nd and data[0] == 136 and data[24:26] == bytes([2, 1]):
            heard.append([at, socket.inet_ntop(socket.AF_INET6, data[8:24]), text(data[26:32])])
print(json.dumps([one for one in heard if one[1] in addresses]))
`;

/** For so long one MAC address alone answered. */
export interface Ownership {
  readonly mac: string;
  /** Milliseconds since the first question. */
  readonly from: number;
  readonly to: number;
}

/** Of each address, who answered for it, one after the other: where two do so at a time they take turns. */
export async function whileAskingForOwners(
  lab: LabRecord,
  addresses: readonly string[],
  name: string,
  during: () => Promise<void>,
): Promise<ReadonlyMap<string, readonly Ownership[]>> {
  const end = `/tmp/owners-${name}`;
  const argv = ['ip', 'netns', 'exec', 'ext', 'python3', '-c', ASKER, end];
  const asker = outputInside(lab, [...argv, ...addresses]);
  asker.catch(() => undefined);
  try {
    await during();
  } finally {
    await outputInside(lab, ['touch', end]);
  }
  const owners = new Map<string, Ownership[]>(addresses.map((address) => [address, []]));
  for (const [at, address, mac] of JSON.parse(await asker) as [number, string, string][]) {
    const found = owners.get(address) ?? [];
    const last = found.at(-1);
    if (last?.mac === mac) found[found.length - 1] = { ...last, to: at };
    else found.push({ mac, from: at, to: at });
  }
  return owners;
}

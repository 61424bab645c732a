/** Guests of virtual machines in a lab: a network namespace behind a pod's interface, joined as KubeVirt joins a guest to its pod (binding `managedTap`). */
import { outputInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';

/** The pod's network namespace, and its interface on the machine's network. */
export interface Launcher {
  readonly namespace: string;
  readonly device: string;
  readonly mac: string;
}

const GUEST_DEVICE = 'eth0';
/** In the pod: the end of the guest that is plugged in, and the bridge that it shares with the pod's interface. */
const TAP = 'tap0';
const BRIDGE = 'k6t';

const all = (lab: LabRecord, lines: readonly string[]): Promise<string> =>
  outputInside(lab, ['bash', '-ec', lines.join('\n')]);

/** Where all pods of a guest lead to it: its interface stays as it is wherever it runs, as that of a machine that moves. */
const hypervisorOf = (guest: string): string => `${guest}-vmm`;

/** A guest without addresses that is in no pod yet; one of that name that is there goes. */
export async function startGuest(lab: LabRecord, guest: string, mac: string): Promise<void> {
  const hypervisor = hypervisorOf(guest);
  await all(lab, [
    `for name in ${guest} ${hypervisor}; do ip netns del $name 2> /dev/null || true; done`,
    `ip netns add ${guest}`,
    `ip netns add ${hypervisor}`,
    `ip netns exec ${hypervisor} sysctl -q -w net.ipv6.conf.default.disable_ipv6=1`,
    // Nobody else has its addresses: it may use them at once.
    `ip netns exec ${guest} sysctl -q -w net.ipv6.conf.default.accept_dad=0`,
    `ip -n ${guest} link set lo up`,
    `ip -n ${hypervisor} link add vmm type bridge forward_delay 0`,
    `ip link add guest netns ${hypervisor} type veth peer name ${GUEST_DEVICE} address ${mac} netns ${guest}`,
    // The userspace datapath does not fill in checksums.
    `ip netns exec ${guest} ethtool -K ${GUEST_DEVICE} tx off > /dev/null`,
    `ip -n ${hypervisor} link set guest master vmm up`,
    `ip -n ${hypervisor} link set vmm up`,
    `ip -n ${guest} link set ${GUEST_DEVICE} up`,
  ]);
}

/**
 * Makes a pod ready to run the guest, which it does not do yet: the pod's interface becomes a port of a bridge; its addresses are taken from it,
 * and its MAC address, which is the guest's. A second try begins at the beginning.
 */
export async function prepareGuest(
  lab: LabRecord,
  guest: string,
  { namespace, device }: Launcher,
): Promise<void> {
  const hypervisor = hypervisorOf(guest);
  await all(lab, [
    `for link in ${BRIDGE} ${TAP}; do ip -n ${namespace} link del $link 2> /dev/null || true; done`,
    `ip -n ${namespace} link set ${device} down`,
    `ip -n ${namespace} address flush dev ${device}`,
    `ip -n ${namespace} link set ${device} address 02:00:00:00:00:01`,
    `ip -n ${namespace} link add ${BRIDGE} type bridge forward_delay 0`,
    `ip link add ${TAP} netns ${namespace} type veth peer name ${namespace} netns ${hypervisor}`,
    `ip netns exec ${namespace} sysctl -q -w net.ipv6.conf.${BRIDGE}.disable_ipv6=1 net.ipv6.conf.${device}.disable_ipv6=1 net.ipv6.conf.${TAP}.disable_ipv6=1`,
    `ip -n ${namespace} link set ${device} master ${BRIDGE} up`,
    `ip -n ${namespace} link set ${TAP} master ${BRIDGE} up`,
    `ip -n ${namespace} link set ${BRIDGE} up`,
    `ip -n ${hypervisor} link set ${namespace} master vmm`,
    // Nothing is known of where neighbours are when the guest comes.
    `ip -n ${hypervisor} link set ${namespace} type bridge_slave learning off`,
    // The kernel tells a bridge once a second of links that come up: they are up before the guest comes.
    `ip -n ${hypervisor} link set ${namespace} up`,
    `until bridge -n ${hypervisor} link show dev ${namespace} | grep -q 'state forwarding' && bridge -n ${namespace} link show dev ${TAP} | grep -q 'state forwarding'; do sleep 0.05; done`,
    `bridge -n ${hypervisor} link set dev ${namespace} state 0`,
  ]);
}

/** The guest runs in a pod that is ready for it, and no longer in another one. */
export async function runGuest(
  lab: LabRecord,
  guest: string,
  to: Launcher,
  from?: Launcher,
): Promise<void> {
  const hypervisor = hypervisorOf(guest);
  await all(lab, [
    ...(from === undefined
      ? []
      : [`bridge -n ${hypervisor} link set dev ${from.namespace} state 0`]),
    `bridge -n ${hypervisor} link set dev ${to.namespace} state 3`,
  ]);
}

/** The guest says by ARP that it is where it is, as Linux does after a move. */
export const announceGuest = (lab: LabRecord, guest: string, address: string): Promise<string> =>
  all(lab, [`ip netns exec ${guest} arping -q -A -c 2 -w 1 -I ${GUEST_DEVICE} ${address}`]);

/** What a DHCP client in a guest was told, by the names that BusyBox's has for it. */
export type Lease = Readonly<Record<string, string>>;

/** Asks by DHCP as a guest does that starts, and has what it is told. Fails when nobody answers in some 10 s. */
export async function askByDhcp(lab: LabRecord, guest: string): Promise<Lease> {
  const script = `#!/bin/sh
[ "$1" = bound ] || exit 0
for name in ip mask router dns mtu hostname lease serverid; do eval echo "$name=\\$$name"; done
ip address replace "$ip/$mask" dev "$interface"
ip link set dev "$interface" mtu "$mtu"
ip route replace default via "$router"
`;
  const text = await all(lab, [
    `script=$(mktemp)`,
    `cat > "$script" <<'END'\n${script}END`,
    `chmod +x "$script"`,
    `ip netns exec ${guest} busybox udhcpc -i ${GUEST_DEVICE} -n -q -f -t 5 -T 2 -O mtu -O hostname -s "$script" 2> /dev/null`,
  ]);
  const told = [...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [
    name,
    value,
  ]);
  return Object.fromEntries(told) as Lease;
}

/**
 * Asks by DHCPv6 for an address, and prints what is told: the address, DNS servers and the name, which only who says one of its own is told (RFC 4704, §6);
 * beside it what the router announces.
 */
const DHCPV6_CLIENT = `
import json, socket, struct, sys
device, mac = sys.argv[1], bytes.fromhex(sys.argv[2].replace(':', ''))
index = socket.if_nametoindex(device)
duid = struct.pack('!HH', 3, 1) + mac
option = lambda code, data: struct.pack('!HH', code, len(data)) + data
solicit = b'\\x01abc' + option(1, duid) + option(3, struct.pack('!III', 7, 0, 0)) + option(6, struct.pack('!HH', 23, 39)) + option(8, b'\\0\\0')
solicit += option(39, b'\\1\\7unnamed') if sys.argv[3:] == ['named'] else b''
def options(data):
    found = {}
    while len(data) >= 4:
        code, length = struct.unpack('!HH', data[:4])
        found[code], data = data[4:4 + length], data[4 + length:]
    return found
told = {}
with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as router:
    router.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
    router.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
    router.settimeout(10)
    router.sendto(struct.pack('!BBHI', 133, 0, 0, 0), ('ff02::2', 0, 0, index))
    while True:
        data, source = router.recvfrom(2000)
        if data[0] == 134:
            mtu, rest = None, data[16:]
            while len(rest) >= 8 and rest[1]:
                if rest[0] == 5:
                    mtu = struct.unpack('!I', rest[4:8])[0]
                rest = rest[8 * rest[1]:]
            told.update(isManaged=bool(data[5] & 0x80), router=source[0].split('%')[0], mtu=mtu)
            break
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as client:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
    client.bind(('::', 546))
    client.settimeout(10)
    client.sendto(solicit, ('ff02::1:2', 547, 0, index))
    answer = options(client.recv(2000)[4:])
address = options(answer[3][12:])[5]
labels, rest = [], answer[39][1:] if 39 in answer else b''
while rest and rest[0]:
    labels, rest = labels + [rest[1:1 + rest[0]].decode()], rest[1 + rest[0]:]
told.update(ip=socket.inet_ntop(socket.AF_INET6, address[:16]), dns=socket.inet_ntop(socket.AF_INET6, answer[23][:16]), name='.'.join(labels) or None)
print(json.dumps(told))
`;

export interface Lease6 {
  readonly ip: string;
  readonly dns: string;
  /** Null for a guest that says no name. */
  readonly name: string | null;
  /** Whether addresses are to be asked for, and from which address that is said. */
  readonly isManaged: boolean;
  readonly router: string;
  readonly mtu: number | null;
}

export async function askByDhcp6(
  lab: LabRecord,
  guest: string,
  mac: string,
  { saysName = true } = {},
): Promise<Lease6> {
  const program = [
    'python3',
    '-c',
    DHCPV6_CLIENT,
    GUEST_DEVICE,
    mac,
    ...(saysName ? ['named'] : []),
  ];
  return JSON.parse(await outputInside(lab, ['ip', 'netns', 'exec', guest, ...program])) as Lease6;
}

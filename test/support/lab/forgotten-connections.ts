/** Ends of TCP connections that nobody on their way knows, as of those that were forgotten when an address moved. */
import { outputInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';

/** Sends to each address, with TCP's own source address, what ends a connection: FIN and ACK, then RST. The kernel writes IPv6's checksum. */
const PROGRAM = `
import socket, struct, sys
port = int(sys.argv[1])
for to in sys.argv[2:]:
    family = socket.AF_INET6 if ':' in to else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as way:
        way.connect((to, port))
        own = way.getsockname()[0]
    raw = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_TCP)
    if family == socket.AF_INET6:
        raw.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_CHECKSUM, 16)
    for n, flags in enumerate((0x11, 0x04)):
        header = struct.pack('!HHIIBBHHH', 40000 + n, port, 1, 1, 5 << 4, flags, 1024, 0, 0)
        if family == socket.AF_INET:
            words = struct.unpack('!16H', socket.inet_aton(own) + socket.inet_aton(to) + struct.pack('!HH', 6, len(header)) + header)
            total = sum(words)
            total = (total & 0xffff) + (total >> 16)
            header = header[:16] + struct.pack('!H', ~(total + (total >> 16)) & 0xffff) + header[18:]
        raw.sendto(header, (to, 0))
`;

/** From network namespaces to `port` of addresses. */
export async function sendEnds(
  lab: LabRecord,
  from: readonly string[],
  to: readonly string[],
  port: number,
): Promise<void> {
  for (const namespace of from) {
    const inside = ['ip', 'netns', 'exec', namespace, 'python3', '-c', PROGRAM];
    await outputInside(lab, [...inside, String(port), ...to]);
  }
}

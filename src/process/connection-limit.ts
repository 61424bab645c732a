/** Servers that anybody may connect to. */
import type { Server, Socket } from 'node:net';

/** Of the most, the share that those of the host itself, such as a kubelet's probes, have for sure. */
const OWN_SHARE = 1 / 4;
const OWN = 'the host itself';

/**
 * Keeps `most` connections of a server. Of more goes, of those not at work on a request, the oldest of the address that has the most: who holds many, or
 * makes new ones faster than others ask, keeps nobody out. Returns those that are open.
 */
export function limitConnections(
  server: Server,
  most: number,
  isAtWork: (socket: Socket) => boolean = () => false,
): ReadonlySet<Socket> {
  const connections = new Set<Socket>();
  /** Of the open ones; a socket that was closed does not know any more. */
  const peers = new WeakMap<Socket, string>();
  server.on('connection', (socket: Socket) => {
    connections.add(socket);
    const { remoteAddress = '', localAddress = '' } = socket;
    peers.set(socket, remoteAddress === localAddress ? OWN : remoteAddress);
    socket.once('close', () => connections.delete(socket));
    socket.on('error', () => socket.destroy());
    if (connections.size <= most) return;
    const idle = connections.values().filter((one) => !isAtWork(one));
    const groups = Map.groupBy(idle, (one) => peers.get(one) ?? OWN);
    if (groups.size > 1 && (groups.get(OWN) ?? []).length <= most * OWN_SHARE) groups.delete(OWN);
    const [largest] = [...groups.values()].toSorted((a, b) => b.length - a.length);
    const goes = largest?.[0] ?? socket;
    connections.delete(goes);
    goes.destroy();
  });
  return connections;
}

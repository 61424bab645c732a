/** Servers that anybody may connect to. */
import type { Server, Socket } from 'node:net';

/**
 * Keeps `most` connections of a server: of more the oldest goes that is not at work on a request, so that who holds many keeps nobody out.
 * Returns those that are open.
 */
export function limitConnections(
  server: Server,
  most: number,
  isAtWork: (socket: Socket) => boolean = () => false,
): ReadonlySet<Socket> {
  const connections = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
    socket.on('error', () => socket.destroy());
    if (connections.size <= most) return;
    const goes = connections.values().find((one) => !isAtWork(one)) ?? socket;
    connections.delete(goes);
    goes.destroy();
  });
  return connections;
}

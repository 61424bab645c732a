/** Servers that anybody may connect to. */
import type { Server, Socket } from 'node:net';

/** Keeps `most` connections of a server: of more the oldest goes, so that who holds many keeps nobody out. Returns those that are open. */
export function limitConnections(server: Server, most: number): ReadonlySet<Socket> {
  const connections = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
    socket.on('error', () => socket.destroy());
    const [oldest] = connections;
    if (connections.size > most) {
      connections.delete(oldest as Socket);
      oldest?.destroy();
    }
  });
  return connections;
}

/** Ports for programs of a test that take a while until they listen. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below those that the kernel gives to connections and to listeners that ask for any (ip_local_port_range). */
const [FIRST, LAST] = [20_000, 29_999];

/** Held as long as this process lives: an abstract socket of a name that is the port's has one owner. */
const isOurs = (port: number): Promise<boolean> => listens({ path: `\0heddle-test-port-${port}` });

async function listens(where: { path: string } | { host: string; port: number }): Promise<boolean> {
  const server = createServer().unref();
  try {
    await once(server.listen(where), 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
  if ('port' in where) {
    server.close();
    await once(server, 'close');
  }
  return true;
}

/** A port of loopback that nobody listens at, and that no other test gets while this process lives. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST + 1);
    if ((await isOurs(port)) && (await listens({ host: '127.0.0.1', port }))) return port;
  }
}

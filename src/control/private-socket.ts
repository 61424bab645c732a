/** Unix sockets of a daemon, for root (the daemon's user) alone. */
import { chmodSync, existsSync, lstatSync, mkdirSync, rmSync, statSync, type Stats } from 'node:fs';
import { connect, type Server } from 'node:net';
import { dirname } from 'node:path';
import { ConfigurationError } from '../process/configuration-error.ts';
import { LONGEST_SOCKET_PATH } from './control-protocol.ts';
import { errorText } from '../api/error-text.ts';

/** Milliseconds that a process on the socket gets to accept us before it counts as alive. */
const PROBE_LIMIT = 1000;

/**
 * Takes the place of a socket whose process has ended; throws ConfigurationError, which names `flag`, when a process answers there, or
 * when others could put something else in the socket's place.
 */
export async function listenPrivately(server: Server, path: string, flag: string): Promise<void> {
  if (Buffer.byteLength(path) > LONGEST_SOCKET_PATH)
    throw new ConfigurationError(
      flag,
      `${path} has more than ${LONGEST_SOCKET_PATH} bytes: unix sockets need a shorter path`,
    );
  prepareFolder(dirname(path), flag);
  await clear(path, flag);
  const listening = new Promise<void>((resolve, reject) => {
    server.once('error', reject).once('listening', resolve);
  });
  server.listen(path);
  await listening.catch((error: NodeJS.ErrnoException) => {
    throw new ConfigurationError(flag, `can't listen on ${path}: ${error.message}`);
  });
  chmodSync(path, 0o600);
}

/** Makes the folder if there is none. Others must not be able to write into it: they could put a socket in place of ours. */
function prepareFolder(folder: string, flag: string): void {
  let found: Stats;
  try {
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
    found = statSync(folder);
  } catch (error) {
    throw new ConfigurationError(
      flag,
      `folder ${folder} can't be used: ${errorText(error)}; name a socket in another one, or "none"`,
    );
  }
  const isOurs = found.uid === 0 || found.uid === process.getuid?.();
  if (!isOurs || (found.mode & 0o022) !== 0)
    throw new ConfigurationError(
      flag,
      `others may write into folder ${folder}: chmod 700 it, or name a socket in another one`,
    );
}

/** Removes what a daemon that has ended left at `path`. */
async function clear(path: string, flag: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket())
    throw new ConfigurationError(flag, `${path} is no socket: remove it, or name another path`);
  if (await isAnswered(path))
    throw new ConfigurationError(
      flag,
      `a process answers on ${path} already: end it, or name another path`,
    );
  rmSync(path, { force: true });
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path);
    const done = (answer: boolean): void => {
      probe.destroy();
      resolve(answer);
    };
    probe.setTimeout(PROBE_LIMIT, () => done(true));
    probe.once('connect', () => done(true));
    probe.once('error', (error: NodeJS.ErrnoException) =>
      done(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'),
    );
  });
}

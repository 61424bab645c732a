/** Asks DNS servers for the addresses of a name. */
import { getServers, promises } from 'node:dns';
import type { Family } from '../../allocators/addresses.ts';
import { errorText } from '../../api/error-text.ts';
import type { Answer } from './held-answers.ts';

/** Those of `/etc/resolv.conf`. */
export const hostServers = getServers;

/** Asks all of the servers, whose answers are taken together; rejects if none of them answers. A name that is not there, or has no address, has none. */
export type Ask = (
  name: string,
  family: Family,
  servers: readonly string[],
) => Promise<readonly Answer[]>;

/** Milliseconds for one try. */
const TIMEOUT = 2_000;
const TRIES = 2;

/** The server says that there is no such name, or no address of that family. */
const isEmptyAnswer = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  ['ENOTFOUND', 'ENODATA'].includes(String(error.code));

async function askServer(name: string, family: Family, server: string): Promise<readonly Answer[]> {
  const resolver = new promises.Resolver({ timeout: TIMEOUT, tries: TRIES });
  resolver.setServers([server]);
  try {
    return await (family === 'v4'
      ? resolver.resolve4(name, { ttl: true })
      : resolver.resolve6(name, { ttl: true }));
  } catch (error) {
    if (isEmptyAnswer(error)) return [];
    throw error;
  }
}

export const askServers: Ask = async (name, family, servers) => {
  if (servers.length === 0) throw new Error('no DNS server is known');
  const asked = await Promise.allSettled(servers.map((one) => askServer(name, family, one)));
  const answered = asked.filter((one) => one.status === 'fulfilled');
  if (answered.length > 0) return answered.flatMap(({ value }) => value);
  throw new Error(
    asked
      .map(
        (one, index) =>
          `${servers[index]}: ${one.status === 'rejected' ? errorText(one.reason) : ''}`,
      )
      .join('; '),
  );
};

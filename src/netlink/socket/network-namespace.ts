/** Work in another network namespace, within one synchronous call: nothing else of the process ever sees it. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { libc, type Libc } from './libc.ts';
import { systemError } from './netlink-error.ts';

/** Namespaces belong to threads: this is the calling one's. */
const OWN = '/proc/thread-self/ns/net';
const STANDARD_ERROR = 2;

/**
 * Calls `work` while the thread is in the network namespace of the descriptor `namespace`, and goes back: sockets that it opens, and files of
 * /proc/sys/net that it reads and writes, are those of that namespace, also afterwards in the case of sockets. `work` must not wait: other code would run
 * there. Where the way back fails the process ends (SIGABRT), for all that it did from then on would be done to others. Throws NetlinkError.
 */
export function inNetworkNamespace<T>(namespace: number, work: () => T, library: Libc = libc()): T {
  const own = openSync(OWN, 'r');
  try {
    const entered = library.enterNetwork(namespace);
    if (entered < 0)
      throw systemError(`enter network namespace (descriptor ${namespace})`, -entered);
    try {
      return work();
    } finally {
      const left = library.enterNetwork(own);
      if (left < 0) {
        const { message } = systemError('leave a network namespace', -left);
        writeSync(STANDARD_ERROR, `${message}: the process ends\n`);
        process.abort();
      }
    }
  } finally {
    closeSync(own);
  }
}

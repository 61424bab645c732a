/** Which process a socket of rtnetlink is of, as far as that can be told from its port. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** A process's first socket has the process's number for its port; further ones have ports beyond (PID_MAX_LIMIT, linux/threads.h). */
const MOST_PROCESSES = 2 ** 22;

/**
 * `ip (process 1234)`; without the name once the process is gone, or where it can't be seen to have that socket: in another PID namespace its
 * number is another process's here. Undefined for the kernel, for sockets that tell nothing, and for this process's own.
 */
export function netlinkUser(port: number): string | undefined {
  if (port <= 0 || port >= MOST_PROCESSES || port === process.pid) return undefined;
  const name = nameOf(port);
  return name === undefined ? `process ${port}` : `${name} (process ${port})`;
}

function nameOf(pid: number): string | undefined {
  try {
    const sockets = readFileSync(`/proc/${pid}/net/netlink`, 'utf8').split('\n');
    // sk, protocol, port, …, inode
    const inodes = sockets.flatMap((line) => {
      const fields = line.trim().split(/\s+/);
      return fields[1] === '0' && fields[2] === String(pid) ? (fields.at(-1) ?? []) : [];
    });
    const isTheirs = readdirSync(`/proc/${pid}/fd`).some((fd) => {
      const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
      return inode !== undefined && inodes.includes(inode);
    });
    return isTheirs ? readFileSync(`/proc/${pid}/comm`, 'utf8').trim() : undefined;
  } catch {
    return undefined; // it has ended, or is not ours to look at
  }
}

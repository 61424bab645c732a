/** Whether ovn-controller of the node works, by its control socket: while nothing changes it owes no confirmation, and one that ended is not seen in the database. */
import { UnixctlWatch, type UnixctlWatchOptions } from '../node/programs/unixctl-watch.ts';

/** Milliseconds; it answers nobody while it works everything out, for a chassis that comes, say, which with hundreds of networks takes seconds. */
export const CONTROLLER_GRACE = 20_000;

/** `isAtWorkSince`: whether it was asked for something in the database before that time. */
export const controllerWatch = (
  options: Pick<UnixctlWatchOptions, 'daemon' | 'clock' | 'onChange' | 'isAtWorkSince'>,
): UnixctlWatch =>
  new UnixctlWatch({
    ...options,
    question: 'version',
    grace: CONTROLLER_GRACE,
    text: (since, why) =>
      `ovn-controller has not answered since ${since} (${why}): changes don't reach packets, and pods that start get no network. See whether it runs (ovn-appctl -t ovn-controller version), and its log`,
  });

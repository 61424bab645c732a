/** Whether ovn-northd of the zone works, by its control socket: while nothing changes it owes no answer in the database, and one that stands still is not seen there. */
import { UnixctlWatch, type UnixctlWatchOptions } from '../node/programs/unixctl-watch.ts';

/** Milliseconds; a restart takes less. */
export const NORTHD_GRACE = 10_000;

const PAUSED = 'paused';

/** `isAtWorkSince`: whether it was asked for something in the database before that time. */
export const northdWatch = (
  options: Pick<UnixctlWatchOptions, 'daemon' | 'clock' | 'onChange' | 'isAtWorkSince'>,
): UnixctlWatch =>
  new UnixctlWatch({
    ...options,
    // `active`, `paused`, or `standby` while another one works (ovn-northd(8)).
    question: 'status',
    grace: NORTHD_GRACE,
    whyIdle: (answer) => (/^Status: paused\b/.test(answer) ? PAUSED : undefined),
    text: (since, why) =>
      why === PAUSED
        ? `ovn-northd has been paused since ${since}: changes don't leave the Northbound database; it goes on by ovn-appctl -t ovn-northd resume`
        : `ovn-northd has not answered since ${since} (${why}): changes don't leave the Northbound database. See whether it runs (ovn-appctl -t ovn-northd status), and its log`,
  });

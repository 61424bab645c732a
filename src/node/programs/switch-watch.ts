/** Whether ovs-vswitchd of the node answers: without it nothing that changes reaches packets, and what the datapath does not know yet gets nowhere. */
import { UnixctlWatch, type UnixctlWatchOptions } from './unixctl-watch.ts';

/** A restart, and a reconfiguration with very many flows, takes less. */
export const SWITCH_GRACE = 15_000;

/** `isExpected`: a database far away says nothing of an ovs-vswitchd here. */
export const switchWatch = (
  options: Pick<UnixctlWatchOptions, 'daemon' | 'clock' | 'onChange'> & {
    readonly isExpected: () => boolean;
  },
): UnixctlWatch =>
  new UnixctlWatch({
    ...options,
    // Every daemon of Open vSwitch knows it, and it costs nothing.
    question: 'version',
    grace: SWITCH_GRACE,
    text: (since, why) =>
      `ovs-vswitchd has not answered since ${since} (${why}): nothing that changes reaches packets, new connections get nowhere, and pods that start get no network; start Open vSwitch, or see its log (ovs-vswitchd.log) where it runs. Networks come back with it`,
  });

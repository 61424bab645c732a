/** What Open vSwitch's datapath has cached of flows: it decides on packets until it was looked at again, which is a moment after flows are others. */
import { pause, type Clock } from '../../store/clock.ts';
import type { Log } from '../../store/log.ts';
import type { Unixctl } from './unixctl.ts';

/** Milliseconds after which all of it is looked at, whatever happens (`max-revalidator`, ovs-vswitchd.conf.db(5)). */
const ROUND = 500;

/** Resolves when a round over what is cached has ended (`revalidator/wait`); where that can't be asked for, after the time that one takes. */
export function revalidation(
  vswitchd: Pick<Unixctl, 'run'>,
  log: Log,
  clock: Clock,
): () => Promise<void> {
  let isTold = false;
  return async () => {
    try {
      await vswitchd.run('revalidator/wait', [], AbortSignal.timeout(2 * ROUND));
    } catch (error) {
      if (!isTold)
        log.warn(
          { error },
          'ovs-vswitchd does not say when it has looked at what it cached: answers of DNS, and what is reported to be in force, wait half a second instead',
        );
      isTold = true;
      await pause(clock, ROUND, new AbortController().signal);
    }
  };
}

/** What Open vSwitch's datapath has cached of flows: it decides on packets until it was looked at again, which is a moment after flows are others. */
import { pause, type Clock } from '../../store/clock.ts';
import type { Log } from '../../store/log.ts';
import { UnixctlSilent, type Unixctl } from './unixctl.ts';

/** Milliseconds after which all of it is looked at, whatever happens (`max-revalidator`, ovs-vswitchd.conf.db(5)). */
const ROUND = 500;
/**
 * Milliseconds that a round may have taken and have begun after flows were others all the same: by then ovn-controller, ovn-northd and two databases have
 * handed on that they are.
 */
const HANDED_ON = 5;

/** Milliseconds that the last round took (`upcall/show`), of the datapath where that was longest. Infinity where it is not reported. */
function lastRound(shown: string): number {
  const took = [...shown.matchAll(/dump duration *: *(\d+)ms/g)].map(([, text]) => Number(text));
  return took.length === 0 ? Infinity : Math.max(...took);
}

/**
 * Resolves when what was cached before the call is used no more: when a round over it that began after flows were others has ended (`revalidator/wait`). Where
 * that can't be asked for, after the time that one takes; while ovs-vswitchd is there and silent, not at all.
 */
export function revalidation(
  vswitchd: Pick<Unixctl, 'run'>,
  log: Log,
  clock: Clock,
  signal: AbortSignal,
): () => Promise<void> {
  const told = new Set<string>();
  const tell = (error: unknown, text: string): void => {
    if (!told.has(text)) log.warn({ error }, text);
    told.add(text);
  };
  /** It is at something else, and its datapath goes on with what it has. */
  const run = async (command: string): Promise<string> => {
    for (;;) {
      try {
        return await vswitchd.run(command, [], signal);
      } catch (error) {
        if (!(error instanceof UnixctlSilent) || signal.aborted) throw error;
        tell(
          error,
          'ovs-vswitchd is there and does not answer: answers of DNS with new addresses are not given, and nothing is reported to be in force, until it does',
        );
      }
    }
  };
  return async () => {
    try {
      await run('revalidator/wait');
      // It may have been under way when flows were still those of before. The one after it was not.
      if (lastRound(await run('upcall/show')) > HANDED_ON) await run('revalidator/wait');
    } catch (error) {
      if (signal.aborted) return;
      tell(
        error,
        'ovs-vswitchd does not say when it has looked at what it cached: answers of DNS, and what is reported to be in force, wait half a second instead',
      );
      await pause(clock, ROUND, signal);
    }
  };
}

/** Reports changed flows of a bridge from `ovs-ofctl monitor`. What it prints is a trigger alone. */
import { COOKIE_FENCE, PIPELINE } from './pipeline.ts';
import type { OfctlProgram } from './ofctl-program.ts';
import { ProgramMonitor } from '../programs/program-monitor.ts';

/** Changes of what the bridge learns by itself are none. */
const IS_LEARNED = new RegExp(`\\bevent=\\w+ (?:reason=\\w+ )?table=${PIPELINE.neighbours.id}\\b`);
/** Nor is that the fence of egress addresses is opened again. */
const IS_FENCE = new RegExp(`\\bcookie=${COOKIE_FENCE}\\b`);
const IS_EVENT = /\bevent=(ADDED|DELETED|MODIFIED)\b/;

export const flowMonitor = (
  ofctl: OfctlProgram,
  bridge: string,
  onStale: () => void,
  onLost?: () => void,
): ProgramMonitor => {
  const argv = [
    ...ofctl.program,
    // Nobody controls it; the folder for control sockets need not be there.
    '--unixctl=none',
    'monitor',
    ofctl.target(bridge),
    'watch:!initial',
  ];
  return new ProgramMonitor({
    name: 'ovs-ofctl monitor',
    // Changes are printed as errors.
    program: ['sh', '-c', 'exec "$@" 2>&1', 'sh', ...argv],
    onLines(lines) {
      const isChange = (line: string): boolean =>
        IS_EVENT.test(line) && !IS_LEARNED.test(line) && !IS_FENCE.test(line);
      if (lines.some(isChange)) onStale();
    },
    // The switch restarts, or the bridge is gone: what was found counts no more.
    onUnknown: onStale,
    onTrouble: () => onLost?.(),
  });
};

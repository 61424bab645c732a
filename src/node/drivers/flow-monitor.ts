/** Hears of changed flows of a bridge from `ovs-ofctl monitor`. What it prints is a trigger alone. */
import { FLOW_TABLES } from '../numbers.ts';
import type { OfctlProgram } from './ofctl-program.ts';
import { ProgramMonitor } from './program-monitor.ts';

/** Changes of what the bridge learns by itself are none. */
const IS_LEARNED = new RegExp(`\\btable=${FLOW_TABLES.neighbours}\\b`);
const IS_EVENT = /\bevent=(ADDED|DELETED|MODIFIED)\b/;

export const flowMonitor = (
  ofctl: OfctlProgram,
  bridge: string,
  onStale: () => void,
): ProgramMonitor =>
  new ProgramMonitor({
    name: 'ovs-ofctl monitor',
    program: [...ofctl.program, 'monitor', ofctl.target(bridge), 'watch:!initial'],
    onLines(lines) {
      if (lines.some((line) => IS_EVENT.test(line) && !IS_LEARNED.test(line))) onStale();
    },
    // The switch restarts, or the bridge is gone: what was found counts no more.
    onUnknown: onStale,
  });

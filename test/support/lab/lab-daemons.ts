/** Ends what runs on a lab's nodes, by SIGTERM or SIGKILL, and waits until it is gone. */
import { outputInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';

const end =
  (daemon: string) =>
  async (lab: LabRecord, node: string, how: 'stop' | 'kill' = 'stop'): Promise<void> => {
    await outputInside(lab, ['lab-daemon', node, daemon, how]);
  };

/** Ends the daemon of a node. */
export const stopDaemon = end('heddle-node');

/** Ends containerd; containers go on. */
export const stopContainerd = end('containerd');

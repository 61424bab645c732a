/** Nodes of a lab that lose their wire and all that runs on them, and come back. */
import { outputInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { stopDaemon } from './lab-daemons.ts';

const SERVICES = ['controller', 'northd', 'sb', 'nb', 'vswitchd', 'ovsdb'] as const;

/** Its wire goes, and then its daemon, OVN and Open vSwitch, by SIGKILL. Databases stay. */
export async function loseNode(lab: LabRecord, node: string): Promise<void> {
  await outputInside(lab, ['ip', 'link', 'set', `u-${node}`, 'down']);
  await stopDaemon(lab, node, 'kill');
  for (const service of SERVICES) await outputInside(lab, ['service', node, 'kill', service]);
  await outputInside(lab, ['on', node, 'rm', '-f', '/run/openvswitch/db.sock']);
}

/** It starts again, with the databases that it had and without the links of its pods, but for its daemon. */
export async function regainNode(lab: LabRecord, node: string): Promise<void> {
  await outputInside(lab, ['lab-reboot', node]);
}

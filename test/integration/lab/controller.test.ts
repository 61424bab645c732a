/** What keeps ovn-controller of a lab's node: the shell functions of the lab, in namespaces of their own that end with the test. */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { checkout } from '../../../src/lab/paths.ts';
import { ovsProgram } from '../../support/host/ovs-programs.ts';
import { bound } from '../../support/run/left-behind.ts';
import { temporaryFolder } from '../../support/ovsdb/ovsdb-server.ts';

const PID = '"$(cat /run/ovn/ovn-controller.pid)"';

/** Runs a script where /run and the logs are empty, as on a node that has just begun; its output. */
async function onNode(folder: string, script: string): Promise<string> {
  const { command, args } = ovsProgram('ovn-controller');
  const programs = join(folder, 'programs');
  mkdirSync(programs);
  writeFileSync(
    join(programs, 'ovn-controller'),
    `#!/bin/sh\nexec ${[command, ...args].join(' ')} "$@"\n`,
    { mode: 0o755 },
  );
  writeFileSync(join(folder, 'env'), 'LAB_DATAPATH=netdev\n');
  const begin = `mount -t tmpfs none /run && mount -t tmpfs none /var/log && mkdir -p /run/ovn /var/log/ovn || exit
    export PATH=${programs}:$PATH LAB_DIR=${folder} OVN_RUNDIR=/run/ovn
    . ${join(checkout, 'lab/guest/lab.sh')}`;
  const { stdout } = await promisify(execFile)(
    ...bound('unshare', [
      '--mount',
      '--pid',
      '--fork',
      '--kill-child',
      '--mount-proc',
      'bash',
      '-c',
      `${begin}\n${script}`,
    ]),
  );
  return stdout;
}

test('ovn-controller comes back after SIGKILL, and stays away when its keeper was stopped before', async () => {
  using folder = temporaryFolder();
  const output = await onNode(
    folder.path,
    `
    start_controller || exit
    first=${PID}
    start_controller && echo "again: $([ ${PID} = $first ] && echo the same)"
    kill -KILL $first
    until p=${PID}; [ "$p" != $first ] && kill -0 "$p" 2>/dev/null; do sleep 0.05; done
    echo 'it came back'
    stop_keeper; kill -KILL $p
    sleep 1.5
    kill -0 ${PID} 2>/dev/null && echo 'it runs' || echo 'it stays away'
    start_controller && kill -0 ${PID} && echo 'started'`,
  );
  expect(output.trim().split('\n')).toEqual([
    'again: the same',
    'it came back',
    'it stays away',
    'started',
  ]);
});

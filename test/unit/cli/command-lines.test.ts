/** Command lines that are wrong: what is said, with which exit code, and that there is an end. */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { checkout, program } from '../../../src/lab/paths.ts';

test.each<readonly [string, string]>([
  ['plna', '(Did you mean plan?)\n(heddle --help lists the commands)'],
  ['plan --nodes n1', '(Did you mean --node?)\n(heddle plan --help lists its flags)'],
  ['cni instal', '(Did you mean install?)\n(heddle cni --help lists the commands)'],
  ['lab up --nodes -1', '(heddle lab up --help lists its flags)'],
  ['cni install --bin-dir bin', 'write the whole path, which begins with "/"'],
  [
    'render --manifests examples/two-tenants',
    '--node: is not set: name a Node of the manifests, or have what they lack made up: --invent-nodes',
  ],
  [
    'graph --manifests examples/connect --invent-nodes 2 blue/net --namespace green',
    '--namespace: network "blue/net" has no NetworkAttachmentDefinition in namespace "green": leave out one of the two',
  ],
  [
    'cluster --manifests examples/two-tenants --state /proc/x',
    "state directory /proc/x can't be created: no such file or directory",
  ],
  [
    'status --config nowhere.yaml',
    "--config: nowhere.yaml can't be read: no such file or directory\n",
  ],
  ['status --config src', "--config: src can't be read: it is a directory, not a file\n"],
  ['status --kubeconfig src', "kubeconfig src can't be read: it is a directory, not a file\n"],
  ['validate nowhere.yaml', "nowhere.yaml can't be read: no such file or directory\n"],
  [
    'graph --manifests examples/connect --invent-nodes 2 --namespace nowhere',
    '--namespace: no network has a NetworkAttachmentDefinition in namespace "nowhere"\n',
  ],
  [
    'graph --manifests examples/connect --invent-nodes 2 --output nowhere/one.svg',
    "--output: nowhere/one.svg can't be used: no such file or directory\n",
  ],
  [
    'graph --manifests examples/connect --invent-nodes 2 --output one.pdf',
    '--output: one.pdf would not be what its ending says: end it in svg, dot, mmd, json, or name what it is written as (--format)\n',
  ],
  ['verify --check nowhere', "--check: nowhere can't be used: no such file or directory\n"],
  [
    'verify --node n1 --nb tcp:127.0.0.1:1 --witnesses many',
    '--witnesses: "many" is no number from 0 to 100000\n',
  ],
  ['ui --token-file src', "--token-file: src can't be used: it is a directory, not a file\n"],
  ['changes', '--node: is not set: '],
])('heddle %s', (line, told) => {
  const { status, stderr } = spawnSync(process.execPath, [program, ...line.split(' ')], {
    cwd: checkout,
    encoding: 'utf8',
    // One that hangs in the kernel's hands heeds no other.
    killSignal: 'SIGKILL',
    timeout: 30_000,
  });
  expect(stderr).toContain(told);
  expect(status).toBe(64);
});

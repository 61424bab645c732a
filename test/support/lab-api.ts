/** A way from the nodes of a lab to the tests' API server, which listens on the machine's loopback. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { outputInside } from '../../src/lab/exec.ts';
import { nodeNames, stateFolder } from '../../src/lab/paths.ts';
import type { LabRecord } from '../../src/lab/state-file.ts';
import type { KubeApi } from './kube-api.ts';

const PORT = 6443;

export interface LabApi extends AsyncDisposable {
  /** A kubeconfig file for who has this token: one that works on every node, or on the machine itself with the `server` given. */
  kubeconfigFor(token: string, server?: string): string;
}

/** The server is on 127.0.0.1:6443 of every node, by way of a unix socket in the lab's folder. */
export async function labApi(lab: LabRecord, api: KubeApi): Promise<LabApi> {
  const folder = join(stateFolder(lab.name), 'kube');
  mkdirSync(folder);
  const path = join(folder, 'api.sock');
  const open = new Set<Socket>();
  const target = Number(new URL(api.url).port);
  const relay = createServer((near) => {
    const far = connect(target, '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.on('error', () => other.destroy()).on('close', () => open.delete(one));
      one.pipe(other);
    }
  }).listen(path);
  await once(relay, 'listening');
  for (const node of nodeNames(lab.nodes))
    await outputInside(lab, [
      'lab-daemon',
      node,
      'api',
      'start',
      'socat',
      `TCP-LISTEN:${PORT},bind=127.0.0.1,fork,reuseaddr`,
      `UNIX-CONNECT:${path}`,
    ]);
  writeFileSync(join(folder, 'ca.crt'), api.ca);
  return {
    kubeconfigFor(token, server = `https://127.0.0.1:${PORT}`) {
      const file = join(folder, `${token} ${server}`.replaceAll(/\W+/g, '-'));
      writeFileSync(
        file,
        stringify({
          apiVersion: 'v1',
          kind: 'Config',
          'current-context': 'lab',
          contexts: [
            { name: 'lab', context: { cluster: 'lab', user: 'one', namespace: 'heddle' } },
          ],
          clusters: [{ name: 'lab', cluster: { server, 'certificate-authority': 'ca.crt' } }],
          users: [{ name: 'one', user: { token } }],
        }),
      );
      return file;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      relay.close();
      await once(relay, 'close');
    },
  };
}

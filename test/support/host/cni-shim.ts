/** The CNI plugin as a container runtime runs it, by its program. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { NetworkNamespace } from './network-namespace.ts';

interface Call {
  readonly command: string;
  readonly container: string;
  readonly namespace?: NetworkNamespace | undefined;
  /** `<namespace>/<name>`. */
  readonly pod: string;
}

/** `folder` is that of the plugin. */
export async function runShim(
  folder: string,
  { command, container, namespace, pod }: Call,
): Promise<{ readonly code: number | null; readonly text: string }> {
  const [podNamespace, name] = pod.split('/');
  const child = spawn(join(folder, 'heddle-cni'), {
    env: {
      PATH: process.env['PATH'],
      CNI_COMMAND: command,
      CNI_CONTAINERID: container,
      CNI_NETNS: namespace?.path,
      CNI_IFNAME: 'eth0',
      CNI_ARGS: `K8S_POD_NAMESPACE=${podNamespace};K8S_POD_NAME=${name}`,
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  // One that ends at once reads nothing: its exit code says so.
  child.stdin.on('error', () => undefined);
  child.stdin.end('{"cniVersion":"1.1.0","name":"ovn-kubernetes","type":"heddle-cni"}');
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, text };
}

/** The daemon of a node, asked from another machine: by `kubectl exec` in its pod, with the rights of who asks. */
import { spawn } from 'node:child_process';
import { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { controlOn, type ControlClient, type NobodyThere } from '../control/control-client.ts';
import { errorText } from '../api/error-text.ts';
import type { Configuration } from '../settings/configuration.ts';

/** Names of deploy/. */
const BINDING = 'heddle-node';
const LABELS = 'app.kubernetes.io/name=heddle,app.kubernetes.io/component=node';
const CONTAINER = 'node';

class KubectlError extends Error {}

type Place = Pick<Configuration, 'kubeconfig' | 'context'>;

const flagsOf = ({ kubeconfig, context }: Place): readonly string[] => [
  ...(kubeconfig === undefined ? [] : [`--kubeconfig=${kubeconfig}`]),
  ...(context === undefined ? [] : [`--context=${context}`]),
];

/** Throws KubectlError with what kubectl says. */
async function read(place: Place, ...args: readonly string[]): Promise<string> {
  const child = spawn('kubectl', [...flagsOf(place), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  // An error of the start is told by `closed`.
  const [output, errors] = [text(child.stdout), text(child.stderr)];
  let code: number | null;
  try {
    code = await closed;
  } catch (error) {
    throw new KubectlError(`kubectl can't be run: ${errorText(error)}`, { cause: error });
  }
  if (code !== 0) throw new KubectlError((await errors).trim().split('\n').at(-1) ?? '');
  return (await output).trim();
}

/**
 * A connection to the daemon of `node`. Its pod is looked for in the namespace of the account that cluster rights are bound to: labels are whoever's
 * that writes them, and that binding is an administrator's.
 */
export async function controlByKubectl(
  place: Place,
  node: string,
): Promise<ControlClient | NobodyThere> {
  try {
    const namespace = await read(
      place,
      'get',
      'clusterrolebinding',
      BINDING,
      '--output=jsonpath={.subjects[0].namespace}',
    );
    if (namespace === '')
      throw new KubectlError(`ClusterRoleBinding ${BINDING} names no namespace`);
    const running = await read(
      place,
      'get',
      'pods',
      `--namespace=${namespace}`,
      `--selector=${LABELS}`,
      `--field-selector=spec.nodeName=${node},status.phase=Running`,
      '--output=jsonpath={.items[*].metadata.name}',
    );
    const [pod = ''] = running.split(' ');
    if (pod === '')
      return {
        reason: `no pod of the node daemon (${LABELS}) runs on node "${node}" in namespace ${namespace}`,
        hasEnded: false,
      };
    return connected(place, namespace, pod, node);
  } catch (error) {
    if (!(error instanceof KubectlError)) throw error;
    return { reason: error.message, hasEnded: false };
  }
}

function connected(place: Place, namespace: string, pod: string, node: string): ControlClient {
  const command = ['heddle', 'control', `--node=${node}`];
  const child = spawn(
    'kubectl',
    [
      ...flagsOf(place),
      'exec',
      '--stdin',
      `--namespace=${namespace}`,
      pod,
      `--container=${CONTAINER}`,
      '--',
      ...command,
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const stream = Duplex.from({ writable: child.stdin, readable: child.stdout });
  child.once('error', (error) => stream.destroy(error));
  stream.once('close', () => child.kill());
  return controlOn(stream, `node ${node}, by kubectl exec in pod ${namespace}/${pod}`);
}

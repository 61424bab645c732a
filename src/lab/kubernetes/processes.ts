/** The stand-ins as processes inside a lab. */
import { createLogger } from '../../process/logger.ts';
import { systemClock } from '../../store/clock.ts';
import { kubeconfigConnection } from '../../store/kubernetes/kubeconfig.ts';
import { KubernetesStore } from '../../store/kubernetes/kubernetes-store.ts';
import { LabError, stateFolder } from '../paths.ts';
import { openRuntime } from '../runtime/containerd.ts';
import { readRecord } from '../state-file.ts';
import * as controllers from './controllers.ts';
import { nodeKubeconfigFile, STAND_IN } from './files.ts';
import * as nodeRuntime from './node-runtime.ts';

async function openStore(lab: string): Promise<KubernetesStore> {
  const connection = await kubeconfigConnection({
    files: [nodeKubeconfigFile(lab, STAND_IN)],
    clock: systemClock,
    environment: {},
  });
  return new KubernetesStore({ connection, component: 'heddle-lab' });
}

/** Runs on a node of the lab until `signal` aborts. */
export async function runNodeRuntime(
  name: string,
  node: string,
  signal: AbortSignal,
): Promise<void> {
  const lab = readRecord(stateFolder(name));
  if (lab === undefined) throw new LabError(`there is no lab '${name}' here`);
  using runtime = openRuntime(lab, node);
  const store = await openStore(name);
  try {
    const log = createLogger('info');
    await nodeRuntime.runNodeRuntime({ node, store, runtime, log }, signal);
  } finally {
    await store.close();
  }
}

/** Runs inside the lab until `signal` aborts. */
export async function runControllers(name: string, signal: AbortSignal): Promise<void> {
  const store = await openStore(name);
  try {
    await controllers.runControllers(store, createLogger('info'), signal);
  } finally {
    await store.close();
  }
}

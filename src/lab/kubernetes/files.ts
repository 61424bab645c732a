/** Where a lab keeps what its Kubernetes API server and its clients share. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { stateFolder } from '../paths.ts';

/** The folder that a lab has once it was given an API server. */
export const kubernetesFolder = (lab: string): string => join(stateFolder(lab), 'kubernetes');

export const hasKubernetes = (lab: string): boolean => existsSync(kubernetesFolder(lab));

/** For programs of this machine, as an administrator. */
export const kubeconfigFile = (lab: string): string => join(kubernetesFolder(lab), 'kubeconfig');

/** For a process on a node, by the process's name. */
export const nodeKubeconfigFile = (lab: string, user: string): string =>
  join(kubernetesFolder(lab), `${user}.kubeconfig`);

/** The stand-ins' own: an administrator. */
export const STAND_IN = 'stand-in';

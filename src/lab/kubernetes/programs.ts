/** The programs of a small Kubernetes, from Debian's packages: lab/kube-mini puts them into the cache, once. */
import { join } from 'node:path';
import { cacheFolder, LabError, labScripts } from '../paths.ts';
import { command } from '../processes.ts';

export type Program = 'etcd' | 'apiserver' | 'kubectl';

/** Where they are kept. */
export const programsFolder = (): string => join(cacheFolder(), 'kube-mini');

/** Path of a program; throws LabError with the reason where it can't be had. `progress` is called with what takes its time. */
export async function programPath(
  program: Program,
  progress?: (line: string) => void,
): Promise<string> {
  const { code, stdout, stderr } = await command(
    join(labScripts, 'kube-mini/build'),
    [program],
    progress === undefined ? {} : { onStderr: (text) => progress(text.trimEnd()) },
  );
  if (code !== 0)
    throw new LabError(stderr.trim().split('\n').at(-1) ?? `${program} can't be had here`);
  return stdout.trim();
}

export interface EtcdOptions {
  /** Where it keeps what it has. */
  readonly folder: string;
  readonly client: string;
  readonly peer: string;
}

/** Arguments of an etcd that nobody needs after the machine went down. */
export const etcdArguments = ({ folder, client, peer }: EtcdOptions): string[] => [
  `--data-dir=${folder}`,
  `--listen-client-urls=${client}`,
  `--advertise-client-urls=${client}`,
  `--listen-peer-urls=${peer}`,
  `--initial-advertise-peer-urls=${peer}`,
  `--initial-cluster=default=${peer}`,
  '--unsafe-no-fsync',
  '--log-level=warn',
];

export interface ApiServerOptions {
  readonly etcd: string;
  readonly port: number;
  /** Where it makes its certificate, `apiserver.crt`, which is its own authority. */
  readonly certificates: string;
  /** File with what each token has to begin with; without it the server asks nobody for a token. */
  readonly secretFile?: string;
}

export const apiServerArguments = ({
  etcd,
  port,
  certificates,
  secretFile,
}: ApiServerOptions): string[] => [
  `-etcd=${etcd}`,
  `-port=${port}`,
  `-cert-dir=${certificates}`,
  ...(secretFile === undefined ? [] : [`-secret-file=${secretFile}`]),
];

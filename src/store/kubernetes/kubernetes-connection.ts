/** Where a Kubernetes API server is, and with which credentials. Re-reads what changes on disk. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { StoreError } from '../store.ts';

/** What one TLS connection is made with. PEM texts. */
export interface TlsIdentity {
  readonly ca?: string;
  readonly certificate?: string;
  readonly key?: string;
  /** Name that the server's certificate must carry, if not the URL's. */
  readonly serverName?: string;
  readonly skipVerification?: boolean;
}

export interface Credentials {
  /** Value of the Authorization header. */
  readonly authorization?: string;
  readonly tls: TlsIdentity;
}

export interface KubernetesConnection {
  /** `https://10.96.0.1:443`, or with a path; without a slash at the end. */
  readonly server: string;
  /** Namespace that we live in, or that the context names. */
  readonly namespace: string | undefined;
  /** Where this came from, for messages. */
  readonly source: string;
  /** What to send now; asked before every request. `refused`: the server answered that the last ones are not valid. */
  credentials(options: { readonly refused: boolean }): Promise<Credentials>;
}

/** The text of a file, read again when the file changed. */
export class WatchedFile {
  readonly path: string;
  #read: { readonly signature: string; readonly text: string } | undefined;

  constructor(path: string) {
    this.path = path;
  }

  async text(): Promise<string> {
    // Mounted secrets change by switching a link: what counts is the file that it leads to.
    const { ino, mtimeNs, size } = await stat(this.path, { bigint: true });
    const signature = `${ino} ${mtimeNs} ${size}`;
    if (this.#read?.signature !== signature)
      this.#read = { signature, text: await readFile(this.path, 'utf8') };
    return this.#read.text;
  }
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** How a pod reaches its cluster's API server: the service account's token and CA. */
export async function inClusterConnection(
  environment: Readonly<Record<string, string | undefined>>,
  folder: string = SERVICE_ACCOUNT,
): Promise<KubernetesConnection> {
  const host = environment['KUBERNETES_SERVICE_HOST'];
  const port = environment['KUBERNETES_SERVICE_PORT'] ?? '443';
  if (host === undefined || host === '')
    throw new StoreError(
      'unavailable',
      'not in a Kubernetes pod (KUBERNETES_SERVICE_HOST is not set): name a kubeconfig file, or use --manifests',
    );
  const token = new WatchedFile(join(folder, 'token'));
  const ca = new WatchedFile(join(folder, 'ca.crt'));
  const namespace = await readFile(join(folder, 'namespace'), 'utf8').catch(() => undefined);
  const connection: KubernetesConnection = {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    namespace: namespace?.trim(),
    source: folder,
    async credentials() {
      try {
        const bearer = (await token.text()).trim();
        return { authorization: `Bearer ${bearer}`, tls: { ca: await ca.text() } };
      } catch (error) {
        throw new StoreError(
          'unavailable',
          `service account of this pod can't be read: ${String(error)}; is automountServiceAccountToken off?`,
          { cause: error },
        );
      }
    },
  };
  await connection.credentials({ refused: false });
  return connection;
}

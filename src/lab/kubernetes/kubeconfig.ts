/** kubeconfig files for API servers of ours. */
import { stringify } from 'yaml';

export interface KubeconfigOptions {
  readonly server: string;
  /** PEM of the server's certificate, or of who signed it. */
  readonly ca: string;
  readonly token: string;
  /** Default namespace of who uses it. */
  readonly namespace?: string;
}

export const kubeconfigText = ({ server, ca, token, namespace }: KubeconfigOptions): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'lab',
    contexts: [
      {
        name: 'lab',
        context: {
          cluster: 'lab',
          user: 'lab',
          ...(namespace === undefined ? {} : { namespace }),
        },
      },
    ],
    clusters: [
      {
        name: 'lab',
        cluster: {
          server,
          'certificate-authority-data': Buffer.from(ca).toString('base64'),
        },
      },
    ],
    users: [{ name: 'lab', user: { token } }],
  });

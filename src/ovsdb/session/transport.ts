import { connect as connectNet, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { OvsdbError } from '../error.ts';
import { remoteText, type Remote } from './remote.ts';
import type { TlsSettings } from './tls.ts';

/** Opens the socket to a remote. The only place that knows how; a test may pass another. */
export type OpenSocket = (remote: Remote, tls: TlsSettings | undefined) => Socket;

/** Opens a connection; `connect` or, with TLS, `secureConnect` is emitted when it can be used. */
export const openSocket: OpenSocket = (remote, tls) => {
  switch (remote.kind) {
    case 'unix':
      return connectNet({ path: remote.path });
    case 'tcp':
      return connectNet({ host: remote.host, port: remote.port, noDelay: true });
    case 'ssl': {
      if (tls === undefined) {
        throw new OvsdbError(
          'bad remote',
          `${remoteText(remote)} needs a private key, a certificate and a CA certificate`,
        );
      }
      return connectTls({
        ...tls.connectionOptions(remote.host),
        host: remote.host,
        port: remote.port,
      });
    }
    case 'punix':
    case 'ptcp':
    case 'pssl':
      throw new OvsdbError(
        'bad remote',
        `${remoteText(remote)} waits for a connection, it can't be connected to`,
      );
  }
};

import { rmSync } from 'node:fs';
import {
  connect as connectNet,
  createServer,
  type NetConnectOpts,
  type Server,
  type Socket,
} from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { OvsdbError } from '../data/error.ts';
import { remoteText, type Remote } from './remote.ts';
import type { TlsSettings } from './tls.ts';

export interface OpenHandlers {
  /** The socket can be used. */
  opened(socket: Duplex): void;
  /** It will not be opened. Called once, and never after `opened`. */
  failed(error: unknown): void;
}

/** An attempt to open a socket. */
export interface Attempt {
  /** Gives up; no handler is called any more. */
  cancel(): void;
}

/** Opens the socket to a remote, or waits for one. The only place that knows how; a test may pass another (`scriptedTransport`). */
export type OpenSocket = (
  remote: Remote,
  tls: TlsSettings | undefined,
  handlers: OpenHandlers,
) => Attempt;

/** True for a remote where the server connects to us. */
export const isPassive = (remote: Remote): boolean => remote.kind.startsWith('p');

function needTls(remote: Remote, tls: TlsSettings | undefined): TlsSettings {
  if (tls !== undefined) return tls;
  throw new OvsdbError(
    'bad remote',
    `${remoteText(remote)} needs a private key, a certificate and a CA certificate`,
  );
}

/** Calls one of the handlers, once. */
function watch(socket: Socket, openEvent: string, handlers: OpenHandlers): Attempt {
  const stop = (): void => {
    socket.off(openEvent, opened);
    socket.off('error', failed);
    socket.off('close', closed);
  };
  const opened = (): void => {
    stop();
    handlers.opened(socket);
  };
  const failed = (error: unknown): void => {
    stop();
    // Later errors of a socket that was given up do not matter.
    socket.on('error', ignore);
    socket.destroy();
    handlers.failed(error);
  };
  const closed = (): void => {
    failed(new Error('the connection was closed before it was open'));
  };
  socket.once(openEvent, opened);
  socket.once('error', failed);
  socket.once('close', closed);
  return {
    cancel() {
      stop();
      socket.on('error', ignore);
      socket.destroy();
    },
  };
}

/** Whether one is the socket below the other. */
const isSameEnd = (a: Socket, b: Socket): boolean =>
  a.remotePort !== undefined &&
  a.remotePort === b.remotePort &&
  a.remoteAddress === b.remoteAddress;

/** Waits for one connection; while it is in use nobody else is let in. */
function accept(server: Server, event: string, remote: Remote, handlers: OpenHandlers): Attempt {
  let isOver = false;
  // Peers whose TLS handshake is not complete.
  const unverified = new Set<Socket>();
  const stop = (): void => {
    isOver = true;
    server.close();
    for (const socket of unverified) socket.destroy();
  };
  server.on('connection', (socket: Socket) => {
    unverified.add(socket);
    socket.once('close', () => unverified.delete(socket));
  });
  server.on(event, (socket: Socket) => {
    if (isOver) {
      socket.destroy();
      return;
    }
    for (const peer of unverified) {
      if (peer === socket || isSameEnd(peer, socket)) unverified.delete(peer);
    }
    stop();
    handlers.opened(socket);
  });
  server.on('error', (error) => {
    if (isOver) return;
    stop();
    handlers.failed(error);
  });
  if (remote.kind === 'punix') {
    // An earlier process may have left its socket behind.
    rmSync(remote.path, { force: true });
    server.listen(remote.path);
  } else if (remote.kind === 'ptcp' || remote.kind === 'pssl') {
    server.listen({
      port: remote.port,
      ...(remote.host === undefined ? {} : { host: remote.host }),
    });
  }
  return { cancel: stop };
}

/** Bytes that are read at once, into the same buffer each time. */
const READ_SIZE = 64 * 1024;

/**
 * A socket whose `data` are in a buffer that the next ones overwrite. A buffer for each piece would cost a large load much garbage collection:
 * they lie outside of the heap, and V8 begins to mark it whenever some megabytes of them have come together.
 */
function connectReading(to: NetConnectOpts): Socket {
  const socket: Socket = connectNet({
    ...to,
    onread: {
      buffer: Buffer.allocUnsafeSlow(READ_SIZE),
      callback: (length, buffer) => {
        socket.emit('data', (buffer as Buffer).subarray(0, length));
        return true;
      },
    },
  });
  return socket;
}

/** Opens a connection, with TLS completely. */
export const openSocket: OpenSocket = (remote, tls, handlers) => {
  switch (remote.kind) {
    case 'unix':
      return watch(connectReading({ path: remote.path }), 'connect', handlers);
    case 'tcp': {
      const { host, port } = remote;
      return watch(connectReading({ host, port, noDelay: true }), 'connect', handlers);
    }
    case 'ssl': {
      const { host, port } = remote;
      const options = needTls(remote, tls).connectionOptions(host);
      const socket = connectTls({ ...options, host, port });
      socket.setNoDelay(true);
      return watch(socket, 'secureConnect', handlers);
    }
    case 'punix':
    case 'ptcp':
      return accept(createServer({ noDelay: true }), 'connection', remote, handlers);
    case 'pssl': {
      const options = needTls(remote, tls).serverOptions();
      return accept(
        createTlsServer({ ...options, noDelay: true }),
        'secureConnection',
        remote,
        handlers,
      );
    }
  }
};

const ignore = (): void => {
  // A socket that was given up may still report why it failed.
};

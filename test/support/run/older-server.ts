import { connect } from 'node:net';
import type { MonitorMethod, OpenSocket } from 'ovsdb-client-ts';
import type { OvsdbServer } from '../ovsdb/ovsdb-server.ts';

/** Ways to monitor, and the methods that an older server lacks when that is its best one. */
export const MONITOR_METHODS: readonly (readonly [MonitorMethod, readonly string[]])[] = [
  ['monitor_cond_since', []],
  ['monitor_cond', ['monitor_cond_since']],
  ['monitor', ['monitor_cond_since', 'monitor_cond']],
];

/** A connection to a real server that does not know these methods. */
export const olderServer =
  (server: OvsdbServer, methods: readonly string[]): OpenSocket =>
  (_remote, _tls, handlers) => {
    const socket = connect({ path: server.socket });
    const write = socket.write.bind(socket);
    const renamed = (text: string): string =>
      methods.reduce(
        (all, name) => all.replaceAll(`"method":"${name}"`, `"method":"no_${name}"`),
        text,
      );
    socket.write = (text: string) => write(renamed(text));
    socket.once('connect', () => {
      handlers.opened(socket);
    });
    socket.once('error', (error) => {
      handlers.failed(error);
    });
    return { cancel: () => socket.destroy() };
  };

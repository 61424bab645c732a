/** Where a daemon listens. */
import { isIPv4 } from 'node:net';
import { ConfigurationError } from './configuration-error.ts';

export interface BindAddress {
  /** Empty: all addresses, of IPv6 and IPv4, as far as the kernel has them. */
  readonly host: string;
  readonly port: number;
}

/** `HOST:PORT`, `[IPV6]:PORT` or `:PORT`; throws a ConfigurationError that names `option`. */
export function parseBindAddress(address: string, option = '--metrics-bind-address'): BindAddress {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(address);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535)
    throw new ConfigurationError(
      option,
      `"${address}" is not HOST:PORT such as 127.0.0.1:9476 or [::1]:9476, or :PORT for all addresses`,
    );
  return { host: match[1] ?? match[2] ?? '', port };
}

/** Whether only processes of this host's network reach it. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));

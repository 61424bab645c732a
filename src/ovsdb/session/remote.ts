import { OvsdbError } from '../data/error.ts';
import { parseUuid } from '../data/uuid.ts';
import type { Uuid } from '../data/value.ts';

/** Where a server is, or where to wait for one (`punix`, `ptcp`, `pssl`). */
export type Remote =
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'tcp' | 'ssl'; readonly host: string; readonly port: number }
  | { readonly kind: 'punix'; readonly path: string }
  | { readonly kind: 'ptcp' | 'pssl'; readonly host: string | undefined; readonly port: number };

export interface Remotes {
  readonly remotes: readonly Remote[];
  /** `cid:UUID` in the list: the cluster that the server must belong to. */
  readonly cluster: Uuid | undefined;
}

/** OVSDB's own port (RFC 7047 §8). */
const DEFAULT_PORT = 6640;

const bad = (text: string, why: string): OvsdbError =>
  new OvsdbError(
    'bad remote',
    `"${text}": ${why}; expected unix:PATH, tcp:HOST:PORT, ssl:HOST:PORT, punix:PATH, ptcp:PORT[:HOST] or pssl:PORT[:HOST]`,
  );

function parsePort(text: string, given: string): number {
  if (!/^[0-9]{1,5}$/.test(given) || Number(given) > 65_535)
    throw bad(text, `"${given}" is not a port`);
  return Number(given);
}

/** `HOST`, `HOST:PORT`, `[IPv6]`, `[IPv6%dev]:PORT`. */
function hostAndPort(text: string, rest: string): { host: string; port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::([^:]*))?$/.exec(rest);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined)
    throw bad(text, 'the host is missing or an IPv6 address is not in brackets');
  return { host, port: match?.[3] === undefined ? DEFAULT_PORT : parsePort(text, match[3]) };
}

/** `[PORT][:HOST]`, IPv6 in brackets. */
function portAndHost(text: string, rest: string): { host: string | undefined; port: number } {
  const match = /^([0-9]*)(?::(?:\[([^\]]+)\]|([^:[\]]+)))?$/.exec(rest);
  if (match === null) throw bad(text, 'not a port and address to listen on');
  return {
    port: match[1] === undefined || match[1] === '' ? DEFAULT_PORT : parsePort(text, match[1]),
    host: match[2] ?? match[3],
  };
}

function parseOne(text: string): Remote {
  const colon = text.indexOf(':');
  const kind = colon === -1 ? text : text.slice(0, colon);
  const rest = colon === -1 ? '' : text.slice(colon + 1);
  switch (kind) {
    case 'unix':
    case 'punix':
      if (rest === '') throw bad(text, 'the path is missing');
      return { kind, path: rest };
    case 'tcp':
    case 'ssl':
      return { kind, ...hostAndPort(text, rest) };
    case 'ptcp':
    case 'pssl':
      return { kind, ...portAndHost(text, rest) };
    default:
      throw bad(
        text,
        kind === text ? 'it has no connection method' : `"${kind}" is not a connection method`,
      );
  }
}

const STARTS_A_REMOTE = /^(?:p?unix|p?tcp|p?ssl|cid):/;

/**
 * Remotes in the notation of Open vSwitch, joined by commas; a `cid:UUID` may be among them. A comma inside of a path
 * survives: a piece that starts no remote belongs to the piece before it. Throws `bad remote`.
 */
export function parseRemotes(text: string): Remotes {
  const pieces: string[] = [];
  for (const piece of text.split(',')) {
    const last = pieces.at(-1);
    if (last !== undefined && !piece.includes(':') && !STARTS_A_REMOTE.test(piece)) {
      pieces[pieces.length - 1] = `${last},${piece}`;
    } else pieces.push(piece);
  }
  let cluster: Uuid | undefined;
  const remotes: Remote[] = [];
  for (const piece of pieces.map((p) => p.trim()).filter((p) => p !== '')) {
    if (piece.startsWith('cid:')) {
      cluster = parseUuid(piece.slice(4));
      if (cluster === undefined) throw bad(piece, 'a cluster id is a UUID');
    } else remotes.push(parseOne(piece));
  }
  if (remotes.length === 0) throw bad(text, 'no remote is given');
  return { remotes, cluster };
}

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** The remote in the notation of Open vSwitch. */
export function remoteText(remote: Remote): string {
  switch (remote.kind) {
    case 'unix':
    case 'punix':
      return `${remote.kind}:${remote.path}`;
    case 'tcp':
    case 'ssl':
      return `${remote.kind}:${bracketed(remote.host)}:${remote.port}`;
    case 'ptcp':
    case 'pssl':
      return `${remote.kind}:${remote.port}${remote.host === undefined ? '' : `:${bracketed(remote.host)}`}`;
  }
}
